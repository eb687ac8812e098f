// Invoices of the scripted Stripe: draft, open, paid, void; paid by a saved method, or by the holder on their page.

import {
  addIntent,
  addMethod,
  addRefund,
  attachMethod,
  attempt,
  type Card,
  declined,
  fail,
  succeed,
} from './collect.ts';
import {
  ApiError,
  type CreditNote,
  type Intent,
  type Invoice,
  type InvoicePayment,
  invalid,
  need,
  type StripeState,
} from './state.ts';

export type NewInvoice = Pick<Invoice, 'customer' | 'currency' | 'billing_reason' | 'parent' | 'metadata'> & {
  isTaxAutomatic: boolean;
};

export function addInvoice(state: StripeState, { isTaxAutomatic, ...wanted }: NewInvoice): Invoice {
  need(state.customers, wanted.customer);
  const invoice: Invoice = {
    ...state.common('in', 'invoice'),
    ...wanted,
    status: 'draft',
    collection_method: 'charge_automatically',
    auto_advance: wanted.parent !== null,
    subtotal: 0,
    total: 0,
    total_excluding_tax: 0,
    total_taxes: [],
    amount_due: 0,
    amount_paid: 0,
    amount_remaining: 0,
    starting_balance: 0,
    automatic_tax: { enabled: isTaxAutomatic },
    last_finalization_error: null,
    hosted_invoice_url: null,
    post_payment_credit_notes_amount: 0,
    pre_payment_credit_notes_amount: 0,
    lines: { object: 'list', data: [], has_more: false, url: '' },
  };
  state.invoices.set(invoice.id, invoice);
  state.emit('invoice.created', invoice);
  return invoice;
}

export function addLine(state: StripeState, invoice: Invoice, amount: number, description: string | null) {
  if (invoice.status !== 'draft') throw invalid('This invoice is no longer editable.', 'invoice_not_editable');
  const line = { ...state.common('il', 'line_item'), amount, currency: invoice.currency, description };
  invoice.lines.data.push(line);
  sumUp(state, invoice);
  return line;
}

function sumUp(state: StripeState, invoice: Invoice): void {
  const subtotal = invoice.lines.data.reduce((sum, { amount }) => sum + amount, 0);
  const tax = invoice.automatic_tax.enabled ? Math.round((Math.max(0, subtotal) * state.taxPercent) / 100) : 0;
  const due = Math.max(0, subtotal + tax);
  Object.assign(invoice, {
    subtotal,
    total: subtotal + tax,
    total_excluding_tax: subtotal,
    total_taxes: tax === 0 ? [] : [{ amount: tax, tax_behavior: 'exclusive' }],
    amount_due: due,
    amount_remaining: due,
  });
}

export function finalizeInvoice(state: StripeState, invoice: Invoice): Invoice {
  if (invoice.status !== 'draft') throw invalid('This invoice is already finalized.', 'invoice_not_editable');
  if (invoice.automatic_tax.enabled && need(state.customers, invoice.customer).address === null) {
    const message = "The customer's location isn't recognized.";
    invoice.last_finalization_error = { type: 'invalid_request_error', code: 'customer_tax_location_invalid', message };
    state.emit('invoice.finalization_failed', invoice);
    throw invalid(message, 'customer_tax_location_invalid');
  }
  invoice.status = 'open';
  invoice.last_finalization_error = null;
  invoice.hosted_invoice_url = `${state.origin}/invoices/${invoice.id}`;
  state.emit('invoice.finalized', invoice);
  if (invoice.amount_due === 0) {
    markPaid(state, invoice, null);
    return invoice;
  }
  const { amount_due: amount, currency, customer } = invoice;
  const intent = addIntent(state, { amount, currency, customer, metadata: {} });
  linkPayment(state, invoice, intent);
  return invoice;
}

export function linkPayment(state: StripeState, invoice: Invoice, intent: Intent): InvoicePayment {
  const payment: InvoicePayment = {
    ...state.common('inpay', 'invoice_payment'),
    invoice: invoice.id,
    status: 'open',
    is_default: true,
    amount_requested: intent.amount,
    amount_paid: null,
    currency: invoice.currency,
    payment: { type: 'payment_intent', payment_intent: intent.id },
  };
  state.invoicePayments.set(payment.id, payment);
  return payment;
}

export function paymentsOf(state: StripeState, invoice: Invoice): InvoicePayment[] {
  return [...state.invoicePayments.values()].filter((payment) => payment.invoice === invoice.id);
}

export function intentOf(state: StripeState, invoice: Invoice): Intent {
  const payment = paymentsOf(state, invoice).find(({ is_default: isDefault }) => isDefault);
  return need(state.intents, payment?.payment.payment_intent);
}

/** Called after the intent succeeded. */
export function markPaid(state: StripeState, invoice: Invoice, payment: InvoicePayment | null): void {
  if (payment !== null) {
    payment.status = 'paid';
    payment.amount_paid = payment.amount_requested;
    state.emit('invoice_payment.paid', payment);
  }
  invoice.status = 'paid';
  invoice.amount_paid = invoice.amount_due;
  invoice.amount_remaining = 0;
  state.emit('invoice.paid', invoice);
  state.emit('invoice.payment_succeeded', invoice);
}

/** Charges a saved method. Throws the API's error when it is declined, after the invoice has changed. */
export function payInvoice(
  state: StripeState,
  invoice: Invoice,
  methodId: string | null,
  isOffSession: boolean,
): Invoice {
  if (invoice.status === 'paid') throw invalid('Invoice is already paid', 'invoice_already_paid');
  if (invoice.status !== 'open') throw invalid(`This invoice is ${invoice.status}.`, 'invoice_not_open');
  const customer = need(state.customers, invoice.customer);
  const chosen = methodId ?? customer.invoice_settings.default_payment_method;
  const method = need(state.methods, chosen);
  if (method.customer !== customer.id) throw invalid('The payment method does not belong to the customer.');
  const intent = intentOf(state, invoice);
  if (intent.status === 'processing')
    throw invalid('A payment of this invoice is processing.', 'payment_intent_unexpected_state');
  const outcome = attempt(state, intent, method, { isOffSession });
  if (outcome === 'delay') return invoice;
  if (outcome === 'succeed') {
    completeIntent(state, intent);
    return invoice;
  }
  if (outcome === 'decline') {
    state.emit('invoice.payment_failed', invoice);
    throw declined(intent);
  }
  state.emit('invoice.payment_action_required', invoice);
  state.emit('invoice.payment_failed', invoice);
  const message = 'This payment requires additional user action before it can be completed successfully.';
  throw new ApiError(402, { type: 'card_error', code: 'invoice_payment_intent_requires_action', message });
}

/** The holder pays on the page of the invoice. */
export function payHostedInvoice(state: StripeState, invoiceId: string, card: Card = 'good'): Invoice {
  const invoice = need(state.invoices, invoiceId);
  if (invoice.status !== 'open') throw invalid(`This invoice is ${invoice.status}.`);
  const intent = intentOf(state, invoice);
  const method = addMethod(state, card, null);
  const outcome = attempt(state, intent, method, { isOffSession: false, isConfirmed: true });
  if (outcome === 'succeed') {
    attachMethod(state, method, invoice.customer);
    completeIntent(state, intent);
  }
  if (outcome === 'decline') state.emit('invoice.payment_failed', invoice);
  return invoice;
}

/** Marks what the intent paid for. */
export function completeIntent(state: StripeState, intent: Intent): void {
  for (const payment of state.invoicePayments.values()) {
    if (payment.payment.payment_intent !== intent.id || payment.status !== 'open') continue;
    const invoice = need(state.invoices, payment.invoice);
    if (invoice.status === 'open') markPaid(state, invoice, payment);
  }
}

/** A bank debit that was processing ends. `late`: it had succeeded before. */
export function settleBankDebit(state: StripeState, intentId: string, isPaid: boolean): void {
  const intent = need(state.intents, intentId);
  if (intent.status !== 'processing') throw invalid('This payment is not processing.');
  if (isPaid) succeed(state, intent);
  else fail(state, intent, 'payment_method_provider_decline', 'insufficient_funds');
  if (isPaid) completeIntent(state, intent);
  for (const session of state.sessions.values()) {
    if (session.payment_intent !== intentId) continue;
    session.payment_status = isPaid ? 'paid' : 'unpaid';
    state.emit(`checkout.session.async_payment_${isPaid ? 'succeeded' : 'failed'}`, session);
  }
  for (const payment of state.invoicePayments.values())
    if (payment.payment.payment_intent === intentId && !isPaid)
      state.emit('invoice.payment_failed', need(state.invoices, payment.invoice));
}

export function voidInvoice(state: StripeState, invoice: Invoice): Invoice {
  if (invoice.status !== 'open' && invoice.status !== 'uncollectible')
    throw invalid(`You can only void an open invoice; this one is ${invoice.status}.`, 'invoice_not_open');
  const intent = intentOf(state, invoice);
  if (intent.status === 'processing')
    throw invalid('A payment of this invoice is processing.', 'payment_intent_unexpected_state');
  intent.status = 'canceled';
  invoice.status = 'void';
  for (const payment of paymentsOf(state, invoice)) payment.status = 'canceled';
  state.emit('payment_intent.canceled', intent);
  state.emit('invoice.voided', invoice);
  return invoice;
}

export function deleteInvoice(state: StripeState, invoice: Invoice) {
  if (invoice.status !== 'draft') throw invalid('You can only delete draft invoices.', 'invoice_not_editable');
  state.invoices.delete(invoice.id);
  state.emit('invoice.deleted', invoice);
  return { id: invoice.id, object: 'invoice', deleted: true };
}

/** A credit note for a paid invoice: by a refund, or into the customer's balance at Stripe. */
export function addCreditNote(
  state: StripeState,
  invoiceId: string,
  amount: number,
  by: 'refund' | 'balance',
): CreditNote {
  const invoice = need(state.invoices, invoiceId);
  if (invoice.status !== 'paid') throw invalid('This invoice is not paid.');
  if (amount > invoice.total - invoice.post_payment_credit_notes_amount) throw invalid('The amount is too large.');
  const payment = paymentsOf(state, invoice).find(({ status }) => status === 'paid');
  const refund = by === 'refund' ? addRefund(state, payment?.payment.payment_intent ?? '', amount) : null;
  const note: CreditNote = {
    ...state.common('cn', 'credit_note'),
    invoice: invoiceId,
    customer: invoice.customer,
    currency: invoice.currency,
    status: 'issued',
    amount,
    post_payment_amount: amount,
    pre_payment_amount: 0,
    refunds: refund === null ? [] : [{ amount_refunded: amount, refund: refund.id, type: 'refund' }],
  };
  state.creditNotes.set(note.id, note);
  invoice.post_payment_credit_notes_amount += amount;
  if (by === 'balance') need(state.customers, invoice.customer).balance -= amount;
  state.emit('credit_note.created', note);
  return note;
}

export function voidCreditNote(state: StripeState, noteId: string): CreditNote {
  const note = need(state.creditNotes, noteId);
  if (note.status === 'void' || note.refunds.length > 0) throw invalid('This credit note cannot be voided.');
  note.status = 'void';
  const invoice = need(state.invoices, note.invoice);
  invoice.post_payment_credit_notes_amount -= note.post_payment_amount;
  need(state.customers, invoice.customer).balance += note.post_payment_amount;
  state.emit('credit_note.voided', note);
  return note;
}
