// Automatic recharges: a saved method is charged when less than an account's threshold is available. One recharge at a
// time per account over all nodes, at most so many a day, and none for a while after a failure. Credit is applied by the
// sync of payments alone.

import type { Account, AccountStore } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import { FairShareQuota } from '../base/fair-share-quota.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { machineTimers, sleep, type Timers } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import type { NewEvent } from '../events/events.ts';
import type { AccountMeters, EventRow, LedgerGate } from '../ledger/ledger.ts';
import { bonusOf } from './bonus.ts';
import {
  decideRecharge,
  latestRecharges,
  type RechargeFacts,
  type RechargeTerms,
  startOfDayMs,
} from './decide-recharge.ts';
import type { Billing, Payment, PaymentRow, PaymentStore } from './payment.ts';
import { type PaymentProvider, ProviderError, type SavedMethod } from './provider.ts';
import { centsOf, isPaid } from './settle-payment.ts';
import { newPayment, type PaymentSync, unlessOutpaced } from './sync.ts';

export interface AutoRechargeParts {
  provider: PaymentProvider;
  store: PaymentStore;
  accounts: Pick<AccountStore, 'getAccount'>;
  ledger: {
    submit: LedgerGate['submit'];
    /** Afterwards, reads see everything that was decided. */
    flush(): Promise<void>;
    accountMeters(account: number, nowMs: number): Promise<AccountMeters | null>;
  };
  /** Applies what the provider says of a payment. */
  sync: Pick<PaymentSync, 'sync'>;
  terms(): RechargeTerms;
  clock: Clock;
  timers?: Timers;
  /** Logs a failure. */
  report(cause: unknown): void;
}

/** Without credit, the account is left alone for `restMs`. */
type Outcome = { isCredited: true } | { isCredited: false; restMs: number };

interface Run {
  done: Promise<Outcome>;
  waiting: number;
}

export class AutoRecharges {
  readonly #parts: AutoRechargeParts;
  readonly #timers: Timers;
  /** In progress on this node, by account. */
  readonly #runs = new Map<number, Run>();
  /** Until when an account is left alone, the oldest entry first. */
  readonly #rests = new Map<number, number>();
  readonly #room = new FairShareQuota(() => bounds.rechargeWaitingMax);
  readonly #closing = new AbortController();

  constructor(parts: AutoRechargeParts) {
    this.#parts = parts;
    this.#timers = parts.timers ?? machineTimers;
  }

  /** Messages that wait. */
  get waiting(): number {
    return this.#room.taken;
  }

  /** Begins a recharge of the account, unless one is in progress or the account is left alone. */
  start({ id }: Account): void {
    if (!this.#runs.has(id)) this.#begin(id);
  }

  /** The same, and resolves to whether money has arrived. Never rejects. */
  async wait({ id }: Account, waitMs: number, signal: AbortSignal): Promise<boolean> {
    if (waitMs <= 0 || signal.aborted) return false;
    const run = this.#runs.get(id) ?? this.#begin(id);
    if (run === null || run.waiting >= bounds.rechargeWaitingPerAccountMax) return false;
    if (this.#room.take(id, 1) !== null) return false;
    run.waiting++;
    const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<null>();
    const stopWaiting = () => giveUp(null);
    const cancel = this.#timers.after(waitMs, stopWaiting);
    const ending = AbortSignal.any([signal, this.#closing.signal]);
    ending.addEventListener('abort', stopWaiting);
    try {
      const outcome = await Promise.race([run.done, gaveUp]);
      return outcome?.isCredited ?? false;
    } finally {
      cancel();
      ending.removeEventListener('abort', stopWaiting);
      run.waiting--;
      this.#room.giveBack(id, 1);
    }
  }

  /** The account changed, or its credit: the next message may begin a recharge. */
  forget(accountId: number): void {
    this.#rests.delete(accountId);
  }

  forgetAll(): void {
    this.#rests.clear();
  }

  /** Continues a recharge whose process ended, with the method that was stored with it. */
  async resume(payment: Payment): Promise<void> {
    if (this.#runs.has(payment.accountId)) return;
    const billing = await this.#parts.store.getBilling(payment.accountId);
    if (billing !== null && billing.method !== null) await this.#charge(payment, billing.method);
  }

  /** The method that is charged, or as it was stored if the provider cannot be asked; null without one. */
  async savedMethod(accountId: number): Promise<SavedMethod | null> {
    const billing = await this.#parts.store.getBilling(accountId);
    if (billing === null) return null;
    return this.#parts.provider.readSavedMethod(billing.customer).catch((failure: unknown) => {
      if (failure instanceof ProviderError && billing.method !== null) return billing.method;
      throw failure;
    });
  }

  /** Messages no longer wait. Resolves when no recharge is in progress, or after a while; a later sync finds the truth. */
  async close(): Promise<void> {
    this.#closing.abort();
    const runs = [...this.#runs.values()].map(({ done }) => done);
    await Promise.race([Promise.all(runs), sleep(this.#timers, bounds.rechargeCloseMsMax)]);
  }

  #begin(id: number): Run | null {
    const restsUntilMs = this.#rests.get(id);
    if (restsUntilMs !== undefined) {
      if (restsUntilMs > this.#parts.clock.nowMs()) return null;
      this.#rests.delete(id);
    }
    if (this.#runs.size >= bounds.rechargesAtOnceMax || this.#closing.signal.aborted) return null;
    const run: Run = { waiting: 0, done: this.#recharge(id) };
    this.#runs.set(id, run);
    void run.done.then((outcome) => {
      this.#runs.delete(id);
      if (!outcome.isCredited) this.#rest(id, outcome.restMs);
    });
    return run;
  }

  #rest(id: number, ms: number): void {
    const [oldest] = this.#rests.keys();
    if (this.#rests.size >= bounds.rechargeRestsMax && oldest !== undefined) this.#rests.delete(oldest);
    this.#rests.set(id, this.#parts.clock.nowMs() + ms);
  }

  /** Never rejects. */
  async #recharge(id: number): Promise<Outcome> {
    try {
      for (let tries = 0; tries < bounds.rechargeTriesMax; tries++) {
        const outcome = await this.#tryOnce(id);
        if (outcome !== 'outpaced') return outcome;
      }
    } catch (failure) {
      this.#parts.report(failure);
    }
    return { isCredited: false, restMs: bounds.rechargeErrorRestMs };
  }

  async #tryOnce(id: number): Promise<Outcome | 'outpaced'> {
    const { store, clock, terms } = this.#parts;
    const facts = await this.#readFacts(id);
    if (facts === null) return LEFT_ALONE;
    const decision = decideRecharge(facts, terms(), clock.nowMs());
    switch (decision.kind) {
      case 'enough':
        return { isCredited: true };
      case 'await':
        return outcomeOf(await this.#awaitOther(decision.payment));
      case 'none':
        await this.#tell(id, decision.reason, facts);
        return LEFT_ALONE;
      case 'charge': {
        const method = await this.#parts.provider.readSavedMethod(decision.billing.customer);
        if (method === null) return LEFT_ALONE;
        const { amount, billing } = decision;
        const bonus = bonusOf(amount, terms().bonusTiers);
        const nowMs = clock.nowMs();
        const payment: Payment = {
          ...newPayment({ accountId: id, kind: 'auto_recharge', customer: billing.customer, amount, bonus }, nowMs),
          checkAtMs: nowMs + bounds.rechargeCheckMs,
        };
        if (!(await this.#store(billing, payment, method))) return 'outpaced';
        await this.#charge(payment, method);
        return this.#conclude(id, await store.getPayment(payment.id));
      }
    }
  }

  /**
   * Reads the facts of a decision, in an order that shows a recharge by another node whenever it happens: before the payments
   * are read, as a payment, and its credit in the meters; afterwards, storing a recharge finds another version of the billing
   * facts.
   */
  async #readFacts(id: number): Promise<RechargeFacts | null> {
    const { store, accounts, ledger, clock } = this.#parts;
    const nowMs = clock.nowMs();
    await ledger.flush();
    const billing = await store.getBilling(id);
    const [account, latest, madeToday] = await Promise.all([
      accounts.getAccount(id),
      latestRecharges(store, id),
      store.countRechargesSince(id, startOfDayMs(nowMs)),
    ]);
    const meters = await ledger.accountMeters(id, nowMs);
    return account === null || meters === null ? null : { account, meters, billing, latest, madeToday };
  }

  /** False if another recharge of the account came first, on any node. */
  async #store(billing: Billing, payment: Payment, method: SavedMethod): Promise<boolean> {
    const rows: PaymentRow[] = [
      { table: 'billing', billing: { ...billing, version: billing.version + 1, method } },
      { table: 'payments', payment },
    ];
    return unlessOutpaced(this.#parts.ledger.submit({ operations: [], coCommitted: rows }));
  }

  /** Repeated while the provider does not answer: it charges once, however often it is asked. */
  async #charge(payment: Payment, method: SavedMethod): Promise<void> {
    const { provider, sync, terms } = this.#parts;
    const untilMs = performance.now() + bounds.rechargeWaitMsMax;
    const recharge = {
      payment: formatId('pay', payment.id),
      account: formatId('acct', payment.accountId),
      customer: payment.customer,
      method: method.id,
      amountCents: centsOf(payment.amount),
      description: `Automatic recharge of ${formatUsd(payment.amount)} USD`,
      isTaxAutomatic: terms().isTaxAutomatic,
      createdAtMs: payment.createdAtMs,
    };
    for (let pauseMs = RETRY_MS_FIRST; ; pauseMs *= 2) {
      try {
        const { source } = await provider.startRecharge(recharge);
        await sync.sync(source, recharge.payment);
        return;
      } catch (failure) {
        if (failure instanceof ProviderError && isFinal(failure)) return this.#abandon(payment, failure);
        if (!isTemporary(failure) || performance.now() + pauseMs > untilMs) throw failure;
        await sleep(this.#timers, pauseMs);
      }
    }
  }

  /** The provider has no such payment. If one is made after all, its event is still applied. */
  async #abandon(payment: Payment, { code, message }: ProviderError): Promise<void> {
    const { ledger, clock } = this.#parts;
    const atMs = clock.nowMs();
    const id = formatId('pay', payment.id);
    const version = payment.version + 1;
    const next: Payment = {
      ...payment,
      version,
      status: 'canceled',
      failure: { code, message },
      updatedAtMs: atMs,
      checkAtMs: null,
    };
    const data = { payment: id, amount: formatUsd(payment.amount), failure: message };
    const event: NewEvent = {
      atMs,
      account: payment.accountId,
      type: 'recharge.failed',
      data,
      dedupe: `${id} ${version}`,
    };
    const coCommitted: unknown[] = [
      { table: 'payments', payment: next } satisfies PaymentRow,
      { table: 'events', event } satisfies EventRow,
    ];
    await ledger.submit({ operations: [], coCommitted });
  }

  /** Another node, or an earlier run of this one, charges: its end shows in the store. */
  async #awaitOther(payment: number): Promise<Payment | null> {
    for (const untilMs = performance.now() + bounds.rechargeWaitMsMax; ; ) {
      const found = await this.#parts.store.getPayment(payment);
      if (found?.status !== 'pending' || performance.now() > untilMs || this.#closing.signal.aborted) return found;
      await sleep(this.#timers, bounds.rechargePollMs);
    }
  }

  async #conclude(id: number, payment: Payment | null): Promise<Outcome> {
    const outcome = outcomeOf(payment);
    if (outcome.isCredited || payment?.status !== 'failed') return outcome;
    const facts = await this.#readFacts(id);
    if (facts === null) return outcome;
    const decision = decideRecharge(facts, this.#parts.terms(), this.#parts.clock.nowMs());
    if (decision.kind === 'none') await this.#tell(id, decision.reason, facts);
    return outcome;
  }

  /** Emits an event about a recharge that is not made, once. */
  async #tell(id: number, reason: string, { account, latest }: RechargeFacts): Promise<void> {
    const event = eventOf(id, reason, account, latest, this.#parts);
    if (event === null) return;
    await this.#parts.ledger.submit({ operations: [], coCommitted: [{ table: 'events', event } satisfies EventRow] });
  }
}

const RETRY_MS_FIRST = 500;
const LEFT_ALONE: Outcome = { isCredited: false, restMs: bounds.rechargeRestMs };

function outcomeOf(payment: Payment | null): Outcome {
  return payment !== null && isPaid(payment.status) ? { isCredited: true } : LEFT_ALONE;
}

/** Nothing was charged, and repeating the request does not help. */
function isFinal({ fault }: ProviderError): boolean {
  return fault === 'refused' || fault === 'misconfigured';
}

function isTemporary(failure: unknown): boolean {
  return failure instanceof ProviderError && failure.fault === 'unavailable';
}

function eventOf(
  id: number,
  reason: string,
  { autoRecharge }: Account,
  [last]: readonly Payment[],
  { clock, terms }: AutoRechargeParts,
): NewEvent | null {
  const atMs = clock.nowMs();
  const shared = { atMs, account: id };
  if (reason === 'limit') {
    const per_day_max = Math.min(autoRecharge?.perDayMax ?? 0, terms().perDayMax);
    const dedupe = `recharge.limited:${id}:${startOfDayMs(atMs)}`;
    return { ...shared, type: 'recharge.limited', data: { per_day_max }, dedupe };
  }
  if (reason !== 'suspended') return null;
  const dedupe = `recharge.suspended:${id}:${last?.id ?? 0}`;
  return { ...shared, type: 'recharge.suspended', data: { failures: bounds.rechargeFailuresMax }, dedupe };
}
