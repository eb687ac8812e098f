// One function for each kind of destination, which sends one event. It never rejects and ends within a bound.

import { bounds } from '../config/config.ts';
import type { StoredEvent } from '../events/events.ts';
import type { Vault } from '../secrets/secrets.ts';
import { type Destination, type DestinationKind, destinationContext } from './destination.ts';
import { describeByName } from './name-ids.ts';
import { postTo, type SendOptions, type SendResult } from './send-http.ts';
import { slackMessage } from './slack.ts';
import { webhookMessage } from './webhook.ts';

export type Send = (destination: Destination, event: StoredEvent) => Promise<SendResult>;
export type Channels = Readonly<Record<DestinationKind, Send>>;

export interface ChannelParts {
  vault: Pick<Vault, 'open'>;
  nowMs(): number;
  version: string;
  lookup: SendOptions['lookup'];
  /** The setting `webhook_private_network`. */
  privateNetwork(): 'off' | 'operators' | 'everyone';
  accountName(id: number): Promise<string | null>;
  /** The name of a user or a key, by an id of the API; null: none. */
  nameOf(id: string): Promise<string | null>;
  /** Sends a mail about the event; null: mail is not set up. */
  mail: Send | null;
  ca?: string;
}

export function makeChannels(parts: ChannelParts): Channels {
  const { vault, nowMs, version, lookup, ca } = parts;
  const secretsOf = (destination: Destination) =>
    destination.secrets
      .filter(({ endsAtMs }) => endsAtMs === null || endsAtMs > nowMs())
      .map(({ sealed }) => vault.open(sealed, destinationContext(destination)));
  const options = ({ accountId }: Destination): SendOptions => ({
    lookup,
    isPrivateAllowed: isPrivateAllowed(parts.privateNetwork(), accountId),
    ...(ca !== undefined && { ca }),
  });
  return {
    webhook: guarded(async (destination, event) => {
      const message = webhookMessage(destination.address, event, secretsOf(destination), nowMs(), version);
      return postTo(message, options(destination));
    }),
    slack: guarded(async (destination, event) => {
      const [url = ''] = secretsOf(destination);
      const account = event.account === null ? null : await parts.accountName(event.account);
      const sentence = await describeByName(event, parts.nameOf);
      return postTo(slackMessage(url, event, sentence, account), options(destination));
    }),
    mail: parts.mail === null ? async () => failed('mail is not set up (TURNPIKE_SMTP_URL)') : guarded(parts.mail),
  };
}

export function isPrivateAllowed(setting: 'off' | 'operators' | 'everyone', accountId: number | null): boolean {
  return setting === 'everyone' || (setting === 'operators' && accountId === null);
}

function failed(error: string): SendResult {
  return { ms: 0, status: null, error, excerpt: null, isGone: false };
}

/** A fault of this service, such as a secret that cannot be opened, fails the attempt; so does one that never ends. */
function guarded(send: Send): Send {
  return async (destination, event) => {
    const late = Promise.withResolvers<SendResult>();
    const timer = setTimeout(() => late.resolve(failed('no result in time')), 2 * bounds.deliveryMsMax);
    try {
      return await Promise.race([send(destination, event), late.promise]);
    } catch {
      return failed('an internal error');
    } finally {
      clearTimeout(timer);
    }
  };
}
