// Sends one event as a mail to a destination, and the tokens with which its recipient ends such mails.

import { parseWholeNumber } from '../base/checked-number.ts';
import { safeToBase62 } from '../base/ids.ts';
import { describeEvent, eventTypes, type StoredEvent } from '../events/events.ts';
import { SealBroken, type Vault } from '../secrets/secrets.ts';
import { writeNotice } from './letters.ts';
import { type MailIdentity, renderHtml, renderText } from './render-letter.ts';
import type { MailOutcome, MailSender } from './send-mail.ts';

interface NoticeParts {
  sender: Pick<MailSender, 'send'>;
  vault: Pick<Vault, 'seal'>;
  publicUrl: string;
  identity(): MailIdentity;
}

/** `destination`: its number and address; `account`: the name of the event's account; `sentence`: the event in words, by default with ids. Never rejects. */
export type SendNotice = (
  destination: { id: number; address: string },
  event: StoredEvent,
  account: string | null,
  sentence?: string,
) => Promise<MailOutcome>;

export function makeNoticeSender({ sender, vault, publicUrl, identity }: NoticeParts): SendNotice {
  return async (destination, event, account, sentence = describeEvent(event)) => {
    const { title, isSecurity } = eventTypes[event.type];
    const url = `${publicUrl}/console/`;
    const letter = writeNotice({ title, sentence, atMs: event.atMs, account, url, isSecurity }, publicUrl);
    const token = isSecurity ? null : sealUnsubscribe(vault, destination);
    const unsubscribePage = token === null ? null : `${publicUrl}/console/unsubscribe#${token}`;
    const frame = { publicUrl, sender: identity(), unsubscribePage };
    return sender.send({
      id: `evt_${safeToBase62(event.seq, 9)}.${safeToBase62(destination.id, 9)}`, // the same for each attempt
      fromName: frame.sender.name,
      to: destination.address,
      subject: letter.subject,
      text: renderText(letter, frame),
      html: renderHtml(letter, frame),
      unsubscribeUrl: token === null ? null : `${publicUrl}/unsubscribe?token=${token}`,
    });
  };
}

const CONTEXT = 'unsubscribe';

interface Subscribed {
  /** The number of the destination. */
  id: number;
  /** Its address when the mail was sent. */
  address: string;
}

/** A token that unsubscribes the destination while it has this address, and reveals nothing. Base64url and ".". */
export function sealUnsubscribe(vault: Pick<Vault, 'seal'>, { id, address }: Subscribed): string {
  return vault.seal(`${id} ${address}`, CONTEXT);
}

/** null for any other text. */
export function openUnsubscribe(vault: Pick<Vault, 'open'>, token: string): Subscribed | null {
  try {
    const [id = '', address = ''] = vault.open(token, CONTEXT).split(' ');
    const number = parseWholeNumber(id);
    return number === null ? null : { id: number, address };
  } catch (failure) {
    if (failure instanceof SealBroken) return null;
    throw failure;
  }
}
