// Webhooks by the Standard Webhooks specification (https://www.standardwebhooks.com): id, timestamp and signatures in
// headers, one signature for each secret that is valid. The id is the event's, in every attempt the same.

import { createHmac, randomBytes } from 'node:crypto';
import { formatId } from '../base/ids.ts';
import type { StoredEvent } from '../events/events.ts';
import { Secret } from '../secrets/secrets.ts';
import type { HttpMessage } from './send-http.ts';

const MARK = 'whsec_';
const SECRET_BYTES = 32;

export function makeWebhookSecret(): Secret {
  return new Secret(`${MARK}${randomBytes(SECRET_BYTES).toString('base64')}`);
}

/** The members of an event as receivers get it, and as the admin API shows it. */
function eventJson({ seq, type, atMs, account, data }: StoredEvent) {
  return {
    id: formatId('evt', seq),
    type,
    timestamp: new Date(atMs).toISOString(),
    account: account === null ? null : formatId('acct', account),
    data: { ...data },
  };
}

/** `secrets` are those that are valid now, newest first. */
export function webhookMessage(
  url: string,
  event: StoredEvent,
  secrets: readonly string[],
  nowMs: number,
  version: string,
): HttpMessage {
  const body = JSON.stringify(eventJson(event));
  const id = formatId('evt', event.seq);
  const timestamp = String(Math.floor(nowMs / 1000));
  const headers = {
    'content-type': 'application/json',
    'user-agent': `turnpike/${version}`,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => sign(secret, `${id}.${timestamp}.${body}`)).join(' '),
  };
  return { url, headers, body };
}

function sign(secret: string, text: string): string {
  const key = Buffer.from(secret.slice(MARK.length), 'base64');
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
}
