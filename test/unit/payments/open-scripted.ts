// The Stripe adapter over a scripted Stripe, in process or by HTTP on loopback, for the tests beside it.

import type { PaymentProvider } from '../../../src/payments/provider.ts';
import { openStripe } from '../../../src/payments/stripe/stripe.ts';
import { Secret } from '../../../src/secrets/secrets.ts';
import { ScriptedStripe, type ScriptedStripeOptions } from '../../support/scripted-stripe.ts';

export const urls = { successUrl: 'https://turnpike.example.com/paid', cancelUrl: 'https://turnpike.example.com/back' };

export async function openScripted(options: ScriptedStripeOptions = {}) {
  const stripe = new ScriptedStripe(options);
  const provider = await openStripe(
    { secretKey: new Secret(stripe.secretKey), webhookSecret: new Secret(stripe.webhookSecret), apiUrl: null },
    { send: stripe.send, nowMs: () => stripe.state.now() * 1000, retriesMax: 0 },
  );
  return prepare(stripe, provider);
}

/** As above, faster, without the official package. */
export function openDirectly(options: ScriptedStripeOptions = {}) {
  const stripe = new ScriptedStripe(options);
  return prepare(stripe, stripe.directProvider());
}

async function prepare(stripe: ScriptedStripe, provider: PaymentProvider) {
  const customer = await provider.createCustomer({ account: 'acct_one', name: 'One', email: 'one@example.com' });
  let payments = 0;
  const checkout = (more: { amountCents?: number; isTaxAutomatic?: boolean; savesMethod?: boolean } = {}) =>
    provider.startCheckout({
      payment: `pay_${++payments}`,
      account: 'acct_one',
      customer,
      amountCents: 2_000,
      description: 'Credit of 20.00 USD',
      isTaxAutomatic: false,
      savesMethod: false,
      ...urls,
      ...more,
    });
  const recharge = (
    method: string,
    more: { payment?: string; amountCents?: number; isTaxAutomatic?: boolean } = {},
  ) => ({
    payment: `pay_${++payments}`,
    account: 'acct_one',
    customer,
    method,
    amountCents: 2_000,
    description: 'Credit of 20.00 USD',
    isTaxAutomatic: false,
    createdAtMs: stripe.state.now() * 1000,
    ...more,
  });
  return { stripe, provider, customer, checkout, recharge };
}

/** The state, which must be there. */
export async function readState(provider: PaymentProvider, source: string) {
  const state = await provider.readPayment(source);
  if (state === null) throw new Error(`${source} does not exist`);
  return state;
}
