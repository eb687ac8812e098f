// The door of sign-in in the main thread: the sign-in thread, the console requests that are forwarded to it, and
// cookies. Identifies people by email and does not know their rights.

export {
  AUTH_PATH,
  type ConsoleAnswered,
  type ConsoleAuth,
  hasSessionCookie,
  makeConsoleAuth,
} from './console-auth.ts';
export type {
  Admission,
  AuthRequest,
  AuthResponse,
  ChosenPassword,
  FoundSession,
  FromSignIn,
  IdentityClaim,
  IssuerSettings,
  NewPassword,
  Proof,
  Refusal,
  SignInQuestion,
  SignInSettings,
  ToSignIn,
} from './messages.ts';
export { readAuthorities } from './read-authorities.ts';
export type { SessionRules } from './session-rules.ts';
export { SignInThread } from './sign-in-thread.ts';
