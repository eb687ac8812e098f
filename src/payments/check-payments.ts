// Reconciliation: compares the journal with the provider's list of payments, and reports each difference. Nothing is
// changed without `isRepairing`. A range is compared in parts, and a call ends with the time up to which it came.

import { exactNumber } from '../base/checked-number.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { bonusLeft } from './bonus.ts';
import { bonusReference, creditReference, type Payment } from './payment.ts';
import type { PaymentState } from './provider.ts';
import type { SubscriptionSync } from './receive-event.ts';
import { creditOf, findForeign } from './settle-payment.ts';
import { findStored, type PaymentDependencies, type PaymentSync } from './sync.ts';

/**
 * `not_credited`: paid, and less was credited. `not_paid`: credited, and less was paid. `mismatched`: the provider's
 * payment is not what was asked for, and was not credited. `unknown`: a payment of a customer of ours that is not stored.
 * `journal`: the entries of a payment are not what is stored with it. `plan_price`: the price of a plan is another one at
 * the provider, so that it is not sold.
 */
export const differenceKinds = ['not_credited', 'not_paid', 'mismatched', 'unknown', 'journal', 'plan_price'] as const;

export interface PaymentDifference {
  kind: (typeof differenceKinds)[number];
  /** "pay_…"; null if none is stored. */
  payment: string | null;
  source: string | null;
  /** "acct_…", if it is known. */
  account: string | null;
  /** USD that the payment is worth by the provider, and that the journal has credited. */
  worth: string | null;
  credited: string | null;
  message: string;
}

export interface PaymentCheck {
  /** Payments that were compared. */
  compared: number;
  differences: PaymentDifference[];
  /** The range is compared up to this time. */
  checkedUntilMs: number;
}

export interface CheckRange {
  sinceMs: number;
  untilMs: number;
  /** Brings payments that differ to the provider's state, and compares them again. */
  isRepairing: boolean;
}

export class PaymentChecker {
  readonly #on: PaymentDependencies;
  readonly #sync: PaymentSync;
  readonly #subscriptions: SubscriptionSync | null;

  constructor(dependencies: PaymentDependencies, sync: PaymentSync, subscriptions: SubscriptionSync | null = null) {
    this.#on = dependencies;
    this.#sync = sync;
    this.#subscriptions = subscriptions;
  }

  /** Compares whole parts of the range until there are many payments, or differences. Throws ProviderError. */
  async check({ sinceMs, untilMs, isRepairing }: CheckRange): Promise<PaymentCheck> {
    const check: PaymentCheck = { compared: 0, differences: [], checkedUntilMs: sinceMs };
    const startedMs = performance.now();
    while (check.checkedUntilMs < untilMs) {
      const isFull =
        check.compared >= bounds.paymentsComparedMax ||
        check.differences.length >= bounds.paymentDifferencesMax ||
        performance.now() - startedMs >= bounds.paymentCheckCallMsMax;
      if (isFull && check.compared > 0) break;
      const partUntilMs = Math.min(untilMs, check.checkedUntilMs + bounds.paymentCheckPartMs);
      await this.#checkPart({ sinceMs: check.checkedUntilMs, untilMs: partUntilMs }, isRepairing, check);
      check.checkedUntilMs = partUntilMs;
    }
    return check;
  }

  async #checkPart(
    range: { sinceMs: number; untilMs: number },
    isRepairing: boolean,
    check: PaymentCheck,
  ): Promise<void> {
    const { provider, store } = this.#on;
    const seen = new Set<number>();
    const add = async (compare: () => Promise<PaymentDifference | null>, source: string | null) => {
      check.compared++;
      let difference = await compare();
      // A change may have been under way.
      if (difference !== null && source !== null) {
        if (isRepairing) await this.#repair(source, difference.payment);
        difference = await compare();
      }
      if (difference !== null) check.differences.push(difference);
    };
    for await (const { source, metadata } of provider.listPayments(range)) {
      const payment = await findStored(store, source, metadata.payment);
      if (payment !== null) seen.add(payment.id);
      await add(() => this.#compareSource(source, metadata.payment), source);
    }
    // Stored payments that the list does not have: of another day at the provider, or not there at all.
    let last: Payment | null = null;
    for (let more = true; more; ) {
      const rows: Payment[] = await store.listPaymentsInRange(range, last, bounds.rowsAtOnce);
      for (const { id, source } of rows) if (!seen.has(id)) await add(() => this.#compareRow(id), source);
      last = rows.at(-1) ?? null;
      more = rows.length === bounds.rowsAtOnce;
    }
  }

  async #repair(source: string, named: string | null): Promise<void> {
    const payment = await this.#sync.sync(source, named);
    if (payment?.subscription != null) await this.#subscriptions?.sync(payment.subscription);
  }

  /** The row is read before the state, and the journal with it. */
  async #compareSource(source: string, named: string | null): Promise<PaymentDifference | null> {
    const payment = await findStored(this.#on.store, source, named);
    if (payment !== null) return this.#compare(payment, source);
    const state = await this.#on.provider.readPayment(source);
    return state === null ? null : this.#unknown(state);
  }

  async #compareRow(id: number): Promise<PaymentDifference | null> {
    const payment = await this.#on.store.getPayment(id);
    return payment === null ? null : this.#compare(payment, payment.source);
  }

  async #compare(payment: Payment, source: string | null): Promise<PaymentDifference | null> {
    const { store, provider } = this.#on;
    const id = formatId('pay', payment.id);
    const journal = await store.sumCredits(payment.accountId, creditReference(id, ''));
    const state = source === null ? null : await provider.readPayment(source);
    const shared = {
      payment: id,
      source,
      account: formatId('acct', payment.accountId),
      credited: formatUsd(journal),
    };
    if (journal !== payment.credited) {
      const message = `the journal has ${formatUsd(journal)} USD for a payment stored with ${formatUsd(payment.credited)} USD`;
      return { ...shared, kind: 'journal', worth: null, message };
    }
    const bonus = await store.sumCredits(payment.accountId, bonusReference(id, ''));
    const bonusDue = bonusLeft(payment.bonus ?? 0, payment.amount, journal);
    if (bonus !== bonusDue) {
      const message = `the journal has a bonus of ${formatUsd(bonus)} USD, and the payment is worth one of ${formatUsd(bonusDue)} USD`;
      return { ...shared, kind: 'journal', worth: null, message };
    }
    if (state === null) {
      if (journal === 0) return null;
      return { ...shared, kind: 'not_paid', worth: '0.00', message: 'the provider does not know the payment' };
    }
    const foreign = findForeign(payment, state);
    if (foreign !== null) {
      if (creditOf(state) === 0n && journal === 0) return null;
      return { ...shared, kind: 'mismatched', worth: null, message: foreign };
    }
    return compareWorth(payment, state, journal, shared);
  }

  /** Payments of other installations with the same account at the provider are none of ours. */
  async #unknown(state: PaymentState): Promise<PaymentDifference | null> {
    const { store } = this.#on;
    const billing = state.customer === null ? null : await store.findBillingByCustomer(state.customer);
    const worth = creditOf(state);
    if (billing === null || worth === 0n) return null;
    return {
      kind: 'unknown',
      payment: null,
      source: state.source,
      account: formatId('acct', billing.accountId),
      worth: usdOf(worth),
      credited: null,
      message: `a paid ${state.kind} of a customer that no stored payment stands for`,
    };
  }
}

function compareWorth(
  payment: Payment,
  state: PaymentState,
  journal: number,
  shared: Pick<PaymentDifference, 'payment' | 'source' | 'account' | 'credited'>,
): PaymentDifference | null {
  const value = creditOf(state);
  const worth = usdOf(value);
  if (payment.mismatch !== null && value !== BigInt(journal))
    return { ...shared, kind: 'mismatched', worth, message: payment.mismatch };
  if (value > BigInt(journal))
    return {
      ...shared,
      kind: 'not_credited',
      worth,
      message: `${worth} USD are paid, ${shared.credited} USD credited`,
    };
  if (value < BigInt(journal))
    return { ...shared, kind: 'not_paid', worth, message: `${shared.credited} USD are credited, ${worth} USD paid` };
  return null;
}

function usdOf(nano: bigint): string {
  return nano > BigInt(Number.MAX_SAFE_INTEGER) ? 'too large' : formatUsd(exactNumber(nano));
}
