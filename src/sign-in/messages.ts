// What the main thread and the thread of sign-in send each other: JSON as text, each answer with the number of its question.

/** What the thread begins with. */
export interface SignInSettings {
  /** The file of a SQLite database, or the address of PostgreSQL's. */
  store: { path: string } | { url: string };
  /** 32 random bytes in base64url: what cookies are signed and second factors are sealed with. */
  secret: string;
  /** Where people reach the console, such as https://turnpike.example.com; null where that is not said. */
  publicUrl: string | null;
  oidc: { issuer: string; clientId: string; clientSecret: string; isEmailAssumed: boolean } | null;
}

/** A request below /console/auth, as far as it may go: its path is one of those that are let through. */
export interface AskedRequest {
  method: 'GET' | 'POST';
  /** Below /console/auth, such as "/sign-in/email". */
  path: string;
  /** With its question mark, or empty. */
  query: string;
  cookie: string;
  userAgent: string;
  /** Of whoever asks, as this service knows it. */
  address: string;
  body: Record<string, string> | null;
}

export interface GivenAnswer {
  status: number;
  headers: [string, string][];
  body: string;
}

export interface FoundSession {
  email: string;
  /** To be set with the answer: where the session was made longer. */
  cookies: string[];
}

export interface NewPassword {
  email: string;
  name: string;
  password: string;
}

export type SignInQuestion =
  | { kind: 'handle'; request: AskedRequest }
  | { kind: 'find-session'; cookie: string }
  | { kind: 'set-password'; person: NewPassword }
  | { kind: 'end-sessions'; email: string }
  | { kind: 'forget-password'; email: string };

/** How somebody proved who they are. */
export type Proof = 'password' | 'second-factor' | 'single-sign-on';

/** May this person come in: asked before a session is made, and by single sign-on also before anything is kept of them. */
export interface Admission {
  email: string;
  by: Proof;
  address: string;
  /** False while it is only asked whether they may. */
  isFinal: boolean;
}

export const REFUSALS = ['person_unknown', 'person_disabled', 'store_unavailable'] as const;
/** Null: they may. */
export type Refusal = (typeof REFUSALS)[number] | null;

export type ToSignIn =
  | { open: SignInSettings }
  | { id: number; question: SignInQuestion }
  | { admission: number; refusal: Refusal };

export type FromSignIn =
  | { opened: true }
  | { failed: string }
  | { id: number; answer: unknown }
  | { id: number; failure: string }
  | { admission: number; asks: Admission }
  | { told: string };
