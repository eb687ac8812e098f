// A recharge: an invoice that is charged to a saved method without the holder. Each step has its own idempotency key,
// so that a recharge that is called again continues where it stopped.

import { bounds } from '../../config/config.ts';
import type { NewRecharge, PaymentFailure, PaymentState } from '../provider.ts';
import { type StripeCalls, StripeRefusal } from './call-stripe.ts';
import { metadataNames } from './checkout.ts';
import { stateOfInvoice } from './payment-state.ts';
import { type Invoice, invoice, listOf, withId } from './read-objects.ts';
import { ignoreRefusal, readInvoice, readPayment, voidInvoice } from './read-payments.ts';

export async function startRecharge(calls: StripeCalls, recharge: NewRecharge, nowMs: number): Promise<PaymentState> {
  const created = await findOrCreate(calls, recharge, nowMs);
  const source = created.id;
  const read = async () => (await readPayment(calls, source)) ?? failedState(created, DELETED);
  // An answer that is repeated under an idempotency key is older than the invoice.
  const present = await readInvoice(calls, source);
  const finalized = present?.status === 'draft' ? await finalize(calls, recharge, present, nowMs) : null;
  if (finalized !== null && 'failure' in finalized) return abandon(calls, await read(), finalized.failure);
  // Right after finalizing, no payment was tried.
  const before = finalized === null ? await read() : stateOfInvoice(finalized.invoice, [], []);
  if (before.status === 'pending') {
    if (before.creditCents !== recharge.amountCents) return abandon(calls, before, WRONG_AMOUNT);
    await pay(calls, recharge, source, nowMs);
  }
  const state = await read();
  return state.status === 'failed' && state.actionUrl === null ? abandon(calls, state, state.failure) : state;
}

const DELETED: PaymentFailure = { code: 'invoice_failed', message: 'The invoice could not be completed.' };
const WRONG_AMOUNT: PaymentFailure = { code: 'amount_mismatch', message: 'The invoice has a different amount.' };

/** Voids the invoice, so that it cannot be paid later. Returns a failed state, or that of a payment after all. */
async function abandon(calls: StripeCalls, state: PaymentState, failure: PaymentFailure | null): Promise<PaymentState> {
  await voidInvoice(calls, state.source).catch(ignoreRefusal);
  const last = await readPayment(calls, state.source);
  return last?.status === 'paid' ? last : { ...(last ?? state), status: 'failed', failure, actionUrl: null };
}

function failedState(created: Invoice, failure: PaymentFailure): PaymentState {
  return { ...stateOfInvoice(created, [], []), status: 'failed', failure, actionUrl: null };
}

/** Stripe forgets idempotency keys after a day; then the invoice is looked for. */
async function findOrCreate(calls: StripeCalls, recharge: NewRecharge, nowMs: number): Promise<Invoice> {
  const { payment, account, customer, description, isTaxAutomatic, createdAtMs } = recharge;
  if (nowMs - createdAtMs > bounds.stripeKeysKeptMs) {
    const found = await findInvoice(calls, recharge);
    if (found !== null) return found;
  }
  return calls
    .ask('create an invoice', invoice, (client) =>
      client.invoices.create(
        {
          customer,
          currency: 'usd',
          collection_method: 'charge_automatically',
          auto_advance: false,
          pending_invoice_items_behavior: 'exclude',
          automatic_tax: { enabled: isTaxAutomatic },
          description,
          metadata: { [metadataNames.payment]: payment, [metadataNames.account]: account },
        },
        { idempotencyKey: `${payment}:invoice` },
      ),
    )
    .catch(async (error: unknown) => {
      // The parameters of the first call were others, such as an older setting of taxes.
      if (!(error instanceof StripeRefusal) || error.stripeCode !== 'StripeIdempotencyError') throw error;
      const found = await findInvoice(calls, recharge);
      if (found === null) throw error;
      return found;
    });
}

async function findInvoice(
  calls: StripeCalls,
  { customer, payment, createdAtMs }: NewRecharge,
): Promise<Invoice | null> {
  const created = { gte: Math.floor(createdAtMs / 1000) - bounds.stripeClockSecondsMax };
  const { data } = await calls.ask('find an invoice', listOf(invoice), (client) =>
    client.invoices.list({ customer, created, limit: bounds.stripePageRows }),
  );
  return data.find(({ metadata }) => metadata[metadataNames.payment] === payment) ?? null;
}

/** Adds the only line and finalizes. A failure says why the invoice cannot be completed, as without an address for taxes. */
async function finalize(
  calls: StripeCalls,
  recharge: NewRecharge,
  { id, total }: Invoice,
  nowMs: number,
): Promise<{ invoice: Invoice } | { failure: PaymentFailure }> {
  const { payment, customer, amountCents, description } = recharge;
  try {
    if (total === 0)
      await calls.ask('add a line to an invoice', withId, (client) =>
        client.invoiceItems.create(
          { customer, invoice: id, amount: amountCents, currency: 'usd', description, tax_behavior: 'exclusive' },
          { idempotencyKey: `${payment}:line` },
        ),
      );
    const idempotencyKey = stepKey(recharge, 'finalize', nowMs);
    const finalized = await calls.ask('finalize an invoice', invoice, (client) =>
      client.invoices.finalizeInvoice(id, { auto_advance: false }, { idempotencyKey }),
    );
    return { invoice: finalized };
  } catch (error) {
    if (!(error instanceof StripeRefusal) || error.fault !== 'refused') throw error;
    // Another node may have finalized it meanwhile.
    const present = await readInvoice(calls, id);
    if (present !== null && present.status !== 'draft') return { invoice: present };
    const message = 'The invoice could not be completed. Check your billing address in the payment portal.';
    return { failure: { code: error.stripeCode, message } };
  }
}

/** A declined payment is an error of the call, too; the state that is read afterward has the reason. */
async function pay(calls: StripeCalls, recharge: NewRecharge, source: string, nowMs: number): Promise<void> {
  const idempotencyKey = stepKey(recharge, 'pay', nowMs);
  await calls
    .ask('pay an invoice', withId, (client) =>
      client.invoices.pay(source, { off_session: true, payment_method: recharge.method }, { idempotencyKey }),
    )
    .catch(ignoreRefusal);
}

/**
 * The key of a step that an invoice takes only once. It changes with time, because Stripe repeats even an internal error
 * under one key for a day.
 */
function stepKey({ payment, createdAtMs }: NewRecharge, step: string, nowMs: number): string {
  return `${payment}:${step}:${Math.floor((nowMs - createdAtMs) / bounds.stripeStepKeyMs)}`;
}
