// The interface of payment providers. Amounts are whole cents as the provider reports them; nothing here comes from a
// browser. Methods throw ProviderError, and may be called again with the same ids: they repeat no payment.

import { TurnpikeError } from '../errors.ts';

export interface PaymentProvider {
  /** As it is stored with payments. */
  readonly name: 'stripe';
  /** Creates the provider's record of an account, and returns its id. */
  createCustomer(customer: NewCustomer): Promise<string>;
  /** Opens a page of the provider on which the holder pays once. */
  startCheckout(checkout: NewCheckout): Promise<StartedCheckout>;
  /** The URL of a page of the provider with the customer's payment methods, receipts and subscriptions. */
  openPortal(customer: string, returnUrl: string): Promise<string>;
  /** The method that a recharge uses: the customer's default, else the newest saved one. */
  readSavedMethod(customer: string): Promise<SavedMethod | null>;
  /**
   * Charges a saved method without the holder. The state is `paid`, `pending` (the method takes days), or `failed`
   * with its `failure`; a failed invoice is voided unless the holder can pay it at `actionUrl`. After a crash, call
   * it again with the same recharge: it continues where it stopped.
   */
  startRecharge(recharge: NewRecharge): Promise<PaymentState>;
  /** Reads the present state; null if the provider has no such payment. */
  readPayment(source: string): Promise<PaymentState | null>;
  /** Ends a payment that is not paid yet, so that it never can be. Returns its state, which is `paid` if it was too late. */
  cancelPayment(source: string): Promise<PaymentState | null>;
  /** Returns what is left of a paid payment to its payer; a repeated call returns nothing more. */
  refundPayment(source: string): Promise<void>;
  /** The source of the payment that a reference of an event belongs to; null if it is none of this service. */
  findPayment(reference: string): Promise<string | null>;
  /** All payments of this service created in the range, newest first, with those of subscriptions. */
  listPayments(range: { sinceMs: number; untilMs: number }): AsyncIterable<PaymentState>;
  /** Verifies a webhook request and says what to look at. Throws ProviderError `event_invalid` for a forged or stale one. */
  readEvent(body: Uint8Array, headers: Headers, nowMs: number): Promise<ProviderEvent>;
  readonly subscriptions: SubscriptionProvider;
}

/** Subscriptions of plans. A plan is known to the provider by the id of its price. */
export interface SubscriptionProvider {
  /** The price as the provider bills it; null if there is none. */
  readPrice(price: string): Promise<PriceState | null>;
  /** Opens a page of the provider on which the holder subscribes. */
  start(subscription: NewSubscription): Promise<StartedCheckout>;
  /** Reads the present state; null if there is none. */
  read(subscription: string): Promise<SubscriptionState | null>;
  /** Those of a customer that have not ended. */
  list(customer: string): Promise<SubscriptionState[]>;
  /**
   * Changes the price: with `now`, a new period begins at once and is charged, less what is left of the present one, and
   * nothing changes until that is paid (`actionUrl` is where the holder pays, when the saved method failed); `period_end`
   * changes it for the next period.
   */
  change(change: SubscriptionChange): Promise<{ state: SubscriptionState; actionUrl: string | null }>;
  /** Ends it with its paid period, and drops a change planned for then. */
  cancel(subscription: string): Promise<SubscriptionState>;
  /** Undoes `cancel`, and a change planned for the end of the period. */
  resume(subscription: string): Promise<SubscriptionState>;
  /** Ends it at once, without a refund. */
  end(subscription: string): Promise<SubscriptionState>;
}

export interface NewCustomer {
  /** "acct_…" */
  account: string;
  name: string;
  email: string | null;
}

export interface NewCheckout {
  /** "pay_…", the id of the row that was stored before. */
  payment: string;
  account: string;
  customer: string;
  /** Credit to buy, without taxes. */
  amountCents: number;
  /** Text for the holder on the page and the receipt. */
  description: string;
  successUrl: string;
  cancelUrl: string;
  isTaxAutomatic: boolean;
  /** Saves the method for recharges. */
  savesMethod: boolean;
}

export interface StartedCheckout {
  source: string;
  /** Where the browser goes. */
  url: string;
}

export interface NewRecharge {
  payment: string;
  account: string;
  customer: string;
  /** The id of a SavedMethod. */
  method: string;
  amountCents: number;
  description: string;
  isTaxAutomatic: boolean;
  /** When the row of the payment was created. */
  createdAtMs: number;
}

export interface SavedMethod {
  id: string;
  /** "card", "us_bank_account" … */
  kind: string;
  /** "visa", or the bank's name. */
  brand: string | null;
  last4: string | null;
  expiresYear: number | null;
  expiresMonth: number | null;
}

export type PaymentStatus = 'pending' | 'paid' | 'failed' | 'canceled';

/** A payment as the provider knows it now. */
export interface PaymentState {
  /** The provider's id of the payment. */
  source: string;
  kind: 'checkout' | 'recharge' | 'subscription';
  status: PaymentStatus;
  /** Lower case; only "usd" may be credited. */
  currency: string;
  /** Price of what was bought, without taxes and after discounts. */
  creditCents: number;
  totalCents: number;
  taxCents: number;
  /** Refunded part of the total, with refunds under way and credit notes. */
  refundedCents: number;
  /** Disputed part of the total. Inquiries and disputes that were won do not count. */
  disputedCents: number;
  /** The provider's fees, when known. */
  feeCents: number | null;
  receiptUrl: string | null;
  /** The provider's id that refunds and disputes refer to. */
  paymentIntent: string | null;
  customer: string | null;
  subscription: string | null;
  /** Ids that this service wrote: "pay_…" and "acct_…". A subscription's invoice has no payment. */
  metadata: { payment: string | null; account: string | null };
  failure: PaymentFailure | null;
  /** Where the holder can still pay: the checkout page, or an invoice that needs authentication. */
  actionUrl: string | null;
}

/** Why a payment failed: the provider's code, such as "card_declined", and a sentence for the holder. */
export interface PaymentFailure {
  code: string;
  message: string;
}

/** A verified event. It only says what to read again; its own facts may be stale. */
export interface ProviderEvent {
  id: string;
  type: string;
  subject: EventSubject;
}

export type EventSubject =
  /** Read this payment; `payment` is the id in its metadata, if any. */
  | { kind: 'payment'; source: string; payment: string | null }
  /** Something that belongs to a payment, such as a refund: ask `findPayment(reference)` which. */
  | { kind: 'reference'; reference: string }
  | { kind: 'subscription'; subscription: string }
  /** The saved methods may have changed. */
  | { kind: 'customer'; customer: string }
  /** Nothing of this service. */
  | { kind: 'none' };

export interface NewSubscription {
  account: string;
  customer: string;
  /** The plan's name, for the metadata. */
  plan: string;
  price: string;
  successUrl: string;
  cancelUrl: string;
  isTaxAutomatic: boolean;
  /** The same for a repeated request, new for a new one. */
  idempotencyKey: string;
}

export interface SubscriptionChange {
  subscription: string;
  price: string;
  when: 'now' | 'period_end';
}

export interface PriceState {
  id: string;
  isActive: boolean;
  currency: string;
  /** Null for tiered and metered prices, which plans cannot have. */
  amountCents: number | null;
  interval: { unit: 'day' | 'week' | 'month' | 'year'; count: number } | null;
}

export interface SubscriptionState {
  id: string;
  /** `pending`: the first payment is outstanding. `past_due`: a renewal is not paid. */
  status: 'pending' | 'active' | 'past_due' | 'ended';
  customer: string;
  metadata: { account: string | null; plan: string | null };
  price: string;
  /** The price from the next period on, if it will change. */
  nextPrice: string | null;
  /** The beginning of its first period, or of the one that a change to another price began; periods follow it. */
  anchorMs: number;
  periodStartMs: number;
  periodEndMs: number;
  /** The end of the last period that is paid; null while `pending`. */
  paidUntilMs: number | null;
  /** When it will end, or ended; null if it renews. */
  endsAtMs: number | null;
  /** Its latest invoice, as a source for `readPayment`. */
  latestPayment: string | null;
}

/**
 * `unavailable`: no answer, or a temporary one; nothing is known about the outcome, try again. `refused`: the request
 * was not accepted, and repeating it will not help. `misconfigured`: the operator must correct the key or account.
 * `unexpected`: an answer that cannot be read. `event_invalid`: a webhook request that is not the provider's.
 */
export type ProviderFault = 'unavailable' | 'refused' | 'misconfigured' | 'unexpected' | 'event_invalid';

/** An error of a payment provider. Its message is for the client; `cause` is for operators and has no secrets. */
export class ProviderError extends TurnpikeError {
  static {
    ProviderError.prototype.name = 'ProviderError';
  }

  readonly fault: ProviderFault;

  constructor(fault: ProviderFault, message: string, cause: string) {
    super(codes[fault], message, { cause });
    this.fault = fault;
  }
}

const codes = {
  unavailable: 'payment_provider_unavailable',
  refused: 'payment_provider_refused',
  misconfigured: 'payment_provider_failed',
  unexpected: 'payment_provider_failed',
  event_invalid: 'payment_event_invalid',
} as const;
