// An installation in memory whose mails go over a real connection to a scripted SMTP server. It has no tests of its own.

import { installationOf } from '../../../src/catalog/catalog.ts';
import { readConfig } from '../../../src/config/config.ts';
import { MailQueue, makeMailSender } from '../../../src/delivery/delivery.ts';
import type { MailAttempt } from '../../../src/delivery/mail-queue.ts';
import { type ReadMail, readMail, type ScriptedSmtp, startScriptedSmtp } from '../../support/scripted-smtp.ts';
import { type Installation, type Json, makeInstallation } from './installation.ts';

export const PUBLIC_URL = 'https://console.example.com';

export interface Mailing extends AsyncDisposable {
  installation: Installation;
  server: ScriptedSmtp;
  attempts: MailAttempt[];
  failures: unknown[];
  /** Emails that have a password, as the sign-in thread would say. */
  issuer: { name: string | null };
  queue: MailQueue;
  /** Sends everything that is due, and returns the new mails. */
  deliver(): Promise<(ReadMail & { to: string })[]>;
  /** Without a token. */
  ask(path: string, body: unknown, address?: string): ReturnType<Installation['ask']>;
}

export async function startMailing(settings: Json = {}, issuer: string | null = null): Promise<Mailing> {
  const installation = await makeInstallation({ sendsMail: true });
  const server = await startScriptedSmtp();
  await installation.ask('POST', '/api/v1/apply', { document: { settings } });
  const { mail } = readConfig(
    {},
    { TURNPIKE_SMTP_URL: server.url, TURNPIKE_MAIL_FROM: 'turnpike@example.com', TURNPIKE_PUBLIC_URL: PUBLIC_URL },
  );
  if (mail === null) throw new Error('the settings of mail are wrong');
  const [attempts, failures]: [MailAttempt[], unknown[]] = [[], []];
  const queue = new MailQueue({
    store: installation.stores.mails,
    people: installation.stores.people,
    hasPassword: async (email) => installation.passwords.has(email),
    issuer,
    sender: makeMailSender(() => mail),
    identity: () => installationOf(installation.catalog.current.settings),
    vault: installation.vault,
    publicUrl: PUBLIC_URL,
    clock: installation.clock,
    report: (attempt) => void attempts.push(attempt),
    reportFailure: (failure) => void failures.push(failure),
  });
  return {
    installation,
    server,
    attempts,
    failures,
    issuer: { name: issuer },
    queue,
    async deliver() {
      const before = server.mails.length;
      await queue.wake();
      return server.mails.slice(before).map(({ raw, to }) => ({ ...readMail(raw), to: to.join() }));
    },
    ask: (path, body, address) => installation.ask('POST', `/api/v1${path}`, body, { authorization: '' }, address),
    async [Symbol.asyncDispose]() {
      await queue.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The secret in the link of a mail; empty without one. */
export function secretIn(mail: Pick<ReadMail, 'text'> | undefined): string {
  return /#(tk-[a-z]+-[0-9A-Za-z]+)/.exec(mail?.text ?? '')?.[1] ?? '';
}
