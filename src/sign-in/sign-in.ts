// The door of sign-in in the main thread: the sign-in thread, the console requests that are forwarded to it, and
// cookies. Identifies people by email and does not know their rights.

export {
  type AnswerParts,
  AUTH_PATH,
  type ConsoleAnswered,
  type ConsoleAuth,
  hasSessionCookie,
  type Known,
  makeConsoleAuth,
} from './console-auth.ts';
export type {
  Admission,
  AuthRequest,
  AuthResponse,
  ChosenPassword,
  FoundSession,
  FromSignIn,
  NewPassword,
  Proof,
  Refusal,
  SignInQuestion,
  SignInSettings,
  ToSignIn,
} from './messages.ts';
export type { SessionRules } from './session-rules.ts';
export { SignInThread, type ThreadParts } from './sign-in-thread.ts';
