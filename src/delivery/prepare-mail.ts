// Decides what a queued mail says, just before it is sent. Who an email belongs to is looked up only here, so that the
// request that queued the mail takes the same time whether anyone has that email.

import { makeMailedSecret, type Person, type PersonStore } from '../accounts/accounts.ts';
import { bounds } from '../config/config.ts';
import type { Secret, Vault } from '../secrets/secrets.ts';
import type { MailContent } from './letters.ts';
import { mailContext, type QueuedMail } from './mail-queue.ts';

export interface PrepareParts {
  people: Pick<PersonStore, 'findPersonByEmail' | 'listUnclaimed'>;
  hasPassword(email: string): Promise<boolean>;
  issuer: string | null;
  vault: Pick<Vault, 'open'>;
  publicUrl: string;
}

export interface Prepared {
  content: MailContent;
  /** The secret of a new link, to be stored before the mail is sent; null: none was made. */
  secret: Secret | null;
}

/** null: nothing is to be sent any more. */
export async function prepareMail(parts: PrepareParts, mail: QueuedMail, nowMs: number): Promise<Prepared | null> {
  const { request } = mail;
  switch (request.kind) {
    case 'invitation':
    case 'recovery': {
      if (request.expiresAtMs <= nowMs || mail.secretSealed === null) return null;
      if (request.kind === 'invitation' && (await parts.people.findPersonByEmail(mail.to))?.status === 'enabled')
        return { content: { kind: 'invitation-known', account: request.account }, secret: null };
      const url = pageUrl(parts, 'invitation', parts.vault.open(mail.secretSealed, mailContext(mail)));
      return { content: { ...request, url }, secret: null };
    }
    case 'sign-up':
      return prepareSignUp(parts, mail.to, nowMs);
    case 'password-reset':
      return preparePasswordReset(parts, mail.to, nowMs);
    case 'export': {
      const { account } = request; // its people may have changed since
      if (account !== null && (await parts.people.findPersonByEmail(mail.to))?.accountId !== account) return null;
      return { content: { ...request, url: `${pageUrl(parts, 'exports')}?${request.query}` }, secret: null };
    }
    case 'password-changed':
      return { content: { ...request, url: pageUrl(parts, 'sign-in') }, secret: null };
  }
}

async function prepareSignUp(parts: PrepareParts, email: string, nowMs: number): Promise<Prepared | null> {
  const person = await parts.people.findPersonByEmail(email);
  if (person?.status === 'disabled') return null;
  if (person !== null) {
    const hasInvitation = person.status === 'invited';
    const content = { kind: 'sign-up-known' as const, url: pageUrl(parts, 'sign-in'), hasInvitation };
    return { content, secret: null };
  }
  const secret = makeMailedSecret('sign-up');
  const url = pageUrl(parts, 'sign-up', secret.reveal());
  return { content: { kind: 'sign-up', url, expiresAtMs: nowMs + bounds.signUpLinkMs }, secret };
}

async function preparePasswordReset(parts: PrepareParts, email: string, nowMs: number): Promise<Prepared | null> {
  const { issuer } = parts;
  const person = await parts.people.findPersonByEmail(email);
  const invited = person ?? (await findInvited(parts, email));
  if (invited === null || invited.status === 'disabled') return null;
  if (invited.status === 'invited') return { content: { kind: 'password-reset-invited' }, secret: null };
  if (issuer !== null && !(await parts.hasPassword(email))) {
    const url = pageUrl(parts, 'sign-in');
    return { content: { kind: 'password-reset-single-sign-on', issuer, url }, secret: null };
  }
  const secret = makeMailedSecret('password-reset');
  const url = pageUrl(parts, 'password-reset', secret.reveal());
  return { content: { kind: 'password-reset', url, expiresAtMs: nowMs + bounds.passwordResetLinkMs }, secret };
}

async function findInvited({ people }: PrepareParts, email: string): Promise<Person | null> {
  return (await people.listUnclaimed({ email, status: 'invited', accountId: null, limit: 1 }))[0] ?? null;
}

/** Secrets follow "#": browsers do not send them, so that no log has them. */
function pageUrl({ publicUrl }: PrepareParts, page: string, secret?: string): string {
  return `${publicUrl}/console/${page}${secret === undefined ? '' : `#${secret}`}`;
}
