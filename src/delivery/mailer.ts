// Queues mails for the parts of the service that send them.

import type { Clock } from '../base/clock.ts';
import { newNumber } from '../base/ids.ts';
import type { Secret, Vault } from '../secrets/secrets.ts';
import { type MailQueue, type MailRequest, type MailStore, mailContext, type QueuedMail } from './mail-queue.ts';

export interface NewMail {
  to: string;
  request: MailRequest;
  /** The secret of its link, for a link that was made before; it is stored sealed. */
  secret?: Secret;
}

export interface Mailer {
  /** The row of a mail, to be committed with a change. Call `wake` after the commit. */
  row(mail: NewMail): unknown;
  /** Resolves when the mail is stored. Rejects with store_unavailable. */
  send(mail: NewMail): Promise<void>;
  wake(): void;
}

export function makeMailer(
  store: MailStore,
  queue: Pick<MailQueue, 'wake'>,
  vault: Pick<Vault, 'seal'>,
  clock: Clock,
): Mailer {
  const queued = ({ to, request, secret }: NewMail): QueuedMail => {
    const [id, nowMs] = [newNumber(), clock.nowMs()];
    const secretSealed = secret === undefined ? null : vault.seal(secret.reveal(), mailContext({ id }));
    return { id, createdAtMs: nowMs, nextAtMs: nowMs, tries: 0, to, request, secretSealed };
  };
  return {
    row: (mail) => store.mailRow(queued(mail)),
    async send(mail) {
      await store.putMail(queued(mail));
      void queue.wake();
    },
    wake: () => void queue.wake(),
  };
}
