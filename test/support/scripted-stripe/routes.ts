// The routes of the scripted Stripe that a payment service needs, each by method and path.

import { type Form, type FormValue, Listing } from './answer.ts';
import { addSession, expireSession } from './checkout.ts';
import { addRefund } from './collect.ts';
import {
  addInvoice,
  addLine,
  deleteInvoice,
  finalizeInvoice,
  payInvoice,
  paymentsOf,
  voidInvoice,
} from './invoices.ts';
import { ApiError, invalid, missing, need, type StripeState } from './state.ts';
import {
  addSchedule,
  cancelSubscription,
  releaseSchedule,
  updateSchedule,
  updateSubscription,
} from './subscriptions.ts';

type Route = (state: StripeState, form: Form, id: string) => object | Listing;

export const routes: Record<string, Route> = {
  'POST /v1/customers': (state, form) => {
    const customer = {
      ...state.common('cus', 'customer'),
      name: textOrNull(form['name']),
      email: textOrNull(form['email']),
      address: null,
      balance: 0,
      metadata: metadata(form['metadata']),
      invoice_settings: { default_payment_method: null },
    };
    state.customers.set(customer.id, customer);
    state.emit('customer.created', customer);
    return customer;
  },
  'GET /v1/customers/{id}': (state, _form, id) => {
    const found = need(state.customers, id);
    return found.deleted === true ? { id, object: 'customer', deleted: true } : found;
  },
  'GET /v1/customers/{id}/payment_methods': (state, _form, id) => {
    need(state.customers, id);
    return newestFirst([...state.methods.values()].filter(({ customer }) => customer === id));
  },

  'POST /v1/checkout/sessions': (state, form) => addSession(state, readSession(state, form)),
  'GET /v1/checkout/sessions/{id}': (state, _form, id) => need(state.sessions, id),
  'GET /v1/checkout/sessions': (state, form) => {
    const intent = form['payment_intent'];
    const all = [...state.sessions.values()];
    return newestFirst(intent === undefined ? all : all.filter((session) => session.payment_intent === intent));
  },
  'POST /v1/checkout/sessions/{id}/expire': (state, _form, id) => expireSession(state, id),
  'POST /v1/billing_portal/sessions': (state, form) => {
    const customer = need(state.customers, text(form, 'customer')).id;
    const id = state.newId('bps');
    const return_url = text(form, 'return_url');
    return { id, object: 'billing_portal.session', customer, return_url, url: `${state.origin}/portal/${customer}` };
  },

  'POST /v1/invoices': (state, form) =>
    addInvoice(state, {
      customer: text(form, 'customer'),
      currency: text(form, 'currency'),
      billing_reason: 'manual',
      parent: null,
      metadata: metadata(form['metadata']),
      isTaxAutomatic: isOn(form['automatic_tax']),
    }),
  'POST /v1/invoiceitems': (state, form) => {
    const invoice = need(state.invoices, text(form, 'invoice'));
    if (text(form, 'customer') !== invoice.customer) throw invalid('The invoice belongs to another customer.');
    return addLine(state, invoice, cents(form, 'amount'), textOrNull(form['description']));
  },
  'GET /v1/invoices/{id}': (state, _form, id) => need(state.invoices, id),
  'GET /v1/invoices': (state, form) => {
    const customer = form['customer'];
    const all = [...state.invoices.values()];
    return newestFirst(customer === undefined ? all : all.filter((invoice) => invoice.customer === customer));
  },
  'POST /v1/invoices/{id}/finalize': (state, _form, id) => finalizeInvoice(state, need(state.invoices, id)),
  'POST /v1/invoices/{id}/pay': (state, form, id) =>
    payInvoice(state, need(state.invoices, id), textOrNull(form['payment_method']), form['off_session'] === 'true'),
  'POST /v1/invoices/{id}/void': (state, _form, id) => voidInvoice(state, need(state.invoices, id)),
  'DELETE /v1/invoices/{id}': (state, _form, id) => deleteInvoice(state, need(state.invoices, id)),
  'GET /v1/invoice_payments': (state, form) => {
    const intent = member(form, 'payment')['payment_intent'];
    const all = [...state.invoicePayments.values()];
    const chosen = all.filter(({ payment }) => intent === undefined || payment.payment_intent === intent);
    const invoice = form['invoice'];
    return newestFirst(
      invoice === undefined
        ? chosen
        : chosen.filter((payment) => paymentsOf(state, need(state.invoices, String(invoice))).includes(payment)),
    );
  },

  'GET /v1/payment_intents/{id}': (state, _form, id) => need(state.intents, id),
  'GET /v1/charges/{id}': (state, _form, id) => need(state.charges, id),
  'GET /v1/refunds': (state, form) => ofIntent([...state.refunds.values()], form),
  'POST /v1/refunds': (state, form) => {
    const amount = form['amount'] === undefined ? null : cents(form, 'amount');
    return addRefund(state, text(form, 'payment_intent'), amount);
  },
  'GET /v1/disputes': (state, form) => ofIntent([...state.disputes.values()], form),
  'GET /v1/credit_notes': (state, form) =>
    newestFirst([...state.creditNotes.values()].filter(({ invoice }) => invoice === form['invoice'])),
  'GET /v1/prices/{id}': (state, _form, id) => need(state.prices, id),

  'GET /v1/subscriptions/{id}': (state, _form, id) => need(state.subscriptions, id),
  'GET /v1/subscriptions': (state, form) => {
    const all = [...state.subscriptions.values()].filter(({ status }) => status !== 'canceled');
    return newestFirst(all.filter(({ customer }) => form['customer'] === undefined || customer === form['customer']));
  },
  'POST /v1/subscriptions/{id}': (state, form, id) => {
    const [item] = Array.isArray(form['items']) ? (form['items'] as Form[]) : [];
    const cancels = form['cancel_at_period_end'];
    return updateSubscription(state, need(state.subscriptions, id), {
      price: textOrNull(item?.['price']),
      cancelsAtPeriodEnd: cancels === undefined ? null : cancels === 'true',
      proration: textOrNull(form['proration_behavior']),
      behaviour: textOrNull(form['payment_behavior']),
      isAnchoredNow: member(form, 'billing_cycle_anchor')['type'] === 'now',
    });
  },
  'DELETE /v1/subscriptions/{id}': (state, _form, id) => cancelSubscription(state, need(state.subscriptions, id)),
  'POST /v1/subscription_schedules': (state, form) =>
    addSchedule(state, need(state.subscriptions, text(form, 'from_subscription'))),
  'POST /v1/subscription_schedules/{id}': (state, form, id) => {
    const phases = (Array.isArray(form['phases']) ? form['phases'] : []) as Form[];
    return updateSchedule(state, need(state.schedules, id), phases.map(readPhase), text(form, 'end_behavior'));
  },
  'POST /v1/subscription_schedules/{id}/release': (state, _form, id) =>
    releaseSchedule(state, need(state.schedules, id)),
};

function readSession(state: StripeState, form: Form) {
  const mode = text(form, 'mode');
  if (mode !== 'payment' && mode !== 'subscription') throw invalid('Invalid mode');
  const lines = form['line_items'];
  const [line] = Array.isArray(lines) ? (lines as Form[]) : [];
  if (line === undefined) throw invalid('line_items is required', 'parameter_missing');
  const priceId = textOrNull(line['price']);
  const data = member(line, 'price_data');
  const price = priceId === null ? null : state.prices.get(priceId);
  if (price === undefined) throw missing(String(priceId));
  const intent = member(form, 'payment_intent_data');
  const receipt = member(form, 'invoice_creation');
  return {
    mode,
    customer: text(form, 'customer'),
    customer_update: member(form, 'customer_update') as { address?: string },
    success_url: text(form, 'success_url'),
    cancel_url: textOrNull(form['cancel_url']),
    metadata: metadata(form['metadata']),
    amount: (price === null ? cents(data, 'unit_amount') : (price.unit_amount ?? 0)) * Number(line['quantity'] ?? 1),
    currency: price === null ? text(data, 'currency') : price.currency,
    isTaxAutomatic: isOn(form['automatic_tax']),
    hidden: {
      description: String(member(data, 'product_data')['name'] ?? ''),
      price: priceId,
      savesMethod: intent['setup_future_usage'] === 'off_session',
      intentMetadata: metadata(intent['metadata']),
      subscriptionMetadata: metadata(member(form, 'subscription_data')['metadata']),
      invoiceMetadata: isOn(receipt) ? metadata(member(receipt, 'invoice_data')['metadata']) : null,
    },
  } as const;
}

function readPhase(phase: Form) {
  const [item] = phase['items'] as Form[];
  const duration = member(phase, 'duration');
  const seconds = (value: FormValue | undefined) => (value === undefined ? null : Number(value));
  return {
    price: text(item ?? {}, 'price'),
    start: seconds(phase['start_date']),
    end: seconds(phase['end_date']),
    duration:
      duration['interval'] === undefined
        ? null
        : { interval: String(duration['interval']), count: Number(duration['interval_count'] ?? 1) },
  };
}

function newestFirst<Row extends ConstructorParameters<typeof Listing>[0][number]>(rows: Row[]): Listing {
  return new Listing(rows.reverse());
}

function ofIntent<Row extends ConstructorParameters<typeof Listing>[0][number] & { payment_intent: string }>(
  rows: Row[],
  form: Form,
): Listing {
  const intent = form['payment_intent'];
  return newestFirst(intent === undefined ? rows : rows.filter((row) => row.payment_intent === intent));
}

/** A required text. */
function text(form: Form, name: string): string {
  const value = form[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new ApiError(
    400,
    {
      type: 'invalid_request_error',
      code: 'parameter_missing',
      message: `Missing required param: ${name}.`,
      param: name,
    },
    false,
  );
}

function textOrNull(value: FormValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function cents(form: Form, name: string): number {
  const value = text(form, name);
  if (!/^-?\d+$/.test(value)) throw invalid(`Invalid integer: ${value}`, 'parameter_invalid_integer');
  return Number(value);
}

function member(form: Form, name: string): Form {
  const value = form[name];
  return typeof value === 'object' && !Array.isArray(value) ? value : {};
}

function isOn(value: FormValue | undefined): boolean {
  return typeof value === 'object' && !Array.isArray(value) && value['enabled'] === 'true';
}

function metadata(value: FormValue | undefined): Record<string, string> {
  if (typeof value !== 'object' || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, String(member)]));
}
