// Brings a payment to the provider's present state. An event or a timer only says which payment to look at: the stored
// row is read first, then the state, and the difference is committed in one bundle with the row, its audit record and
// its event, unless the row changed meanwhile. So duplicates, delays, any order and any number of nodes change nothing.

import { setTimeout as wait } from 'node:timers/promises';
import { type Actor, type AuditContext, type AuditRecord, describeChange } from '../audit/audit.ts';
import { exactNumber } from '../base/checked-number.ts';
import type { Clock } from '../base/clock.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { formatId, newNumber, parseId } from '../base/ids.ts';
import { formatUsd, type Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { overloaded } from '../errors.ts';
import type { NewEvent } from '../events/events.ts';
import { type EventRow, type LedgerGate, type LedgerReader, type Operation, Outpaced } from '../ledger/ledger.ts';
import {
  bonusReference,
  creditReference,
  type HandledEvent,
  isGroupDue,
  type Payment,
  type PaymentRow,
  type PaymentStore,
} from './payment.ts';
import type { PaymentProvider, PaymentState } from './provider.ts';
import { eventsOf, findForeign, isPaid, nanoOfCents, nextCheckMs, type Settled, settle } from './settle-payment.ts';

export interface PaymentDependencies {
  provider: PaymentProvider;
  store: PaymentStore;
  ledger: Pick<LedgerGate, 'submit'> & Pick<LedgerReader, 'accountMeters'>;
  auditRows(auditContext: AuditContext): unknown[];
  clock: Clock;
  /** The group that a paid recharge adds to its account, and what adds it. Absent: none. */
  groups?: { of(payment: Payment): string | null; add(payment: Payment): Promise<void> };
}

/** Why a payment is looked at: an event, which is stored as handled with the change, and who is named in the audit log. */
export interface SyncCause {
  event: Omit<HandledEvent, 'payment'> | null;
  actor: Actor;
}

/** Changes that follow from what the provider says without a request. */
export const paymentActor: Actor = Object.freeze({ id: 'stripe', role: 'service', address: '', requestId: null });
export const withoutEvent: SyncCause = Object.freeze({ event: null, actor: paymentActor });

export class PaymentSync {
  readonly #on: PaymentDependencies;
  /** Syncs of this node, one at a time for each source: two would only outpace each other. */
  readonly #queue = new FairQueue<string>(
    {
      running: bounds.paymentSyncsMax,
      runningPerOwner: 1,
      tasks: bounds.paymentSyncsMax,
      tasksPerOwner: bounds.paymentSyncsPerSourceMax,
    },
    () => overloaded('Too many changes of this payment are in progress. Try again shortly.'),
  );

  constructor(dependencies: PaymentDependencies) {
    this.#on = dependencies;
  }

  /**
   * `named`: the payment that the source's metadata is said to name. Returns the payment, or null if the source is none
   * of this service. Throws ProviderError, store_unavailable, and overloaded if too many wait or other changes always
   * come first.
   */
  async sync(source: string, named: string | null = null, cause: SyncCause = withoutEvent): Promise<Payment | null> {
    using _turn = await this.#queue.enter(source);
    return await this.#syncAtLast(source, named, cause);
  }

  /** Stores an event as handled without a change. */
  async note(event: HandledEvent): Promise<void> {
    await this.#on.ledger.submit({ operations: [], coCommitted: [{ table: 'payment_events', event }] });
  }

  async #syncAtLast(source: string, named: string | null, cause: SyncCause): Promise<Payment | null> {
    let name = named;
    for (let tries = 0; tries < bounds.paymentSyncTriesMax; tries++) {
      const payment = await findStored(this.#on.store, source, name);
      const state = await this.#on.provider.readPayment(source); // after the row, never before
      try {
        if (payment !== null) return await this.#settle(payment, state, cause);
        // The row must be read before the state.
        const other = state?.metadata.payment ?? null;
        if (other !== null && other !== name && (await findStored(this.#on.store, source, other)) !== null) {
          name = other;
          continue;
        }
        if (state?.kind === 'subscription' && (await this.#createOfSubscription(state))) continue;
        if (cause.event !== null) await this.note({ ...cause.event, payment: null });
        return null;
      } catch (failure) {
        if (!(failure instanceof Outpaced)) throw failure;
        await wait(Math.random() * bounds.changeRestMsMax);
      }
    }
    throw overloaded('Other changes of this payment always came first. Try again shortly.');
  }

  async #settle(payment: Payment, state: PaymentState | null, cause: SyncCause): Promise<Payment> {
    const nowMs = this.#on.clock.nowMs();
    const foreign = state === null ? 'the provider does not know it' : findForeign(payment, state);
    if (state === null || foreign !== null) return this.#refuse(payment, state, foreign ?? '', cause, nowMs);
    const settled = withGroup(payment, settle(payment, state, nowMs), this.#on.groups);
    if (settled === null) {
      if (cause.event !== null && isNotedHere(payment)) await this.note({ ...cause.event, payment: payment.id });
      return payment;
    }
    await this.#commit(payment, settled, cause);
    return await this.#addGroup(settled.payment);
  }

  /** The payment is credited, whatever comes of it: a sweep tries again. */
  async #addGroup(payment: Payment): Promise<Payment> {
    const { groups, store } = this.#on;
    if (groups === undefined || !isGroupDue(payment)) return payment;
    try {
      await groups.add(payment);
    } catch {
      return payment;
    }
    return (await store.getPayment(payment.id)) ?? payment;
  }

  async #commit(before: Payment, settled: Settled, cause: SyncCause): Promise<void> {
    const { ledger } = this.#on;
    const { payment, change, bonusChange } = settled;
    const taken = Math.min(0, change) + Math.min(0, bonusChange);
    const debt = taken < 0 ? await this.#debtAfter(payment.accountId, taken) : 0;
    const record = { atMs: payment.updatedAtMs, ...noteOf(before, payment), actor: cause.actor };
    const events = eventsOf(before, settled, debt);
    const isMoney = change !== 0 || settled.mismatch !== null || before.status !== payment.status;
    const answers = await ledger.submit({
      operations: [
        ...(change === 0 ? [] : [creditOperation(payment, change)]),
        ...(bonusChange === 0 ? [] : [bonusOperation(payment, bonusChange)]),
      ],
      coCommitted: this.#rows(payment, cause, isMoney ? [record] : [], events),
    });
    // The ledger writes no rows with a repeated credit.
    if (answers.some((answer) => answer.ok && answer.kind === 'credited' && answer.repeated))
      throw new Outpaced('another change of the payment has this version');
    const refused = answers.find((answer) => !answer.ok);
    if (refused !== undefined) throw new Error(`the ledger answered a payment with ${JSON.stringify(refused)}`);
  }

  /** As it would be if nothing else happened; only for the event. */
  async #debtAfter(account: number, change: Nano): Promise<Nano> {
    const meters = await this.#on.ledger.accountMeters(account, this.#on.clock.nowMs());
    if (meters === null) return 0;
    return meters.debt + Math.max(0, -change - meters.available);
  }

  /**
   * Nothing is credited. The audit log has a record and operators get an event, once for each reason on the payment's
   * own source, and once for each event about another one.
   */
  async #refuse(
    payment: Payment,
    state: PaymentState | null,
    reason: string,
    cause: SyncCause,
    nowMs: number,
  ): Promise<Payment> {
    const { ledger } = this.#on;
    const isOwn = state === null || state.source === payment.source;
    const next: Payment = { ...postponed(payment, nowMs), mismatch: isOwn ? reason : payment.mismatch };
    if (isOwn && payment.mismatch === reason) {
      await ledger.submit({ operations: [], coCommitted: this.#rows(next, cause, [], []) });
      return next;
    }
    const source = state?.source ?? payment.source ?? '';
    const id = formatId('pay', payment.id);
    const record: AuditRecord = {
      atMs: nowMs,
      actor: cause.actor,
      action: 'payment.refuse',
      object: id,
      account: payment.accountId,
      before: null,
      after: { source, reason },
    };
    const event: NewEvent = {
      atMs: nowMs,
      account: payment.accountId,
      type: 'payment.mismatched',
      data: { payment: id, source, reason },
      dedupe: `${id} ${source} ${reason}`,
    };
    await ledger.submit({ operations: [], coCommitted: this.#rows(next, cause, [record], [event]) });
    return next;
  }

  #rows(payment: Payment, { event }: SyncCause, audit: readonly AuditRecord[], events: readonly NewEvent[]): unknown[] {
    const rows: PaymentRow[] = [{ table: 'payments', payment }];
    if (event !== null && isNotedHere(payment))
      rows.push({ table: 'payment_events', event: { ...event, payment: payment.id } });
    return [
      ...rows,
      ...this.#on.auditRows({ audit, creation: null }),
      ...events.map((event) => ({ table: 'events', event }) satisfies EventRow),
    ];
  }

  /** An invoice of a subscription has no row until it is first seen. Returns whether its customer is known here. */
  async #createOfSubscription(state: PaymentState): Promise<boolean> {
    const { store, ledger, clock } = this.#on;
    const billing = state.customer === null ? null : await store.findBillingByCustomer(state.customer);
    const amount = nanoOfCents(Math.max(0, state.creditCents));
    if (billing === null || amount > BigInt(Number.MAX_SAFE_INTEGER)) return false;
    const nowMs = clock.nowMs();
    const payment: Payment = {
      ...newPayment({ accountId: billing.accountId, kind: 'subscription', customer: billing.customer }, nowMs),
      source: state.source,
      subscription: state.subscription,
      amount: exactNumber(amount),
    };
    await ledger.submit({ operations: [], coCommitted: [{ table: 'payments', payment }] satisfies PaymentRow[] });
    return true;
  }
}

/** Whether the write was taken; false if another change came first. */
export async function unlessOutpaced(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (failure) {
    if (failure instanceof Outpaced) return false;
    throw failure;
  }
}

/** The payment of a source; `named` is the one that its metadata is said to name. */
export async function findStored(store: PaymentStore, source: string, named: string | null): Promise<Payment | null> {
  const id = named === null ? null : parseId('pay', named);
  const payment = id === null ? null : await store.getPayment(id);
  return payment ?? store.findPaymentBySource(source);
}

/** An event about a subscription's payment is handled once the subscription is looked at, too: then its receiver notes it. */
function isNotedHere({ kind }: Payment): boolean {
  return kind !== 'subscription';
}

/** A payment that nothing has been asked of the provider for. */
export function newPayment(
  { bonus = 0, ...facts }: Pick<Payment, 'accountId' | 'kind' | 'customer'> & { amount?: Nano; bonus?: Nano },
  nowMs: number,
): Payment {
  return {
    ...(bonus > 0 && { bonus }),
    id: newNumber(),
    status: 'pending',
    version: 1,
    provider: 'stripe',
    source: null,
    subscription: null,
    amount: 0,
    credited: 0,
    total: 0,
    tax: 0,
    refunded: 0,
    disputed: 0,
    fee: null,
    receiptUrl: null,
    actionUrl: null,
    failure: null,
    mismatch: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    checkAtMs: nextCheckMs({ createdAtMs: nowMs }, nowMs),
    ...facts,
  };
}

/** The same at its next version, looked at again later if it is due. */
export function postponed(payment: Payment, nowMs: number): Payment {
  const isDue = payment.checkAtMs !== null && payment.checkAtMs <= nowMs;
  const checkAtMs = isDue ? nextCheckMs(payment, nowMs) : payment.checkAtMs;
  return { ...payment, version: payment.version + 1, checkAtMs };
}

/** A subscription's money pays the plan and never the balance. */
function creditOperation({ id, accountId, kind, version }: Payment, amount: Nano): Operation {
  const payment = formatId('pay', id);
  const reference = creditReference(payment, version);
  const note = `${amount < 0 ? 'taken back from' : 'paid by'} ${payment}`;
  if (kind === 'subscription') return { kind: 'plan-payment', account: accountId, amount, reference, note };
  return {
    kind: 'credit',
    account: accountId,
    amount,
    source: 'payment',
    reference,
    note,
    ...(amount < 0 && { isForced: true }),
  };
}

/** A recharge that is paid for the first time adds the group of its amount. */
function withGroup(before: Payment, settled: Settled | null, groups: PaymentDependencies['groups']): Settled | null {
  if (settled === null || settled.change <= 0 || isPaid(before.status) || before.kind === 'subscription')
    return settled;
  const name = groups?.of(before) ?? null;
  if (name === null) return settled;
  const { payment } = settled;
  const checkAtMs = nextCheckMs(payment, payment.updatedAtMs);
  return { ...settled, payment: { ...payment, group: { name, addedAtMs: null }, checkAtMs } };
}

/** In the commit of the credit that it belongs to. */
function bonusOperation({ id, accountId, version }: Payment, amount: Nano): Operation {
  const payment = formatId('pay', id);
  const reference = bonusReference(payment, version);
  const note = `${amount < 0 ? 'bonus taken back from' : 'bonus of'} ${payment}`;
  const isForced = amount < 0;
  return {
    kind: 'credit',
    account: accountId,
    amount,
    source: 'promotion',
    reference,
    note,
    ...(isForced && { isForced }),
  };
}

function noteOf(before: Payment, after: Payment) {
  const object = formatId('pay', after.id);
  return {
    action: 'payment.update',
    object,
    account: after.accountId,
    ...describeChange(auditJson(before), auditJson(after)),
  };
}

/** The members of a payment that the audit log shows. */
export function auditJson(payment: Payment): Record<string, unknown> {
  return {
    kind: payment.kind,
    status: payment.status,
    source: payment.source,
    amount: formatUsd(payment.amount),
    credited: formatUsd(payment.credited),
    ...(payment.group !== undefined && { group: payment.group.name }),
    ...(payment.bonus !== undefined && {
      bonus: formatUsd(payment.bonus),
      bonus_credited: formatUsd(payment.bonusCredited ?? 0),
    }),
    refunded: formatUsd(payment.refunded),
    disputed: formatUsd(payment.disputed),
    mismatch: payment.mismatch,
  };
}
