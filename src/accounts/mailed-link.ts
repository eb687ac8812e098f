// Links that are mailed to people who cannot sign in: to confirm an email address, and to choose a new password. Each
// works once and is stored by the hash of its secret.

import { randomBytes } from 'node:crypto';
import type { AuditContext } from '../audit/audit.ts';
import type { Nano } from '../base/money.ts';
import type { Secret } from '../secrets/secrets.ts';
import type { Account, AccountTerms } from './account.ts';
import { hasSecretShape, makeSecret } from './key-secret.ts';
import type { Person } from './person.ts';

export interface MailedLink {
  hash: string;
  purpose: 'sign-up' | 'password-reset';
  /** In lower case. Accepting a link ends all others for the same purpose and email. */
  email: string;
  expiresAtMs: number;
  /** The names given at a sign-up. */
  name: string;
  accountName: string;
}

const MARKS = { 'sign-up': 'tk-new-', 'password-reset': 'tk-pwd-' } as const;

export function makeMailedSecret(purpose: MailedLink['purpose']): Secret {
  return makeSecret(MARKS[purpose], randomBytes(32)).secret;
}

/** Whether the text has the format of a link for this purpose. No query. */
export function hasMailedShape(purpose: MailedLink['purpose'], text: string): boolean {
  return hasSecretShape(MARKS[purpose], text);
}

/** A new account with its owner, whose email is verified. */
export interface SignUp {
  account: Account;
  terms: AccountTerms;
  owner: Person;
  /** 0: none. Given at most once per `emailKey`. */
  credit: Nano;
  /** Under which the credit is remembered, the first of `creditKeysOf`. */
  emailKey: string;
  /** The most accounts that sign-ups create after `countedSinceMs`. */
  signUpsMax: number;
  countedSinceMs: number;
}

export interface SignUpStore {
  /** Includes expired links. */
  findMailedLink(hash: string): Promise<MailedLink | null>;
  /** Whether a sign-up under this key got credit, ever. */
  wasCredited(emailKey: string): Promise<boolean>;
  countSignUps(sinceMs: number): Promise<number>;
  /**
   * In one transaction: uses up the link, and creates the account with its owner and credit. Throws Outpaced if the link was
   * used, or the limits allow it no longer.
   */
  createSignUp(signUp: SignUp, link: MailedLink, auditContext: AuditContext): Promise<void>;
  /** Uses up the link, and ends all others for its purpose and email. Throws Outpaced if it was used. */
  useLink(link: MailedLink, nowMs: number, auditContext: AuditContext): Promise<void>;
  /** Makes a link work again whose use failed. */
  restoreLink(link: MailedLink, auditContext: AuditContext): Promise<void>;
}
