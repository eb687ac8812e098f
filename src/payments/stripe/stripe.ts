// The adapter of Stripe, over the official package, which is loaded only when Stripe is configured. Its types are for
// the API version that the package pins; every value is checked before it is used.

import { bounds } from '../../config.ts';
import type { Secret } from '../../secrets/secrets.ts';
import type { PaymentProvider } from '../provider.ts';
import { openCalls, type Send } from './call-stripe.ts';
import { createCustomer, openPortal, readSavedMethod, startCheckout } from './checkout.ts';
import { readEvent } from './read-event.ts';
import { cancelPayment, findPayment, listPayments, readPayment } from './read-payments.ts';
import { startRecharge } from './recharge.ts';
import { openSubscriptions } from './subscriptions.ts';

export { stripeEventTypes } from './read-event.ts';

export interface StripeSettings {
  secretKey: Secret;
  webhookSecret: Secret;
  /** Origin of the API; null: Stripe's own. */
  apiUrl: string | null;
}

/** Sources of time and of answers, and retries of one call; tests may replace them. */
export interface StripeSurroundings {
  nowMs?: () => number;
  send?: Send;
  retriesMax?: number;
}

export async function openStripe(
  { secretKey, webhookSecret, apiUrl }: StripeSettings,
  { nowMs = Date.now, send = fetch, retriesMax = bounds.stripeRetriesMax }: StripeSurroundings = {},
): Promise<PaymentProvider> {
  const { Stripe } = await import('stripe');
  const calls = openCalls(Stripe, { secretKey, apiUrl, send, retriesMax });
  const { isLive } = calls;
  return {
    name: 'stripe',
    isLive,
    createCustomer: (customer) => createCustomer(calls, customer),
    startCheckout: (checkout) => startCheckout(calls, checkout),
    openPortal: (customer, returnUrl) => openPortal(calls, customer, returnUrl),
    readSavedMethod: (customer) => readSavedMethod(calls, customer),
    startRecharge: (recharge) => startRecharge(calls, recharge, nowMs()),
    readPayment: (source) => readPayment(calls, source),
    cancelPayment: (source) => cancelPayment(calls, source),
    findPayment: (reference) => findPayment(calls, reference),
    listPayments: (range) => listPayments(calls, range),
    readEvent: (body, headers, atMs) => {
      const verify = (signature: string) =>
        calls.client.webhooks.constructEventAsync(
          body,
          signature,
          webhookSecret.reveal(),
          bounds.stripeEventSecondsMax,
          undefined,
          atMs,
        );
      return readEvent(body, headers, isLive, verify);
    },
    subscriptions: openSubscriptions(calls),
  };
}
