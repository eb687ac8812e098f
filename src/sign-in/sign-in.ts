// The door of sign-in as the main thread has it: the thread in which people prove who they are, the requests of the console that
// are let through to it, and the cookies. It knows e-mails, and nothing of what a person may do.

export {
  type AnswerParts,
  AUTH_PATH,
  type ConsoleAnswered,
  type ConsoleAuth,
  makeConsoleAuth,
} from './console-auth.ts';
export { hasSessionCookie } from './cookies.ts';
export type {
  Admission,
  AskedRequest,
  FoundSession,
  FromSignIn,
  GivenAnswer,
  NewPassword,
  Proof,
  Refusal,
  SignInQuestion,
  SignInSettings,
  ToSignIn,
} from './messages.ts';
export { SignInThread, type ThreadParts } from './sign-in-thread.ts';
