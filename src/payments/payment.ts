// Payments and the billing facts of accounts as they are stored, and the store that keeps them.

import type { Nano } from '../base/money.ts';
import type { PaymentFailure, PaymentProvider, SavedMethod } from './provider.ts';

export const paymentKinds = ['checkout', 'auto_recharge', 'subscription'] as const;
export type PaymentKind = (typeof paymentKinds)[number];

/** Those after `canceled` are paid. */
export const paymentStatuses = [
  'pending',
  'failed',
  'canceled',
  'paid',
  'partially_refunded',
  'refunded',
  'disputed',
] as const;
export type StoredStatus = (typeof paymentStatuses)[number];

/** A payment as of the last time that the provider was asked. Amounts are nanodollars. */
export interface Payment {
  id: number;
  accountId: number;
  kind: PaymentKind;
  status: StoredStatus;
  /** 1 when it is created, and one more with each change. A change names the version that it is based on. */
  version: number;
  provider: PaymentProvider['name'];
  /** The provider's id; null until it is known. */
  source: string | null;
  customer: string;
  /** The subscription that it pays for; null for a recharge. */
  subscription: string | null;
  /** The amount asked for, without taxes: the most that is ever credited. */
  amount: Nano;
  /** The part that the journal has credited: payments less refunds and disputes. A subscription's pays its plan. */
  credited: Nano;
  /** The group that it adds to the account, and when it was added: null until then. Absent: none. */
  group?: { name: string; addedAtMs: number | null };
  /** The bonus of the whole amount, as it was when the payment began; absent: none. */
  bonus?: Nano;
  /** The part of it that the journal has credited, in the proportion of `credited` to `amount`; absent: none. */
  bonusCredited?: Nano;
  total: Nano;
  tax: Nano;
  /** Parts of the total. */
  refunded: Nano;
  disputed: Nano;
  fee: Nano | null;
  receiptUrl: string | null;
  /** Where the holder can still pay. */
  actionUrl: string | null;
  failure: PaymentFailure | null;
  /** Why the provider's state was refused, such as another currency; null if it matches. Nothing is credited for it. */
  mismatch: string | null;
  createdAtMs: number;
  updatedAtMs: number;
  /** When the provider is asked without an event; null: not any more. */
  checkAtMs: number | null;
}

/** Facts about an account at the provider. */
export interface Billing {
  accountId: number;
  /** As of a payment. */
  version: number;
  customer: string;
  /** The saved method, as it was last read. */
  method: SavedMethod | null;
  /** The last auto-recharge, if it failed and none has succeeded since. */
  rechargeFailure: { atMs: number; payment: number; failure: PaymentFailure } | null;
  /** The provider's id of the subscription that has not ended. */
  subscription: string | null;
  /** When that subscription ends; null or absent: it renews. */
  cancelsAtMs?: number | null;
  /** The plan from its next period on; null or absent: the same. */
  nextPlan?: string | null;
  /** A subscription that was ended at once, and whose payment is returned. */
  refusedSubscription?: string;
}

/** A webhook event that was handled. Kept for `bounds.paymentEventKeptMs`: later ones are only read again, not credited. */
export interface HandledEvent {
  /** The provider's id. */
  id: string;
  atMs: number;
  type: string;
  /** The payment that it was about, if any. */
  payment: number | null;
}

export interface PaymentPage {
  accountId: number | null;
  status: StoredStatus | null;
  kind: PaymentKind | null;
  /** When they were created: from `sinceMs`, and before `untilMs`. */
  sinceMs: number | null;
  untilMs: number | null;
  /** Cursor: the id of the last payment seen. */
  after: number | null;
  limit: number;
}

/** Reads of committed data. Changes are PaymentRows of a bundle. */
export interface PaymentStore {
  getPayment(id: number): Promise<Payment | null>;
  findPaymentBySource(source: string): Promise<Payment | null>;
  /** Newest first. */
  listPayments(page: PaymentPage): Promise<Payment[]>;
  /** Those whose time to be checked has come, the longest waiting first. */
  listDuePayments(nowMs: number, limit: number): Promise<Payment[]>;
  /** Those created in a range, oldest first, after the position of one. */
  listPaymentsInRange(
    range: { sinceMs: number; untilMs: number },
    after: { createdAtMs: number; id: number } | null,
    limit: number,
  ): Promise<Payment[]>;
  countPending(accountId: number): Promise<number>;
  /** Payments of one kind created since then, with any status. */
  countPaymentsSince(accountId: number, kind: PaymentKind, sinceMs: number): Promise<number>;
  /** Auto-recharges created since then that have not failed. */
  countRechargesSince(accountId: number, sinceMs: number): Promise<number>;
  /** The sum of the account's entries whose reference begins with `prefix`, also of those that retention has dropped. */
  sumCredits(accountId: number, prefix: string): Promise<Nano>;
  getBilling(accountId: number): Promise<Billing | null>;
  findBillingByCustomer(customer: string): Promise<Billing | null>;
  findHandledEvent(id: string): Promise<HandledEvent | null>;
  /** Number of payments by status. */
  countByStatus(): Promise<{ status: StoredStatus; count: number }[]>;
}

/** Rows for `coCommitted` of a bundle, which is refused with Outpaced if another change came first. */
export type PaymentRow =
  /**
   * Version 1 creates it, a later one replaces the version before. An account has at most one auto-recharge that is
   * pending, and a source belongs to one payment: another one is refused as a race.
   */
  | { table: 'payments'; payment: Payment }
  | { table: 'billing'; billing: Billing }
  /** No effect if the event is stored. */
  | { table: 'payment_events'; event: HandledEvent };

/** Whether the payment is paid, and its group is not added to the account yet. */
export function isGroupDue(payment: Payment): payment is Payment & { group: { name: string; addedAtMs: null } } {
  return payment.group !== undefined && payment.group.addedAtMs === null;
}

/** The reference of the entry of the bonus, likewise. */
export function bonusReference(id: string, version: number | ''): string {
  return `bonus:${id}:${version}`;
}

/** The reference of the entry that a version of a payment made. `id` is "pay_…"; '' is the beginning of all of them. */
export function creditReference(id: string, version: number | ''): string {
  return `stripe:${id}:${version}`;
}
