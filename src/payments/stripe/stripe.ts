// The adapter of Stripe, over the official package, which is loaded only when Stripe is configured. Its types are for
// the API version that the package pins; every value is checked before it is used.

import type { Stripe } from 'stripe';
import { bounds } from '../../config/config.ts';
import type { Secret } from '../../secrets/secrets.ts';
import type { PaymentProvider } from '../provider.ts';
import { makeClient, openCalls, type Send } from './call-stripe.ts';
import { createCustomer, openPortal, readSavedMethod, startCheckout } from './checkout.ts';
import { readEvent } from './read-event.ts';
import { cancelPayment, findPayment, listPayments, readPayment, refundPayment } from './read-payments.ts';
import { startRecharge } from './recharge.ts';
import { openSubscriptions } from './subscriptions.ts';

export interface StripeSettings {
  secretKey: Secret;
  webhookSecret: Secret;
  /** Origin of the API; null: Stripe's own. */
  apiUrl: string | null;
}

/** Sources of time and of answers, and bounds of one call; tests may replace them. */
export interface StripeSurroundings {
  nowMs?: () => number;
  send?: Send;
  retriesMax?: number;
  waitMsMax?: number;
}

export async function openStripe(
  { secretKey, webhookSecret, apiUrl }: StripeSettings,
  surroundings: StripeSurroundings = {},
): Promise<PaymentProvider> {
  const { nowMs = Date.now, send = fetch } = surroundings;
  const { retriesMax = bounds.stripeRetriesMax, waitMsMax = bounds.stripeWaitMsMax } = surroundings;
  const { Stripe } = await import('stripe');
  const client = makeClient(Stripe, { secretKey, apiUrl, send, retriesMax, waitMsMax });
  const { webhooks } = client;
  return providerOver(client, secretKey.reveal().includes('_live_'), nowMs, (body, signature, atMs) => {
    const tolerance = bounds.stripeEventSecondsMax;
    return webhooks.constructEventAsync(body, signature, webhookSecret.reveal(), tolerance, undefined, atMs);
  });
}

/** The provider over a client of the package. `verify` checks the signature and age of a webhook request. */
export function providerOver(
  client: Stripe,
  isLive: boolean,
  nowMs: () => number,
  verify: (body: Uint8Array, signature: string, atMs: number) => Promise<unknown>,
): PaymentProvider {
  const calls = openCalls(client);
  return {
    name: 'stripe',
    createCustomer: (customer) => createCustomer(calls, customer),
    startCheckout: (checkout) => startCheckout(calls, checkout),
    openPortal: (customer, returnUrl) => openPortal(calls, customer, returnUrl),
    readSavedMethod: (customer) => readSavedMethod(calls, customer),
    startRecharge: (recharge) => startRecharge(calls, recharge, nowMs()),
    readPayment: (source) => readPayment(calls, source),
    cancelPayment: (source) => cancelPayment(calls, source),
    refundPayment: (source) => refundPayment(calls, source),
    findPayment: (reference) => findPayment(calls, reference),
    listPayments: (range) => listPayments(calls, range),
    readEvent: (body, headers, atMs) => readEvent(body, headers, isLive, (signature) => verify(body, signature, atMs)),
    subscriptions: openSubscriptions(calls),
  };
}
