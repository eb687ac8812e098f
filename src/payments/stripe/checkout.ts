// Customers, pages of Checkout, the customer portal and saved methods.

import { createHash } from 'node:crypto';
import type { Stripe } from 'stripe';
import { z } from 'zod';
import { bounds } from '../../config/config.ts';
import type { NewCheckout, NewCustomer, SavedMethod, StartedCheckout } from '../provider.ts';
import type { StripeCalls } from './call-stripe.ts';
import { StripeRefusal } from './call-stripe.ts';
import { customer, link, listOf, savedMethod, withId, withUrl } from './read-objects.ts';

/** Names in Stripe's metadata. `checkout` marks the invoice that Checkout makes as a receipt. */
export const metadataNames = {
  payment: 'turnpike_payment',
  account: 'turnpike_account',
  plan: 'turnpike_plan',
  checkout: 'turnpike_checkout',
} as const;

export async function createCustomer(calls: StripeCalls, { account, name, email }: NewCustomer): Promise<string> {
  const wanted = {
    name,
    ...(email === null ? {} : { email }),
    metadata: { [metadataNames.account]: account },
  };
  // A retry creates no second customer; with a changed name it would be refused under the same key.
  const digest = createHash('sha256').update(JSON.stringify(wanted)).digest('base64url').slice(0, 16);
  const idempotencyKey = `${account}:customer:${digest}`;
  const created = await calls.ask('create a customer', withId, (client) =>
    client.customers.create(wanted, { idempotencyKey }),
  );
  return created.id;
}

const startedSession = z.object({ id: z.string(), url: link });

export async function startCheckout(calls: StripeCalls, checkout: NewCheckout): Promise<StartedCheckout> {
  const { payment, account, amountCents, description } = checkout;
  const metadata = { [metadataNames.payment]: payment, [metadataNames.account]: account };
  return openSession(calls, `${payment}:checkout`, {
    ...commonParams(checkout),
    mode: 'payment',
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: 'usd',
          unit_amount: amountCents,
          tax_behavior: 'exclusive',
          product_data: { name: description },
        },
      },
    ],
    metadata,
    payment_intent_data: {
      metadata,
      description,
      ...(checkout.savesMethod ? { setup_future_usage: 'off_session' } : {}),
    },
    invoice_creation: {
      enabled: true,
      invoice_data: {
        description,
        metadata: { [metadataNames.checkout]: payment, [metadataNames.account]: account },
      },
    },
  });
}

/** Parameters of every session. */
export function commonParams({
  customer,
  successUrl,
  cancelUrl,
  isTaxAutomatic,
}: Pick<NewCheckout, 'customer' | 'successUrl' | 'cancelUrl' | 'isTaxAutomatic'>): Stripe.Checkout.SessionCreateParams {
  return {
    customer,
    success_url: successUrl,
    cancel_url: cancelUrl,
    // Amounts stay in the currency in which they are credited.
    adaptive_pricing: { enabled: false },
    automatic_tax: { enabled: isTaxAutomatic },
    ...(isTaxAutomatic
      ? { customer_update: { address: 'auto', name: 'auto' }, tax_id_collection: { enabled: true } }
      : {}),
  };
}

export async function openSession(
  calls: StripeCalls,
  idempotencyKey: string,
  params: Stripe.Checkout.SessionCreateParams,
): Promise<StartedCheckout> {
  const { id, url } = await calls.ask('create a Checkout session', startedSession, (client) =>
    client.checkout.sessions.create(params, { idempotencyKey }),
  );
  return { source: id, url };
}

export async function openPortal(calls: StripeCalls, customerId: string, returnUrl: string): Promise<string> {
  const { url } = await calls.ask('open the customer portal', withUrl, (client) =>
    client.billingPortal.sessions.create({ customer: customerId, return_url: returnUrl }),
  );
  return url;
}

export async function readSavedMethod(calls: StripeCalls, customerId: string): Promise<SavedMethod | null> {
  const found = await calls
    .ask('read a customer', customer, (client) =>
      client.customers.retrieve(customerId, { expand: ['invoice_settings.default_payment_method'] }),
    )
    .catch(nullIfMissing);
  if (found === null || found.deleted === true) return null;
  const usual = found.invoice_settings?.default_payment_method;
  if (usual != null) return describeMethod(usual);
  const { data } = await calls.ask('list saved methods', listOf(savedMethod), (client) =>
    client.customers.listPaymentMethods(customerId, { limit: bounds.savedMethodsListedMax }),
  );
  const newest = data.find(({ type }) => OFF_SESSION_KINDS.includes(type));
  return newest === undefined ? null : describeMethod(newest);
}

/** Kinds that can be charged without the holder. */
const OFF_SESSION_KINDS = [
  'card',
  'link',
  'us_bank_account',
  'sepa_debit',
  'paypal',
  'cashapp',
  'amazon_pay',
  'revolut_pay',
];

function describeMethod(method: z.infer<typeof savedMethod>): SavedMethod {
  const { id, type, card, us_bank_account: account, sepa_debit } = method;
  return {
    id,
    kind: type,
    brand: card?.brand ?? account?.bank_name ?? null,
    last4: card?.last4 ?? account?.last4 ?? sepa_debit?.last4 ?? null,
    expiresYear: card?.exp_year ?? null,
    expiresMonth: card?.exp_month ?? null,
  };
}

/** For `catch`: null if Stripe has no such object. */
export function nullIfMissing(error: unknown): null {
  if (error instanceof StripeRefusal && error.stripeCode === 'resource_missing') return null;
  throw error;
}
