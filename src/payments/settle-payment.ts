// Decides what a payment becomes when the provider's state of it is known. Pure: amounts come from the state, never
// from a browser, and whatever does not match the stored payment is refused instead of guessed.

import { exactNumber } from '../base/checked-number.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd, type Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import type { EventType, NewEvent } from '../events/events.ts';
import { bonusLeft } from './bonus.ts';
import { isGroupDue, type Payment, type PaymentKind, type StoredStatus } from './payment.ts';
import type { PaymentState } from './provider.ts';

const NANO_PER_CENT = 10_000_000;

/** Cents are at most `bounds.stripeCentsMax`, so that the product may exceed what a balance can hold. */
export function nanoOfCents(cents: number): bigint {
  return BigInt(cents) * BigInt(NANO_PER_CENT);
}

/** Whole cents. Throws for an amount with fractions of a cent: amounts are checked when they are asked for. */
export function centsOf(amount: Nano): number {
  return exactNumber(BigInt(amount) / BigInt(NANO_PER_CENT));
}

export function isWholeCents(amount: Nano): boolean {
  return amount % NANO_PER_CENT === 0;
}

/**
 * The credit that a state is worth: of a paid one the part that is neither refunded nor disputed, rounded down, so that
 * a full refund takes all of it.
 */
export function creditOf({ status, creditCents, totalCents, refundedCents, disputedCents }: PaymentState): bigint {
  if (status !== 'paid' || totalCents <= 0) return 0n;
  const takenBack = Math.min(totalCents, refundedCents + disputedCents);
  return (nanoOfCents(creditCents) * BigInt(totalCents - takenBack)) / BigInt(totalCents);
}

/** Why the state is not one of this payment; null if it is. */
export function findForeign(payment: Payment, state: PaymentState): string | null {
  const { source, kind, customer, metadata } = state;
  if (payment.source !== null && payment.source !== source) return 'it has another source than the payment';
  if (kind !== KINDS[payment.kind]) return `it is a ${kind}, not a ${KINDS[payment.kind]}`;
  if (customer !== payment.customer) return 'it is of another customer';
  if (metadata.account !== null && metadata.account !== formatId('acct', payment.accountId))
    return 'it names another account';
  if (payment.kind === 'subscription') return null;
  if (metadata.payment !== formatId('pay', payment.id)) return 'it names another payment';
  return metadata.account === null ? 'it names no account' : null;
}

const KINDS = { checkout: 'checkout', auto_recharge: 'recharge', subscription: 'subscription' } as const;

/** Why a payment's own state cannot be credited; null if it can. */
function findMismatch({ kind, amount }: Payment, state: PaymentState): string | null {
  if (state.currency !== 'usd') return `its currency is ${state.currency}, not usd`;
  const credit = nanoOfCents(state.creditCents);
  const most = nanoOfCents(Math.max(state.totalCents, state.creditCents));
  if (most > BigInt(Number.MAX_SAFE_INTEGER)) return 'its amount is too large';
  // The amount of a subscription is the one of its invoice.
  if (state.status !== 'paid' || kind === 'subscription' || credit === BigInt(amount)) return null;
  const paid = formatUsd(exactNumber(credit));
  return `${paid} USD were paid for a payment of ${formatUsd(amount)} USD`;
}

export interface Settled {
  /** The payment at its next version. */
  payment: Payment;
  /** The amount to credit; negative: to take back. */
  change: Nano;
  /** The amount to credit as a bonus; negative: to take back. */
  bonusChange: Nano;
  /** A new reason to refuse the state. */
  mismatch: string | null;
}

/** The payment under this state, which is its own; null if nothing changes. */
export function settle(payment: Payment, state: PaymentState, nowMs: number): Settled | null {
  const mismatch = findMismatch(payment, state);
  const after = mismatch === null ? matched(payment, state) : mismatched(payment, state, mismatch);
  const isDue = payment.checkAtMs === null || payment.checkAtMs <= nowMs;
  const checkAtMs =
    after.status !== 'pending' && !isGroupDue(after) ? null : isDue ? nextCheckMs(payment, nowMs) : payment.checkAtMs;
  const next: Payment = { ...after, checkAtMs };
  if (isSame(payment, next)) return null;
  return {
    payment: { ...next, version: payment.version + 1, updatedAtMs: nowMs },
    change: next.credited - payment.credited,
    bonusChange: (next.bonusCredited ?? 0) - (payment.bonusCredited ?? 0),
    mismatch: mismatch === payment.mismatch ? null : mismatch,
  };
}

function matched(payment: Payment, state: PaymentState): Payment {
  const nano = (cents: number): Nano => exactNumber(nanoOfCents(cents));
  const credited = exactNumber(creditOf(state));
  return {
    ...payment,
    ...(payment.bonus !== undefined && { bonusCredited: bonusLeft(payment.bonus, payment.amount, credited) }),
    source: state.source,
    status: statusOf(state),
    amount: payment.kind === 'subscription' ? nano(Math.max(0, state.creditCents)) : payment.amount,
    credited,
    total: nano(state.totalCents),
    tax: nano(state.taxCents),
    refunded: nano(Math.min(state.refundedCents, state.totalCents)),
    disputed: nano(Math.min(state.disputedCents, state.totalCents)),
    // A fee that was known is not forgotten.
    fee: state.feeCents === null ? payment.fee : nano(state.feeCents),
    receiptUrl: state.receiptUrl ?? payment.receiptUrl,
    actionUrl: state.actionUrl,
    failure: state.failure,
    mismatch: null,
  };
}

/** No money moves: credit that was given before stays until an operator decides. */
function mismatched(payment: Payment, { source }: PaymentState, mismatch: string): Payment {
  const status = payment.status === 'pending' ? 'failed' : payment.status;
  const failure = { code: 'payment_mismatch', message: 'The payment does not match what was asked for.' };
  return { ...payment, source, status, failure: payment.failure ?? failure, actionUrl: null, mismatch };
}

function statusOf({ status, totalCents, refundedCents, disputedCents }: PaymentState): StoredStatus {
  if (status !== 'paid') return status;
  if (disputedCents > 0) return 'disputed';
  if (refundedCents === 0) return 'paid';
  return refundedCents < totalCents ? 'partially_refunded' : 'refunded';
}

function isSame(one: Payment, other: Payment): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** When a pending payment is looked at again without an event: at first often, later seldom. */
export function nextCheckMs({ createdAtMs }: Pick<Payment, 'createdAtMs'>, nowMs: number): number {
  const waitMs = Math.floor((nowMs - createdAtMs) / 4);
  return nowMs + Math.min(bounds.paymentCheckMsMax, Math.max(bounds.paymentCheckMsMin, waitMs));
}

/** The events of a change. `debt`: what the account owes after it. */
export function eventsOf(before: Payment, { payment, change, bonusChange, mismatch }: Settled, debt: Nano): NewEvent[] {
  const id = formatId('pay', payment.id);
  const kind: PaymentKind = payment.kind;
  const shared = { payment: id, kind };
  const common = (type: EventType) => ({
    atMs: payment.updatedAtMs,
    account: payment.accountId,
    dedupe: `${id} ${payment.version} ${type}`,
  });
  if (mismatch !== null)
    return [
      {
        ...common('payment.mismatched'),
        type: 'payment.mismatched',
        data: { payment: id, source: payment.source ?? '', reason: mismatch },
      },
    ];
  const amounts = {
    amount: formatUsd(Math.abs(change)),
    ...(bonusChange !== 0 && { bonus: formatUsd(Math.abs(bonusChange)) }),
  };
  if (payment.disputed > before.disputed && change <= 0)
    return [
      {
        ...common('payment.disputed'),
        type: 'payment.disputed',
        data: { ...shared, ...amounts, disputed: formatUsd(payment.disputed), debt: formatUsd(debt) },
      },
    ];
  if (payment.refunded > before.refunded && change < 0)
    return [
      {
        ...common('payment.refunded'),
        type: 'payment.refunded',
        data: { ...shared, ...amounts, refunded: formatUsd(payment.refunded), debt: formatUsd(debt) },
      },
    ];
  if (change > 0 && isPaid(before.status))
    return [{ ...common('payment.restored'), type: 'payment.restored', data: { ...shared, ...amounts } }];
  if (change > 0)
    return payment.kind === 'auto_recharge'
      ? [{ ...common('recharge.succeeded'), type: 'recharge.succeeded', data: { payment: id, ...amounts } }]
      : [{ ...common('payment.succeeded'), type: 'payment.succeeded', data: { ...shared, ...amounts } }];
  if (payment.status !== 'failed' || before.status === 'failed') return [];
  const failed = { amount: formatUsd(payment.amount), failure: payment.failure?.message ?? null };
  return payment.kind === 'auto_recharge'
    ? [{ ...common('recharge.failed'), type: 'recharge.failed', data: { payment: id, ...failed } }]
    : [{ ...common('payment.failed'), type: 'payment.failed', data: { ...shared, ...failed } }];
}

export function isPaid(status: StoredStatus): boolean {
  return status !== 'pending' && status !== 'failed' && status !== 'canceled';
}
