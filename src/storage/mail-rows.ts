// Rows of queued mails, mailed links and sign-ups: their statements and their reads, the same for both databases.

import type { MailedLink, SignUp } from '../accounts/accounts.ts';
import type { QueuedMail } from '../delivery/delivery.ts';
import type { CoCommittedStatement } from './co-committed.ts';
import { prepareCount, prepareOne, readPage } from './readable-rows.ts';
import { columnsAs, type SqlReader } from './sql-reader.ts';
import { documents, readStored } from './stored-documents.ts';

export type MailRow =
  | { table: 'mails'; put: QueuedMail }
  /** Takes a mail for one attempt. Refused as Outpaced if another node has taken it. */
  | { table: 'mails'; take: { id: number; tries: number; nextAtMs: number } }
  | { table: 'mails'; remove: number }
  /** Only the secret, sealed anew. */
  | { table: 'mails'; resealed: { id: number; secretSealed: string } }
  | { table: 'mailed_links'; put: MailedLink }
  /** Uses up a link, and ends all others for its purpose and email. Refused as Outpaced if it was used or has expired. */
  | { table: 'mailed_links'; use: { link: MailedLink; nowMs: number } }
  /** Counts a sign-up and remembers its credit. Refused as Outpaced if either is not allowed any more. */
  | { table: 'sign_ups'; put: SignUp };

export function mailStatements(row: MailRow): CoCommittedStatement[] {
  if (row.table === 'sign_ups') return putSignUp(row.put);
  if (row.table === 'mailed_links') return 'put' in row ? putLink(row.put) : useLink(row.use);
  if ('put' in row) return [putMail(row.put)];
  if ('remove' in row) return [{ text: 'DELETE FROM mails WHERE id = $1', values: [row.remove] }];
  if ('resealed' in row) {
    const { id, secretSealed } = row.resealed;
    return [{ text: 'UPDATE mails SET secret_sealed = $2 WHERE id = $1', values: [id, secretSealed] }];
  }
  const { id, tries, nextAtMs } = row.take;
  const text = 'UPDATE mails SET tries = tries + 1, next_at_ms = $3 WHERE id = $1 AND tries = $2';
  return [{ text, values: [id, tries, nextAtMs], race: 'another node sends this mail' }];
}

function putMail({ id, createdAtMs, nextAtMs, tries, to, request, secretSealed }: QueuedMail): CoCommittedStatement {
  return {
    text: `INSERT INTO mails (id, created_at_ms, next_at_ms, tries, document, secret_sealed)
       VALUES ($1, $2, $3, $4, $5, $6)`,
    values: [id, createdAtMs, nextAtMs, tries, JSON.stringify({ to, request }), secretSealed],
  };
}

/** Also deletes expired ones. */
function putLink({ hash, purpose, email, expiresAtMs, name, accountName }: MailedLink): CoCommittedStatement[] {
  return [
    {
      text: `INSERT INTO mailed_links (hash, purpose, email, expires_at_ms, document) VALUES ($1, $2, $3, $4, $5)`,
      values: [hash, purpose, email, expiresAtMs, JSON.stringify({ name, accountName })],
    },
  ];
}

function useLink({ link, nowMs }: { link: MailedLink; nowMs: number }): CoCommittedStatement[] {
  return [
    {
      text: 'DELETE FROM mailed_links WHERE hash = $1 AND expires_at_ms > $2',
      values: [link.hash, nowMs],
      race: 'the link was used',
    },
    { text: 'DELETE FROM mailed_links WHERE purpose = $1 AND email = $2', values: [link.purpose, link.email] },
    { text: 'DELETE FROM mailed_links WHERE expires_at_ms <= $1', values: [nowMs] },
  ];
}

function putSignUp({ account, credit, emailKey, signUpsMax, countedSinceMs }: SignUp): CoCommittedStatement[] {
  return [
    {
      text: `INSERT INTO sign_ups (account_id, at_ms, email_key, is_credited)
         SELECT CAST($1 AS bigint), CAST($2 AS bigint), CAST($3 AS text), CAST($4 AS bigint)
         WHERE (SELECT COUNT(*) FROM sign_ups s WHERE s.at_ms > $5) < $6
         ON CONFLICT (email_key) WHERE is_credited = 1 DO NOTHING`,
      values: [account.id, account.createdAtMs, emailKey, credit > 0 ? 1 : 0, countedSinceMs, signUpsMax],
      race: 'another sign-up came first',
    },
  ];
}

export interface MailReads {
  /** Mails whose next attempt is due, the longest due first. */
  listDueMails(nowMs: number, limit: number): Promise<QueuedMail[]>;
  /** Mails with a sealed secret. Rejects if one cannot be read: its secret would be lost. */
  listSealedMails(): Promise<QueuedMail[]>;
  /** Includes expired links. */
  findMailedLink(hash: string): Promise<MailedLink | null>;
  /** Whether a sign-up of this mailbox got credit, ever. */
  wasCredited(emailKey: string): Promise<boolean>;
  countSignUps(sinceMs: number): Promise<number>;
}

type MailTable = Omit<QueuedMail, 'to' | 'request'> & { document: string };
type LinkTable = Omit<MailedLink, 'name' | 'accountName'> & { document: string };

export function mailReads(on: SqlReader): MailReads {
  const mails = (rest: string) =>
    on.prepare<MailTable>(
      `SELECT ${columnsAs(on, 'm', ['id', 'createdAtMs', 'nextAtMs', 'tries'], ['document', 'secretSealed'])}
       FROM mails m ${rest}`,
    );
  const due = mails('WHERE m.next_at_ms <= $1 ORDER BY m.next_at_ms, m.id LIMIT $2 OFFSET $3');
  const sealed = mails('WHERE m.secret_sealed IS NOT NULL ORDER BY m.id');
  const link = `SELECT ${columnsAs(on, 'l', ['expiresAtMs'], ['hash', 'purpose', 'email', 'document'])}
    FROM mailed_links l WHERE l.hash = $1`;
  const credited = on.prepare<{ found: number }>(
    `SELECT ${on.number('1')} AS found FROM sign_ups s WHERE s.email_key = $1 AND s.is_credited = 1`,
  );
  return {
    listDueMails: (nowMs, limit) =>
      readPage(
        on,
        limit,
        (skipped) => due(nowMs, limit, skipped),
        ({ id }) => id,
        readMail,
      ),
    listSealedMails: async () => (await sealed()).map(readMail),
    findMailedLink: prepareOne(on, link, readLink),
    wasCredited: async (emailKey) => (await credited(emailKey)).length > 0,
    countSignUps: prepareCount(on, 'sign_ups s', 's.at_ms > $1'),
  };
}

function readMail({ document, ...rest }: MailTable): QueuedMail {
  return { ...rest, ...readStored(documents.mail, document) };
}

function readLink({ document, ...rest }: LinkTable): MailedLink {
  return { ...rest, ...readStored(documents.mailedLink, document) };
}
