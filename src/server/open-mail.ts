// The mailer of this node, if an SMTP server is set: it looks for due mails regularly, because another node may have
// queued them, and at once when this node did.

import { machineTimers } from '../base/timers.ts';
import { type CatalogHolder, installationOf } from '../catalog/catalog.ts';
import { bounds, type Config } from '../config/config.ts';
import { type Mailer, MailQueue, makeMailer, makeMailSender } from '../delivery/delivery.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import { type MadeSignIn, makeSignIn, type SignInParts } from './compose.ts';
import type { OpenSettings } from './open-settings.ts';
import type { OpenStore } from './open-store.ts';
import type { Closing } from './server.ts';

interface MailParts extends Pick<OpenSettings, 'readMail'> {
  config: Config;
  holder: Pick<CatalogHolder, 'current'>;
  store: OpenStore;
  hasPassword(email: string): Promise<boolean>;
  log: LogWriter;
}

/** null: no SMTP server is set. */
function openMail({ config, holder, store, hasPassword, log, readMail }: MailParts, closing: Closing): Mailer | null {
  if (readMail === null || config.mail === null) return null;
  const { vault, stores, clock } = store;
  const queue = new MailQueue({
    store: stores.mails,
    people: stores.people,
    hasPassword,
    issuer: config.issuers.map(({ name }) => name).join(' or ') || null,
    sender: makeMailSender(readMail),
    identity: () => installationOf(holder.current.settings),
    vault,
    publicUrl: config.mail.publicUrl,
    clock,
    report: ({ event, ...attempt }) => log.writeEvent(event, { ...attempt }),
    reportFailure: (failure) => log.writeEvent('mail_queue_failed', { cause: describeFailure(failure) }),
  });
  const stop = machineTimers.every(bounds.mailLookMs, () => void queue.wake());
  closing.push(async () => {
    stop();
    await queue.close();
  });
  return makeMailer(stores.mails, queue, vault, clock);
}

/** Sign-in and the mailer, which need each other. */
export function openPeople(
  { readMail, ...parts }: Omit<SignInParts, 'onPasswordChanged'> & Pick<MailParts, 'holder' | 'readMail'>,
  closing: Closing,
): { people: MadeSignIn; mailer: Mailer | null } {
  const { config, store, holder, observers } = parts;
  const { clock, log } = observers;
  const onPasswordChanged = async (email: string, address: string) => {
    await mailer?.send({ to: email, request: { kind: 'password-changed', atMs: clock.nowMs(), address } });
  };
  const people = makeSignIn({ ...parts, onPasswordChanged }, closing);
  const mailer = openMail({ config, holder, store, readMail, hasPassword: people.hasPassword, log }, closing);
  return { people, mailer };
}
