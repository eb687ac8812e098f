// Messages between the main thread and the sign-in thread: JSON text; each answer has the number of its question.

import type { OidcSettings, PasswordCost } from '../config/config.ts';

export type IssuerSettings = Omit<OidcSettings, 'name' | 'domains' | 'createsPeople'>;

/** Start settings of the thread. */
export interface SignInSettings {
  /** The path of a SQLite database, or the URL of PostgreSQL. */
  store: { path: string } | { url: string };
  /** 32 random bytes in base64url: signs cookies and seals second factors. */
  secret: string;
  /** The public URL of the console, such as https://turnpike.example.com; null if not configured. */
  publicUrl: string | null;
  issuers: readonly IssuerSettings[];
  /** Certificates in PEM that issuers are trusted with, the public ones among them; null: the public ones. */
  authorities: readonly string[] | null;
  passwordCost: PasswordCost;
}

/** A validated request below /console/auth: its path is a known endpoint. */
export interface AuthRequest {
  method: 'GET' | 'POST';
  /** Below /console/auth, such as "/sign-in/email". */
  path: string;
  /** With its question mark, or empty. */
  query: string;
  cookie: string;
  userAgent: string;
  /** The client's IP address, as this service determined it. */
  address: string;
  body: Record<string, string> | null;
  /** The name of the installation, which passwords must not be derived from. */
  installation: string;
  /** How long sessions of the signed-in person last; null: nobody is signed in. */
  lifetimeMs: number | null;
}

export interface AuthResponse {
  status: number;
  headers: [string, string][];
  body: string;
}

export interface FoundSession {
  email: string;
  /** When the person signed in. */
  createdAtMs: number;
  proof: Proof;
  /** Whether the person has one now. */
  hasSecondFactor: boolean;
  /** Cookies to set with the response, if the session was extended. */
  cookies: string[];
}

/** A password with the words that it must not be derived from. */
export interface ChosenPassword {
  email: string;
  name: string;
  password: string;
  /** The name of the installation. */
  installation: string;
}

export interface NewPassword extends ChosenPassword {
  /** Only the password and the sessions are replaced. */
  keepsSecondFactor?: true;
}

export type SignInQuestion =
  | { kind: 'handle'; request: AuthRequest }
  | { kind: 'find-session'; cookie: string }
  /** Why the password must not be used, as the end of a sentence; null: it may be. */
  | { kind: 'check-password'; chosen: ChosenPassword }
  | { kind: 'set-password'; person: NewPassword }
  | { kind: 'end-session'; cookie: string }
  | { kind: 'end-sessions'; email: string }
  | { kind: 'forget-password'; email: string }
  | { kind: 'change-email'; email: string; to: string }
  | { kind: 'forget-identity'; email: string }
  | { kind: 'has-password'; email: string }
  /** Counts one more under the name. */
  | { kind: 'count'; name: string; max: number; windowMs: number };

/** How a person authenticated. */
export type Proof = 'password' | 'second-factor' | 'single-sign-on';

/**
 * Asks whether this person may sign in: before a session is created, and with single sign-on also before anything is
 * stored.
 */
export interface Admission {
  email: string;
  by: Proof;
  address: string;
  /** The person at the issuer: for the preliminary question, which decides. null: the final question. */
  claim: IdentityClaim | null;
  /** False for the preliminary question, and before a second factor. */
  isFinal: boolean;
}

/** Verified claims of a person at an issuer. */
export interface IdentityClaim {
  /** The id of the issuer. */
  source: string;
  subject: string;
  /** In lower case, verified. */
  email: string;
  /** Empty if the issuer does not say it. */
  name: string;
  /** null: the issuer left them out, because there are too many. */
  groups: readonly string[] | null;
  /** The email as which this subject signed in before; null: never. */
  formerEmail: string | null;
}

export const REFUSALS = [
  'person_unknown',
  'person_disabled',
  'email_changed',
  'email_not_trusted',
  'email_denied',
  'groups_unavailable',
  'identity_taken',
  'no_place',
  'store_unavailable',
] as const;
/** null: they may sign in. */
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
  | { reported: string };
