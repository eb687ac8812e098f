// Reads payments with everything that belongs to them: the session or invoice, its payment intents and charges, refunds,
// disputes, credit notes and fees.

import type { z } from 'zod';
import { bounds } from '../../config/config.ts';
import type { PaymentState } from '../provider.ts';
import type { StripeCalls } from './call-stripe.ts';
import { StripeRefusal, unexpected } from './call-stripe.ts';
import { metadataNames, nullIfMissing } from './checkout.ts';
import { type IntentFacts, stateOfInvoice, stateOfSession } from './payment-state.ts';
import {
  chargeOfIntent,
  creditNote,
  dispute,
  type Invoice,
  invoice,
  invoiceOfPayment,
  listOf,
  type PaymentIntent,
  paymentIntent,
  refund,
  type Session,
  session,
  withId,
} from './read-objects.ts';

const OF_CHARGE = ['latest_charge.balance_transaction', 'latest_charge.refunds'];
const OF_SESSION = ['invoice', ...OF_CHARGE.map((path) => `payment_intent.${path}`)];

export async function readPayment(calls: StripeCalls, source: string): Promise<PaymentState | null> {
  if (source.startsWith('cs_')) {
    const found = await readSession(calls, source);
    return found === null ? null : completeSession(calls, found);
  }
  if (!source.startsWith('in_')) return null;
  const found = await readInvoice(calls, source);
  return found === null ? null : completeInvoice(calls, found);
}

export async function cancelPayment(calls: StripeCalls, source: string): Promise<PaymentState | null> {
  const state = await readPayment(calls, source);
  if (state === null || state.status === 'paid' || state.status === 'canceled') return state;
  // Refused if the payment was completed meanwhile: then the state says so.
  if (source.startsWith('in_')) await voidInvoice(calls, source).catch(ignoreRefusal);
  else
    await calls
      .ask('expire a Checkout session', withId, (client) => client.checkout.sessions.expire(source))
      .catch(ignoreRefusal);
  return readPayment(calls, source);
}

export async function refundPayment(calls: StripeCalls, source: string): Promise<void> {
  const state = await readPayment(calls, source);
  const intent = state?.paymentIntent ?? null;
  if (state?.status !== 'paid' || intent === null || state.refundedCents >= state.totalCents) return;
  const idempotencyKey = `${source}:refund:${state.refundedCents}`;
  await calls
    .ask('refund a payment', withId, (client) =>
      client.refunds.create({ payment_intent: intent, reason: 'duplicate' }, { idempotencyKey }),
    )
    .catch((error: unknown) => {
      if (!(error instanceof StripeRefusal && error.stripeCode === 'charge_already_refunded')) throw error;
    });
}

/** Voids an open invoice, or deletes a draft. */
export async function voidInvoice(calls: StripeCalls, source: string): Promise<void> {
  const found = await readInvoice(calls, source);
  if (found?.status === 'draft') await calls.ask('delete an invoice', withId, (client) => client.invoices.del(source));
  else if (found?.status === 'open')
    await calls.ask('void an invoice', withId, (client) => client.invoices.voidInvoice(source));
}

/** For `catch`: Stripe said no, and what it knows is read again. */
export function ignoreRefusal(error: unknown): null {
  if (error instanceof StripeRefusal && error.fault === 'refused') return null;
  throw error;
}

/** The reference is a payment intent, a charge, or an invoice that may be the receipt of a session. */
export async function findPayment(calls: StripeCalls, reference: string): Promise<string | null> {
  if (reference.startsWith('in_')) {
    const found = await readInvoice(calls, reference);
    if (found === null) return null;
    if (found.metadata[metadataNames.checkout] === undefined) return isOurs(found) ? found.id : null;
    const intent = intentIds(found)[0];
    return intent === undefined ? null : findByIntent(calls, intent);
  }
  if (reference.startsWith('pi_')) return findByIntent(calls, reference);
  if (!/^(?:ch|py)_/.test(reference)) return null;
  const found = await calls
    .ask('read a charge', chargeOfIntent, (client) => client.charges.retrieve(reference))
    .catch(nullIfMissing);
  const intent = found?.payment_intent;
  return intent == null ? null : findByIntent(calls, intent);
}

async function findByIntent(calls: StripeCalls, intent: string): Promise<string | null> {
  const sessions = await calls.ask('find a Checkout session', listOf(session), (client) =>
    client.checkout.sessions.list({ payment_intent: intent, limit: 1 }),
  );
  const found = sessions.data[0];
  if (found !== undefined) return found.metadata[metadataNames.payment] === undefined ? null : found.id;
  const payments = await calls.ask('find an invoice', listOf(invoiceOfPayment), (client) =>
    client.invoicePayments.list({ payment: { type: 'payment_intent', payment_intent: intent }, limit: 1 }),
  );
  const id = payments.data[0]?.invoice;
  const paidFor = id === undefined ? null : await readInvoice(calls, id);
  return paidFor !== null && isOurs(paidFor) ? paidFor.id : null;
}

/** Sessions, then invoices; each newest first, so that what is created meanwhile does not shift the pages. */
export async function* listPayments(
  calls: StripeCalls,
  { sinceMs, untilMs }: { sinceMs: number; untilMs: number },
): AsyncGenerator<PaymentState> {
  const created = { gte: Math.floor(sinceMs / 1000), lt: Math.ceil(untilMs / 1000) };
  const limit = bounds.stripePageRows;
  const sessions = listAll('list Checkout sessions', (starting_after) =>
    calls.ask('list Checkout sessions', listOf(session), (client) =>
      client.checkout.sessions.list({
        created,
        limit,
        expand: OF_SESSION.map((path) => `data.${path}`),
        ...starting_after,
      }),
    ),
  );
  yield* completeAll(sessions, (found) =>
    found.mode === 'payment' && found.metadata[metadataNames.payment] !== undefined
      ? completeSession(calls, found)
      : null,
  );
  const invoices = listAll('list invoices', (starting_after) =>
    calls.ask('list invoices', listOf(invoice), (client) =>
      client.invoices.list({ created, limit, expand: ['data.payments'], ...starting_after }),
    ),
  );
  yield* completeAll(invoices, (found) => (isOurs(found) ? completeInvoice(calls, found) : null));
}

/** Whether the invoice is of a recharge or subscription of this service; the receipt of a session is not. */
function isOurs({ metadata, parent }: Invoice): boolean {
  const ofSubscription = parent?.subscription_details?.metadata ?? {};
  return metadata[metadataNames.payment] !== undefined || ofSubscription[metadataNames.account] !== undefined;
}

async function* listAll<Row extends { id: string }>(
  what: string,
  readPage: (from: { starting_after?: string }) => Promise<{ data: Row[]; has_more: boolean }>,
): AsyncGenerator<Row[]> {
  let from = {};
  for (let page = 0; page < bounds.stripePagesMax; page++) {
    const { data, has_more: hasMore } = await readPage(from);
    yield data;
    const last = data.at(-1);
    if (!hasMore || last === undefined) return;
    from = { starting_after: last.id };
  }
  throw unexpected(what, `more than ${bounds.stripePagesMax * bounds.stripePageRows} rows; choose a shorter range`);
}

/** Completes a few at a time. */
async function* completeAll<Row>(
  pages: AsyncIterable<Row[]>,
  complete: (row: Row) => Promise<PaymentState> | null,
): AsyncGenerator<PaymentState> {
  for await (const rows of pages) {
    for (let from = 0; from < rows.length; from += bounds.stripeCompletedAtOnce) {
      const states = rows.slice(from, from + bounds.stripeCompletedAtOnce).map(complete);
      for (const state of await Promise.all(states)) if (state !== null) yield state;
    }
  }
}

function readSession(calls: StripeCalls, source: string): Promise<Session | null> {
  return calls
    .ask('read a Checkout session', session, (client) =>
      client.checkout.sessions.retrieve(source, { expand: OF_SESSION }),
    )
    .catch(nullIfMissing);
}

export async function readInvoice(calls: StripeCalls, source: string): Promise<Invoice | null> {
  const read = () =>
    calls.ask('read an invoice', invoice, (client) => client.invoices.retrieve(source, { expand: ['payments'] }));
  return read().catch(nullIfMissing);
}

async function completeSession(calls: StripeCalls, found: Session): Promise<PaymentState> {
  const intent = found.payment_intent;
  const facts = intent == null ? [] : [await completeIntent(calls, intent)];
  const receipt = found.invoice;
  const notes =
    receipt == null || receipt.post_payment_credit_notes_amount === 0 ? [] : await listNotes(calls, receipt.id);
  return stateOfSession(found, facts, notes);
}

async function completeInvoice(calls: StripeCalls, found: Invoice): Promise<PaymentState> {
  const facts = await Promise.all(intentIds(found).map((intent) => completeIntent(calls, intent)));
  const notes = found.post_payment_credit_notes_amount === 0 ? [] : await listNotes(calls, found.id);
  return stateOfInvoice(found, facts, notes);
}

/** The payments that paid the invoice, else the one that is to pay it. */
function intentIds({ payments }: Invoice): string[] {
  const all = payments?.data ?? [];
  const paid = all.filter(({ status }) => status === 'paid');
  const chosen = paid.length > 0 ? paid : all.filter(({ is_default: isDefault }) => isDefault).slice(0, 1);
  return chosen.slice(0, bounds.stripeIntentsOfInvoiceMax).flatMap(({ payment }) => payment.payment_intent ?? []);
}

/** Adds refunds and disputes. An expanded intent needs no call unless there is a dispute, or many refunds. */
async function completeIntent(calls: StripeCalls, given: PaymentIntent | string): Promise<IntentFacts> {
  const isRead = typeof given !== 'string' && given.latest_charge !== null;
  const intent = isRead ? given : await readIntent(calls, typeof given === 'string' ? given : given.id);
  const { id, latest_charge: charge } = intent;
  if (charge == null) return { intent, refunds: [], disputes: [] };
  const all = { payment_intent: id, limit: bounds.stripePageRows };
  const isShort = charge.refunds == null || charge.refunds.has_more;
  const refunds = isShort
    ? gather('list refunds', await calls.ask('list refunds', listOf(refund), (client) => client.refunds.list(all)))
    : (charge.refunds?.data ?? []);
  const disputes = charge.disputed
    ? gather('list disputes', await calls.ask('list disputes', listOf(dispute), (client) => client.disputes.list(all)))
    : [];
  return { intent, refunds, disputes };
}

function readIntent(calls: StripeCalls, id: string): Promise<PaymentIntent> {
  return calls.ask('read a payment intent', paymentIntent, (client) =>
    client.paymentIntents.retrieve(id, { expand: OF_CHARGE }),
  );
}

async function listNotes(calls: StripeCalls, source: string): Promise<z.infer<typeof creditNote>[]> {
  const found = await calls.ask('list credit notes', listOf(creditNote), (client) =>
    client.creditNotes.list({ invoice: source, limit: bounds.stripePageRows }),
  );
  return gather('list credit notes', found);
}

/** All rows of a list that is never longer than a page. */
function gather<Row>(what: string, { data, has_more: hasMore }: { data: Row[]; has_more: boolean }): Row[] {
  if (hasMore) throw unexpected(what, `one payment has more than ${bounds.stripePageRows}`);
  return data;
}
