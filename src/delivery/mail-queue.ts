// The queue of mails to one person each. A mail is stored with the change that it is about, and removed when the server has
// taken it: an SMTP server that is unavailable loses nothing, and no answer waits for one. Any node sends what is due;
// it takes a mail for one attempt, so that no two send it.

import type { MailedLink, PersonStore } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import { safeToBase62 } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { hashSecret, type Vault } from '../secrets/secrets.ts';
import { type MailContent, writeLetter } from './letters.ts';
import { type Prepared, prepareMail } from './prepare-mail.ts';
import { type MailIdentity, renderHtml, renderText } from './render-letter.ts';
import type { MailSender } from './send-mail.ts';

/** The reason for a mail. Its recipient is looked up, and its text written, when it is sent. */
export type MailRequest =
  | { kind: 'invitation'; role: string; account: string | null; expiresAtMs: number }
  | { kind: 'recovery'; expiresAtMs: number }
  | { kind: 'sign-up'; name: string; accountName: string }
  | { kind: 'password-reset' }
  /** A file of an export is ready; `query` are the parameters of its download. `account` null: the operators'. */
  | { kind: 'export'; export: number; account: number | null; name: string; period: string; query: string }
  | { kind: 'password-changed'; atMs: number; address: string };

export interface QueuedMail {
  id: number;
  createdAtMs: number;
  /** When the next attempt is due. */
  nextAtMs: number;
  /** Attempts that have begun. */
  tries: number;
  to: string;
  request: MailRequest;
  /** The secret of its link, if it was made before; null: there is none yet. */
  secretSealed: string | null;
}

export interface MailStore {
  /** The mails whose next attempt is due, the longest due first. */
  listDueMails(nowMs: number, limit: number): Promise<QueuedMail[]>;
  listSealedMails(): Promise<QueuedMail[]>;
  /** The row of a mail, to be committed with a change. */
  mailRow(mail: QueuedMail): unknown;
  putMail(mail: QueuedMail): Promise<void>;
  /** Takes a mail for one attempt. Throws Outpaced if another node has taken it. */
  takeMail(mail: QueuedMail, nextAtMs: number): Promise<void>;
  removeMail(id: number): Promise<void>;
  putLink(link: MailedLink): Promise<void>;
}

/** The context in which the secret of a mail is sealed. */
export function mailContext({ id }: Pick<QueuedMail, 'id'>): string {
  return `mail:${id}`;
}

/** Result of an attempt, for the log. */
export interface MailAttempt {
  event: 'mail_sent' | 'mail_failed' | 'mail_given_up';
  mail: string;
  kind: MailRequest['kind'];
  tries: number;
  cause: string | null;
}

interface QueueParts {
  store: MailStore;
  people: Pick<PersonStore, 'findPersonByEmail' | 'listUnclaimed'>;
  /** Whether the person with this email has a password. Rejects with store_unavailable. */
  hasPassword(email: string): Promise<boolean>;
  /** The name of the OpenID Connect issuer; null without one. */
  issuer: string | null;
  sender: MailSender;
  identity(): MailIdentity;
  vault: Pick<Vault, 'open'>;
  publicUrl: string;
  clock: Clock;
  report(attempt: MailAttempt): void;
  /** Called if the store cannot be read or written; the mails stay due. */
  reportFailure(failure: unknown): void;
}

export class MailQueue {
  readonly #parts: QueueParts;
  #running: Promise<void> | null = null;
  #isWoken = false;
  #isClosed = false;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /** Sends what is due. Resolves when nothing is. Never rejects. */
  async wake(): Promise<void> {
    this.#isWoken = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  /** Mails in progress fail and are sent after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#parts.sender.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (this.#isWoken && !this.#isClosed) {
        this.#isWoken = false;
        const due = await this.#parts.store.listDueMails(this.#parts.clock.nowMs(), bounds.mailsAtOnce);
        if (due.length > 0) this.#isWoken = true;
        await Promise.all(due.map((mail) => attempt(this.#parts, mail)));
      }
    } catch (failure) {
      this.#parts.reportFailure(failure);
    }
  }
}

/** Rejects if the store is unavailable; a mail that was taken is then due again later. */
async function attempt(parts: QueueParts, mail: QueuedMail): Promise<void> {
  const { store, clock, report } = parts;
  const nowMs = clock.nowMs();
  const tries = mail.tries + 1;
  const told = { mail: nameOf(mail), kind: mail.request.kind, tries };
  try {
    await store.takeMail(mail, nowMs + pauseMs(tries));
  } catch (failure) {
    if ((failure as Error).name === 'Outpaced') return; // another node sends it
    throw failure;
  }
  const isLate = nowMs - mail.createdAtMs > bounds.mailTriedMsMax;
  const prepared = isLate ? null : await prepareMail(parts, mail, nowMs);
  if (prepared === null) {
    await store.removeMail(mail.id);
    if (isLate) report({ ...told, event: 'mail_given_up', cause: 'it could not be sent in time' });
    return;
  }
  if (prepared.secret !== null) await store.putLink(linkOf(mail, prepared));
  const outcome = await parts.sender.send(messageOf(parts, mail, prepared.content));
  if (outcome.isSent) {
    await store.removeMail(mail.id);
    report({ ...told, event: 'mail_sent', cause: null });
    return;
  }
  const isGivenUp = outcome.isRefused && tries >= bounds.mailRefusalsMax;
  if (isGivenUp) await store.removeMail(mail.id);
  report({ ...told, event: isGivenUp ? 'mail_given_up' : 'mail_failed', cause: outcome.cause });
}

/** From two minutes, longer than an attempt takes, to six hours. */
function pauseMs(tries: number): number {
  return Math.min(bounds.mailPauseMs * 2 ** (tries - 1), bounds.mailPauseMsMax);
}

function nameOf({ id }: QueuedMail): string {
  return `mail_${safeToBase62(id, 9)}`;
}

function linkOf({ to: email, request }: QueuedMail, { secret, content }: Prepared): MailedLink {
  const expiresAtMs = 'expiresAtMs' in content ? content.expiresAtMs : 0;
  const names = request.kind === 'sign-up' ? request : { name: '', accountName: '' };
  const purpose = request.kind === 'sign-up' ? 'sign-up' : 'password-reset';
  const { name, accountName } = names;
  return { hash: hashSecret(secret?.reveal() ?? ''), purpose, email, expiresAtMs, name, accountName };
}

function messageOf({ publicUrl, identity }: QueueParts, mail: QueuedMail, content: MailContent) {
  const letter = writeLetter(content, publicUrl);
  const sender = identity();
  const frame = { publicUrl, sender, unsubscribePage: null };
  return {
    id: nameOf(mail),
    fromName: sender.name,
    to: mail.to,
    subject: letter.subject,
    text: renderText(letter, frame),
    html: renderHtml(letter, frame),
    unsubscribeUrl: null,
  };
}
