// The objects of a scripted Stripe: what it stores, as its API shows them. Amounts are cents, times are seconds.

import { randomBytes } from 'node:crypto';

type Metadata = Record<string, string>;

export interface Address {
  country: string;
}

export interface Customer {
  id: string;
  object: 'customer';
  created: number;
  livemode: boolean;
  name: string | null;
  email: string | null;
  address: Address | null;
  balance: number;
  metadata: Metadata;
  invoice_settings: { default_payment_method: string | null };
  deleted?: true;
}

/** How a card or account answers: at once, later, or never. `off_session` applies when the holder is absent. */
export interface Behaviour {
  onSession: Outcome;
  offSession: Outcome;
}
export type Outcome = 'succeed' | 'decline' | 'authenticate' | 'delay';

export interface PaymentMethod {
  id: string;
  object: 'payment_method';
  created: number;
  livemode: boolean;
  type: 'card' | 'us_bank_account';
  customer: string | null;
  card?: { brand: string; last4: string; exp_year: number; exp_month: number };
  us_bank_account?: { bank_name: string; last4: string };
}

export interface Intent {
  id: string;
  object: 'payment_intent';
  created: number;
  livemode: boolean;
  amount: number;
  amount_received: number;
  currency: string;
  customer: string | null;
  status: 'requires_payment_method' | 'requires_action' | 'processing' | 'succeeded' | 'canceled';
  latest_charge: string | null;
  last_payment_error: { type: string; code: string; decline_code?: string; message: string } | null;
  payment_method: string | null;
  metadata: Metadata;
}

export interface BalanceTransaction {
  id: string;
  object: 'balance_transaction';
  amount: number;
  fee: number;
  currency: string;
}

export interface Charge {
  id: string;
  object: 'charge';
  created: number;
  livemode: boolean;
  amount: number;
  amount_refunded: number;
  currency: string;
  customer: string | null;
  status: 'succeeded' | 'pending' | 'failed';
  paid: boolean;
  refunded: boolean;
  disputed: boolean;
  payment_intent: string;
  payment_method: string | null;
  receipt_url: string | null;
  balance_transaction: string | null;
  failure_code: string | null;
  metadata: Metadata;
}

export interface Refund {
  id: string;
  object: 'refund';
  created: number;
  livemode: boolean;
  amount: number;
  currency: string;
  charge: string;
  payment_intent: string;
  status: 'pending' | 'succeeded' | 'failed' | 'canceled';
}

export interface Dispute {
  id: string;
  object: 'dispute';
  created: number;
  livemode: boolean;
  amount: number;
  currency: string;
  charge: string;
  payment_intent: string;
  reason: string;
  status: 'needs_response' | 'won' | 'lost' | 'warning_needs_response' | 'warning_closed' | 'prevented';
  balance_transactions: BalanceTransaction[];
}

export interface Session {
  id: string;
  object: 'checkout.session';
  created: number;
  livemode: boolean;
  mode: 'payment' | 'subscription';
  status: 'open' | 'complete' | 'expired';
  payment_status: 'paid' | 'unpaid' | 'no_payment_required';
  currency: string;
  amount_subtotal: number;
  amount_total: number;
  total_details: { amount_discount: number; amount_shipping: number; amount_tax: number };
  automatic_tax: { enabled: boolean };
  customer: string;
  customer_update: { address?: string };
  payment_intent: string | null;
  subscription: string | null;
  invoice: string | null;
  success_url: string;
  cancel_url: string | null;
  url: string | null;
  expires_at: number;
  metadata: Metadata;
  /** Facts that the API does not show. */
  hidden: {
    description: string;
    price: string | null;
    savesMethod: boolean;
    intentMetadata: Metadata;
    subscriptionMetadata: Metadata;
    invoiceMetadata: Metadata | null;
  };
}

export interface InvoiceLine {
  id: string;
  object: 'line_item';
  amount: number;
  currency: string;
  description: string | null;
}

export interface Invoice {
  id: string;
  object: 'invoice';
  created: number;
  livemode: boolean;
  status: 'draft' | 'open' | 'paid' | 'void' | 'uncollectible';
  billing_reason: 'manual' | 'subscription_create' | 'subscription_cycle' | 'subscription_update';
  collection_method: 'charge_automatically';
  auto_advance: boolean;
  currency: string;
  customer: string;
  subtotal: number;
  total: number;
  total_excluding_tax: number;
  total_taxes: { amount: number; tax_behavior: 'exclusive' }[];
  amount_due: number;
  amount_paid: number;
  amount_remaining: number;
  starting_balance: number;
  automatic_tax: { enabled: boolean };
  last_finalization_error: { type: string; code: string; message: string } | null;
  parent: {
    type: 'subscription_details';
    subscription_details: { subscription: string; metadata: Metadata };
  } | null;
  hosted_invoice_url: string | null;
  post_payment_credit_notes_amount: number;
  pre_payment_credit_notes_amount: number;
  metadata: Metadata;
  lines: { object: 'list'; data: InvoiceLine[]; has_more: false; url: string };
}

export interface InvoicePayment {
  id: string;
  object: 'invoice_payment';
  created: number;
  livemode: boolean;
  invoice: string;
  status: 'open' | 'paid' | 'canceled';
  is_default: boolean;
  amount_requested: number;
  amount_paid: number | null;
  currency: string;
  payment: { type: 'payment_intent'; payment_intent: string };
}

export interface CreditNote {
  id: string;
  object: 'credit_note';
  created: number;
  livemode: boolean;
  invoice: string;
  customer: string;
  currency: string;
  status: 'issued' | 'void';
  amount: number;
  post_payment_amount: number;
  pre_payment_amount: number;
  refunds: { amount_refunded: number; refund: string; type: 'refund' }[];
}

export interface Price {
  id: string;
  object: 'price';
  created: number;
  livemode: boolean;
  active: boolean;
  currency: string;
  unit_amount: number | null;
  product: string;
  recurring: { interval: 'day' | 'week' | 'month' | 'year'; interval_count: number; usage_type: 'licensed' } | null;
}

export interface Subscription {
  id: string;
  object: 'subscription';
  created: number;
  livemode: boolean;
  status: 'incomplete' | 'active' | 'past_due' | 'unpaid' | 'canceled';
  customer: string;
  currency: string;
  start_date: number;
  billing_cycle_anchor: number;
  cancel_at: number | null;
  cancel_at_period_end: boolean;
  canceled_at: number | null;
  ended_at: number | null;
  default_payment_method: string | null;
  latest_invoice: string | null;
  pending_update: {
    expires_at: number;
    billing_cycle_anchor: number | null;
    subscription_items: { id: string; price: string }[];
  } | null;
  schedule: string | null;
  automatic_tax: { enabled: boolean };
  metadata: Metadata;
  items: {
    object: 'list';
    data: {
      id: string;
      object: 'subscription_item';
      price: Price;
      quantity: number;
      current_period_start: number;
      current_period_end: number;
    }[];
    has_more: false;
    url: string;
  };
  /** Attempts to collect the invoice of a renewal, and when the next one is. */
  hidden: { attempts: number; nextAttempt: number | null };
}

export interface Schedule {
  id: string;
  object: 'subscription_schedule';
  created: number;
  livemode: boolean;
  status: 'not_started' | 'active' | 'completed' | 'released' | 'canceled';
  customer: string;
  subscription: string | null;
  released_subscription: string | null;
  end_behavior: 'release' | 'cancel';
  current_phase: { start_date: number; end_date: number } | null;
  phases: { start_date: number; end_date: number; items: { price: string; quantity: number }[] }[];
}

export interface StripeEvent {
  id: string;
  object: 'event';
  api_version: string;
  created: number;
  livemode: boolean;
  type: string;
  pending_webhooks: number;
  data: { object: { id: string; object: string } };
}

export type StripeObject =
  | Customer
  | PaymentMethod
  | Intent
  | BalanceTransaction
  | Charge
  | Refund
  | Dispute
  | Session
  | Invoice
  | InvoicePayment
  | CreditNote
  | Price
  | Subscription
  | Schedule;

/** An error as the API answers it. */
export class ApiError extends Error {
  readonly status: number;
  readonly body: { type: string; code?: string; decline_code?: string; message: string; param?: string };
  /** An error of parameters is not stored under the idempotency key. */
  readonly isStored: boolean;
  constructor(status: number, body: ApiError['body'], isStored = true) {
    super(body.message);
    this.status = status;
    this.body = body;
    this.isStored = isStored;
  }
}

export function invalid(message: string, code?: string, status = 400): ApiError {
  return new ApiError(status, { type: 'invalid_request_error', message, ...(code === undefined ? {} : { code }) });
}

export function missing(id: string): ApiError {
  return invalid(`No such object: '${id}'`, 'resource_missing', 404);
}

export class StripeState {
  readonly isLive: boolean;
  readonly #nowMs: () => number;
  #shiftMs = 0;
  #count = 0;
  readonly #salt: string;
  /** Origin of the pages: sessions, invoices, receipts. */
  origin = 'https://stripe.test';
  /** Percent of every taxed amount. */
  taxPercent = 10;
  /** False: a charge gets its balance transaction, and so its fee, with `settleFees`. */
  hasFeesAtOnce = true;

  readonly customers = new Map<string, Customer>();
  readonly methods = new Map<string, PaymentMethod>();
  readonly behaviours = new Map<string, Behaviour>();
  readonly intents = new Map<string, Intent>();
  readonly charges = new Map<string, Charge>();
  readonly transactions = new Map<string, BalanceTransaction>();
  readonly refunds = new Map<string, Refund>();
  readonly disputes = new Map<string, Dispute>();
  readonly sessions = new Map<string, Session>();
  readonly invoices = new Map<string, Invoice>();
  readonly invoicePayments = new Map<string, InvoicePayment>();
  readonly creditNotes = new Map<string, CreditNote>();
  readonly prices = new Map<string, Price>();
  readonly subscriptions = new Map<string, Subscription>();
  readonly schedules = new Map<string, Schedule>();
  /** All events, oldest first. */
  readonly events: StripeEvent[] = [];
  /** Called with every new event. */
  onEvent: (event: StripeEvent) => void = () => {};

  constructor(isLive: boolean, nowMs: () => number) {
    this.isLive = isLive;
    this.#nowMs = nowMs;
    this.#salt = randomBytes(4).toString('hex');
  }

  /** Seconds since 1970. */
  now(): number {
    return Math.floor((this.#nowMs() + this.#shiftMs) / 1000);
  }

  /** Moves the clock; `advance` of billing.ts also does what falls due. */
  shift(ms: number): void {
    this.#shiftMs += ms;
  }

  newId(prefix: string): string {
    return `${prefix}_${this.isLive ? 'live' : 'test'}${this.#salt}${String(++this.#count).padStart(8, '0')}`;
  }

  /** Fields of every new object. */
  common<Kind extends string>(prefix: string, object: Kind) {
    return { id: this.newId(prefix), object, created: this.now(), livemode: this.isLive };
  }

  /** Stores an event with a copy of the object as it is now. */
  emit(type: string, object: StripeObject): StripeEvent {
    const event: StripeEvent = {
      ...this.common('evt', 'event'),
      api_version: '2026-10-28.endive',
      type,
      pending_webhooks: 1,
      data: { object: structuredClone(withoutHidden(object)) },
    };
    this.events.push(event);
    this.onEvent(event);
    return event;
  }

  /** Finds any object by its id, for expansion. */
  find(id: string): StripeObject | undefined {
    for (const objects of this.#all()) {
      const found = objects.get(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #all(): Map<string, StripeObject>[] {
    const { customers, methods, intents, charges, transactions, refunds, disputes } = this;
    const { sessions, invoices, prices, subscriptions, schedules } = this;
    const all = [charges, transactions, intents, invoices, methods, sessions, customers, refunds, disputes];
    return [...all, prices, subscriptions, schedules] as Map<string, StripeObject>[];
  }
}

export function withoutHidden<Value extends object>(object: Value): Omit<Value, 'hidden'> {
  const { hidden: _, ...shown } = object as Value & { hidden?: unknown };
  return shown as Omit<Value, 'hidden'>;
}

/** The object of that id, or the API's 404. */
export function need<Value>(objects: Map<string, Value>, id: string | undefined | null): Value {
  const found = id == null ? undefined : objects.get(id);
  if (found === undefined) throw missing(String(id));
  return found;
}
