// Webhook requests of the scripted Stripe: signed by the documented scheme, sent as a test wants them.

import { createHmac } from 'node:crypto';
import type { StripeEvent } from './state.ts';

export interface WebhookRequest {
  body: string;
  headers: Record<string, string>;
}

export interface SigningOptions {
  secret: string;
  /** Seconds since 1970. */
  timestamp: number;
}

/** `t=…,v1=…`: HMAC-SHA-256 of "timestamp.body". */
export function signBody(body: string, { secret, timestamp }: SigningOptions): string {
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return `t=${timestamp},v1=${signature}`;
}

export function signEvent(event: StripeEvent, options: SigningOptions): WebhookRequest {
  const body = JSON.stringify(event, null, 2);
  return {
    body,
    headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signBody(body, options) },
  };
}

export interface DeliveryOptions {
  /** Sends the request; resolves with the status. */
  send: (request: WebhookRequest) => Promise<number>;
  sign: (event: StripeEvent) => WebhookRequest;
  /** Order of the events, such as a shuffle. */
  arrange?: (events: StripeEvent[]) => StripeEvent[];
  /** How often each is sent. */
  copies?: number;
  concurrency?: number;
  /** Tries of one request until it is answered with 2xx. Stripe tries for three days. */
  tries?: number;
}

/** Delivers the events; returns those that were never accepted. */
export async function deliverEvents(events: readonly StripeEvent[], options: DeliveryOptions): Promise<StripeEvent[]> {
  const { send, sign, arrange = (all) => all, copies = 1, concurrency = 1, tries = 10 } = options;
  const queue = arrange(events.flatMap((event) => Array.from({ length: copies }, () => event)));
  const refused: StripeEvent[] = [];
  const work = async () => {
    for (let event = queue.shift(); event !== undefined; event = queue.shift())
      if (!(await isAccepted(event, send, sign, tries))) refused.push(event);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return refused;
}

async function isAccepted(
  event: StripeEvent,
  send: DeliveryOptions['send'],
  sign: DeliveryOptions['sign'],
  tries: number,
): Promise<boolean> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const status = await send(sign(event)).catch(() => 0);
    if (status >= 200 && status <= 299) return true;
  }
  return false;
}
