// The state of a payment from Stripe's objects. Pure: no calls.

import type { z } from 'zod';
import { assert } from '../../base/assert.ts';
import { isWholeNumber } from '../../base/checked-number.ts';
import type { PaymentFailure, PaymentState, PaymentStatus } from '../provider.ts';
import { unexpected } from './call-stripe.ts';
import { metadataNames } from './checkout.ts';
import type { charge, creditNote, dispute, Invoice, PaymentIntent, refund, Session } from './read-objects.ts';

type Charge = z.infer<typeof charge>;
type Refund = z.infer<typeof refund>;
type Dispute = z.infer<typeof dispute>;
type CreditNote = z.infer<typeof creditNote>;

/** A payment intent with everything that took money back. */
export interface IntentFacts {
  intent: PaymentIntent;
  refunds: readonly Refund[];
  disputes: readonly Dispute[];
}

export function stateOfSession(
  session: Session,
  intents: readonly IntentFacts[],
  notes: readonly CreditNote[],
): PaymentState {
  const { id, currency, amount_total: total, total_details: details } = session;
  if (currency === null || total === null) throw unexpected(`read ${id}`, 'the session has no amount');
  const tax = details?.amount_tax ?? 0;
  const status = statusOfSession(session, intents);
  return {
    ...money(id, { currency, total, tax }, intents, notes, session.invoice?.pre_payment_credit_notes_amount ?? 0),
    source: id,
    kind: 'checkout',
    status,
    receiptUrl: session.invoice?.hosted_invoice_url ?? receiptOf(intents),
    customer: session.customer,
    subscription: session.subscription,
    metadata: ourMetadata(session.metadata),
    failure: status === 'failed' ? failureOf(intents) : null,
    actionUrl: session.status === 'open' ? (session.url ?? null) : null,
  };
}

function statusOfSession(session: Session, intents: readonly IntentFacts[]): PaymentStatus {
  if (session.status === 'expired') return 'canceled';
  if (session.status !== 'complete') return 'pending';
  const isPaid = session.payment_status === 'paid' || session.payment_status === 'no_payment_required';
  const statuses = intents.map(({ intent }) => intent.status);
  if (isPaid && statuses.every((status) => status === 'succeeded')) return 'paid';
  return statuses.some((status) => LOST_STATUSES.includes(status)) ? 'failed' : 'pending';
}

/** Statuses of a payment intent from which a completed session does not recover. */
const LOST_STATUSES = ['requires_payment_method', 'canceled'];

export function stateOfInvoice(
  invoice: Invoice,
  intents: readonly IntentFacts[],
  notes: readonly CreditNote[],
): PaymentState {
  const { id, currency, total, parent } = invoice;
  const subscription = parent?.subscription_details ?? null;
  const tax = (invoice.total_taxes ?? []).reduce((sum, { amount }) => sum + amount, 0);
  // Below zero, an invoice of prorations only adds to the customer's balance.
  const amounts = total < 0 ? { currency, total: 0, tax: 0 } : { currency, total, tax: Math.max(0, tax) };
  const status = statusOfInvoice(invoice, intents);
  const canAct = invoice.status === 'open' && (subscription !== null || needsHolder(intents));
  return {
    ...money(id, amounts, intents, notes, invoice.pre_payment_credit_notes_amount),
    source: id,
    kind: subscription === null ? 'recharge' : 'subscription',
    status,
    receiptUrl: invoice.hosted_invoice_url ?? receiptOf(intents),
    customer: invoice.customer,
    subscription: subscription?.subscription ?? null,
    metadata: ourMetadata({ ...subscription?.metadata, ...invoice.metadata }),
    failure: status === 'failed' ? (finalizationFailure(invoice) ?? failureOf(intents)) : null,
    actionUrl: canAct ? (invoice.hosted_invoice_url ?? null) : null,
  };
}

function statusOfInvoice(invoice: Invoice, intents: readonly IntentFacts[]): PaymentStatus {
  const hasFailed = intents.some(({ intent }) => intent.last_payment_error != null);
  switch (invoice.status) {
    case 'paid':
      // A payment that fails after it had succeeded, as bank debits may.
      return intents.some(({ intent }) => LOST_STATUSES.includes(intent.status)) ? 'failed' : 'paid';
    case 'void':
      return hasFailed ? 'failed' : 'canceled';
    case 'uncollectible':
      return 'failed';
    case 'open':
      if (intents.some(({ intent }) => intent.status === 'processing')) return 'pending';
      return hasFailed || needsHolder(intents) ? 'failed' : 'pending';
    default:
      return finalizationFailure(invoice) === null ? 'pending' : 'failed';
  }
}

/** Whether the bank wants the holder to confirm the payment. */
export function needsHolder(intents: readonly IntentFacts[]): boolean {
  return intents.some(
    ({ intent }) =>
      intent.status === 'requires_action' ||
      (intent.status !== 'succeeded' && intent.last_payment_error?.code === 'authentication_required'),
  );
}

type Money = Pick<
  PaymentState,
  | 'currency'
  | 'creditCents'
  | 'totalCents'
  | 'taxCents'
  | 'refundedCents'
  | 'disputedCents'
  | 'feeCents'
  | 'paymentIntent'
>;

function money(
  id: string,
  { currency, total, tax }: { currency: string; total: number; tax: number },
  intents: readonly IntentFacts[],
  notes: readonly CreditNote[],
  creditedBefore: number,
): Money {
  if (tax > total) throw unexpected(`read ${id}`, 'the taxes exceed the total');
  const charges = intents.flatMap(({ intent }) => intent.latest_charge ?? []);
  if (charges.some((one) => one.currency !== currency)) throw unexpected(`read ${id}`, 'two currencies');
  const disputes = intents.flatMap((one) => one.disputes);
  const disputed = intents.flatMap((facts) => facts.disputes.map((one) => disputedCents(one, facts.intent)));
  const refunds = intents.flatMap((one) => one.refunds).filter(({ status }) => !isUndone(status));
  const refunded = sum(refunds.map(({ amount }) => amount)) + sum(notes.map(creditedCents)) + creditedBefore;
  const paying = intents.find(({ intent }) => intent.status === 'succeeded') ?? intents[0];
  return {
    currency,
    totalCents: total,
    taxCents: tax,
    creditCents: total - tax,
    refundedCents: Math.min(total, refunded),
    disputedCents: Math.min(total, sum(disputed)),
    feeCents: feeOf(currency, charges, disputes),
    paymentIntent: paying?.intent.id ?? null,
  };
}

/** A refund that did not happen. One under way counts: the money is leaving. */
function isUndone(status: string | null): boolean {
  return status === 'failed' || status === 'canceled';
}

/** Amount that a credit note returned otherwise than by refunds, which are counted themselves. */
function creditedCents({ status, post_payment_amount: amount, refunds }: CreditNote): number {
  if (status === 'void') return 0;
  return Math.max(0, amount - sum(refunds.map(({ amount_refunded }) => amount_refunded)));
}

function disputedCents({ status, amount, currency }: Dispute, { latest_charge: disputed }: PaymentIntent): number {
  if (status === 'won' || status === 'prevented' || status.startsWith('warning_')) return 0;
  // The bank's currency may differ: then the dispute counts as one of the whole charge.
  return disputed != null && currency !== disputed.currency ? disputed.amount : amount;
}

/** Null when a charge has no fee yet, or one in another currency. */
function feeOf(currency: string, charges: readonly Charge[], disputes: readonly Dispute[]): number | null {
  const ofCharges = charges.map(({ balance_transaction: transaction }) => transaction ?? null);
  const ofDisputes = disputes.flatMap(({ balance_transactions: transactions }) => transactions);
  if (charges.length === 0 || ofCharges.includes(null)) return null;
  const all = [...ofCharges, ...ofDisputes].filter((transaction) => transaction !== null);
  return all.every((transaction) => transaction.currency === currency) ? sum(all.map(({ fee }) => fee)) : null;
}

function receiptOf(intents: readonly IntentFacts[]): string | null {
  return (
    intents.find(({ intent }) => intent.latest_charge?.receipt_url != null)?.intent.latest_charge?.receipt_url ?? null
  );
}

function failureOf(intents: readonly IntentFacts[]): PaymentFailure {
  if (needsHolder(intents))
    return { code: 'authentication_required', message: 'Your bank wants you to confirm this payment.' };
  const error = intents.find(({ intent }) => intent.last_payment_error != null)?.intent.last_payment_error;
  return {
    code: error?.decline_code ?? error?.code ?? 'payment_failed',
    message: error?.message ?? 'The payment failed.',
  };
}

function finalizationFailure({ status, last_finalization_error: error }: Invoice): PaymentFailure | null {
  if (status !== 'draft' || error == null) return null;
  return {
    code: error.code ?? 'invoice_failed',
    message: 'The invoice could not be completed. Check your billing address in the payment portal.',
  };
}

function ourMetadata(metadata: Record<string, string>): PaymentState['metadata'] {
  return { payment: metadata[metadataNames.payment] ?? null, account: metadata[metadataNames.account] ?? null };
}

function sum(amounts: readonly number[]): number {
  const total = amounts.reduce((one, other) => one + other, 0);
  assert(Number.isSafeInteger(total) && (total === 0 || isWholeNumber(Math.abs(total))), 'sums of cents are exact');
  return total;
}
