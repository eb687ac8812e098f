// Links that are mailed to people who cannot sign in: to confirm an email address, and to choose a new password. Each
// works once and is stored by the hash of its secret. Also the forms of an email that limits on sign-ups count.

import { createHash, randomBytes } from 'node:crypto';
import type { AuditContext } from '../audit/audit.ts';
import { assert } from '../base/assert.ts';
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
  emailKey: string;
  /** The most accounts that sign-ups create after `countedSinceMs`. */
  signUpsMax: number;
  countedSinceMs: number;
}

export interface SignUpStore {
  /** Includes expired links. */
  findMailedLink(hash: string): Promise<MailedLink | null>;
  /** Whether a sign-up of this mailbox got credit, ever. */
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

const DOTLESS = new Set(['gmail.com', 'googlemail.com']);
const SAME: Readonly<Record<string, string>> = { 'googlemail.com': 'gmail.com' };

/** One mailbox has one form: without a part after "+", and without dots where the provider ignores them. */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf('@');
  const domain = email.slice(at + 1).toLowerCase();
  const [name = ''] = email.slice(0, at).toLowerCase().split('+');
  return `${DOTLESS.has(domain) ? name.replaceAll('.', '') : name}@${SAME[domain] ?? domain}`;
}

/** A hash of the mailbox, so that a list of former sign-ups has no addresses. */
export function emailKeyOf(email: string): string {
  return createHash('sha256').update(mailboxOf(email)).digest('base64url');
}

const SECOND_LEVELS = /^(?:ac|co|com|edu|gov|ltd|ne|net|or|org|plc)$/;

/** The domain that one owner registers: its owner has all names below it, and any number of addresses. */
export function ownedDomainOf(email: string): string {
  const labels = email
    .slice(email.lastIndexOf('@') + 1)
    .toLowerCase()
    .split('.');
  const [last = '', second = ''] = labels.toReversed();
  assert(last !== '', 'an email has a domain');
  return labels.slice(last.length === 2 && SECOND_LEVELS.test(second) ? -3 : -2).join('.');
}

/** Domains where strangers share one name, so that a limit for each domain would exclude the many for the few. */
const MAIL_PROVIDERS = new Set(
  `gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com yahoo.co.jp ymail.com icloud.com me.com
   mac.com aol.com proton.me protonmail.com pm.me gmx.de gmx.net gmx.com gmx.at gmx.ch web.de t-online.de freenet.de
   mail.ru yandex.ru yandex.com qq.com 163.com 126.com sina.com naver.com daum.net hanmail.net fastmail.com zoho.com
   orange.fr free.fr laposte.net libero.it hotmail.co.uk yahoo.co.uk btinternet.com comcast.net verizon.net rediffmail.com
   uol.com.br bol.com.br seznam.cz wp.pl o2.pl onet.pl bluewin.ch mailbox.org posteo.de tutanota.com tuta.io hey.com`.split(
    /\s+/,
  ),
);

export function isOfMailProvider(email: string): boolean {
  return MAIL_PROVIDERS.has(email.slice(email.lastIndexOf('@') + 1).toLowerCase());
}
