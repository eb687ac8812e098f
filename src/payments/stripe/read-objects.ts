// Schemas of the parts of Stripe's objects that this service uses. Amounts are whole cents; other members are ignored.

import { z } from 'zod';
import { isWholeNumber } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';

export const cents = z
  .number()
  .refine((value) => isWholeNumber(value) && value <= bounds.stripeCentsMax, 'is no whole number of cents');
/** Sums that may be below zero, such as the total of an invoice with prorations. */
const signedCents = z
  .number()
  .refine(
    (value) => isWholeNumber(Math.abs(value)) && Math.abs(value) <= bounds.stripeCentsMax,
    'is no whole number of cents',
  );
const count = z.number().refine(isWholeNumber, 'is no whole number');
export const seconds = z.number().refine((value) => isWholeNumber(value * 1000), 'is no time in seconds');
const id = z.string().min(1).max(255);
/** Only https, because the console links to it. Addresses of a test on this machine may be plain. */
export const link = z.string().regex(/^(?:https:\/\/|http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[:/])/);
/** A link that cannot be shown must not keep the money from being counted. */
const optionalLink = link.nullish().catch(null);
const metadata = z
  .record(z.string(), z.string())
  .nullish()
  .transform((value) => value ?? {});

/** The id of an object that may be expanded. */
const idOf = z.union([id, z.object({ id }).transform((value) => value.id)]);
const idOrNull = idOf.nullish().transform((value) => value ?? null);

/** A list, which may have more. */
export function listOf<Value>(element: z.ZodType<Value>) {
  return z.object({ data: z.array(element), has_more: z.boolean() });
}

export const withId = z.object({ id });
export const withUrl = z.object({ url: link });

export const balanceTransaction = z.object({ fee: signedCents, currency: z.string() });

export const refund = z.object({ id, amount: cents, currency: z.string(), status: z.string().nullable() });

export const charge = z.object({
  id,
  amount: cents,
  currency: z.string(),
  amount_refunded: cents,
  disputed: z.boolean(),
  receipt_url: optionalLink,
  balance_transaction: z.union([balanceTransaction, id.transform(() => null)]).nullish(),
  refunds: listOf(refund).nullish(),
});

export const dispute = z.object({
  id,
  amount: cents,
  currency: z.string(),
  status: z.string(),
  balance_transactions: z.array(balanceTransaction).default([]),
});

export const paymentIntent = z.object({
  id,
  status: z.string(),
  latest_charge: z.union([charge, id.transform(() => null)]).nullish(),
  last_payment_error: z
    .object({ code: z.string().nullish(), decline_code: z.string().nullish(), message: z.string().nullish() })
    .nullish(),
});
export type PaymentIntent = z.infer<typeof paymentIntent>;

export const session = z.object({
  id,
  mode: z.string(),
  status: z.string().nullable(),
  payment_status: z.string(),
  currency: z.string().nullable(),
  amount_total: cents.nullable(),
  total_details: z.object({ amount_tax: cents }).nullish(),
  customer: idOrNull,
  subscription: idOrNull,
  url: optionalLink,
  metadata,
  payment_intent: z.union([paymentIntent, id]).nullish(),
  invoice: z
    .union([
      z.object({
        id,
        hosted_invoice_url: optionalLink,
        post_payment_credit_notes_amount: cents,
        pre_payment_credit_notes_amount: cents,
      }),
      id.transform(() => null),
    ])
    .nullish(),
});
export type Session = z.infer<typeof session>;

const invoicePayment = z.object({
  status: z.string(),
  is_default: z.boolean(),
  payment: z.object({ type: z.string(), payment_intent: idOf.nullish() }),
});

export const invoice = z.object({
  id,
  status: z.string().nullable(),
  billing_reason: z.string().nullable(),
  currency: z.string(),
  total: signedCents,
  total_taxes: z.array(z.object({ amount: signedCents })).nullish(),
  customer: idOrNull,
  metadata,
  parent: z
    .object({
      subscription_details: z.object({ subscription: idOf, metadata }).nullish(),
    })
    .nullish(),
  hosted_invoice_url: optionalLink,
  post_payment_credit_notes_amount: cents,
  pre_payment_credit_notes_amount: cents,
  last_finalization_error: z.object({ code: z.string().nullish(), message: z.string().nullish() }).nullish(),
  payments: listOf(invoicePayment).nullish(),
});
export type Invoice = z.infer<typeof invoice>;

export const creditNote = z.object({
  id,
  status: z.string(),
  post_payment_amount: cents,
  refunds: z.array(z.object({ amount_refunded: cents })).default([]),
});

export const chargeOfIntent = z.object({ id, payment_intent: idOrNull });
export const invoiceOfPayment = z.object({ invoice: idOf });

export const price = z.object({
  id,
  active: z.boolean(),
  currency: z.string(),
  unit_amount: cents.nullable(),
  recurring: z
    .object({
      interval: z.enum(['day', 'week', 'month', 'year']),
      interval_count: count,
      usage_type: z.string(),
    })
    .nullable(),
});
export type Price = z.infer<typeof price>;

const phase = z.object({
  start_date: seconds,
  end_date: seconds,
  items: z.array(z.object({ price: idOf })).min(1),
});

export const schedule = z.object({
  id,
  status: z.string(),
  current_phase: z.object({ start_date: seconds, end_date: seconds }).nullable(),
  phases: z.array(phase),
});
export type Schedule = z.infer<typeof schedule>;

export const subscription = z.object({
  id,
  status: z.string(),
  customer: idOf,
  metadata,
  billing_cycle_anchor: seconds,
  cancel_at: seconds.nullable(),
  cancel_at_period_end: z.boolean(),
  ended_at: seconds.nullable(),
  items: z.object({
    data: z
      .array(z.object({ id, price: z.object({ id }), current_period_start: seconds, current_period_end: seconds }))
      .min(1),
  }),
  latest_invoice: z
    .union([
      z.object({
        id,
        status: z.string().nullable(),
        billing_reason: z.string().nullable(),
        hosted_invoice_url: optionalLink,
      }),
      id,
    ])
    .nullish(),
  pending_update: z.object({ expires_at: seconds }).nullish(),
  schedule: z.union([schedule, id]).nullish(),
});
export type Subscription = z.infer<typeof subscription>;

export const savedMethod = z.object({
  id,
  type: z.string(),
  card: z.object({ brand: z.string(), last4: z.string().nullable(), exp_year: count, exp_month: count }).nullish(),
  us_bank_account: z.object({ bank_name: z.string().nullable(), last4: z.string().nullable() }).nullish(),
  sepa_debit: z.object({ last4: z.string().nullable() }).nullish(),
});

export const customer = z.object({
  id,
  deleted: z.boolean().optional(),
  invoice_settings: z.object({ default_payment_method: savedMethod.nullish() }).optional(),
});
