// Brings the plan of an account to the present state of its subscription at the payment provider. An event only says which
// subscription to look at: the stored facts are read first, then the state, and the plan is committed with them unless
// they changed meanwhile. Invoices are payments of their own (sync.ts), which pay the plan in the journal.

import { setTimeout as wait } from 'node:timers/promises';
import { planAt } from '../accounts/accounts.ts';
import type { AuditContext, AuditRecord } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import type { PlanSettings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { overloaded } from '../errors.ts';
import type { NewEvent } from '../events/events.ts';
import {
  type EventRow,
  type LedgerGate,
  type LedgerReader,
  Outpaced,
  type PlanMeter,
  type PlanTerms,
} from '../ledger/ledger.ts';
import type { Billing, PaymentRow, PaymentStore } from './payment.ts';
import { endedEvent, planEvent, planTerms } from './plans.ts';
import type { PaymentProvider, PaymentState, SubscriptionState } from './provider.ts';
import { paymentActor } from './sync.ts';

export interface SubscriptionDependencies {
  provider: Pick<PaymentProvider, 'readPayment' | 'cancelPayment' | 'refundPayment' | 'subscriptions'>;
  store: Pick<PaymentStore, 'findBillingByCustomer'>;
  ledger: Pick<LedgerGate, 'submit'> & Pick<LedgerReader, 'accountMeters'>;
  plans(): ReadonlyMap<string, PlanSettings>;
  /** How long a plan lasts after its paid period, while a renewal is not paid. */
  graceMs(): number;
  auditRows(auditContext: AuditContext): unknown[];
  clock: Clock;
  /** The plan of this account has changed. */
  changed(account: number): void;
}

/** A subscription with the facts about its account. */
interface Found {
  billing: Billing;
  state: SubscriptionState;
  /** Its latest invoice. */
  invoice: PaymentState | null;
  nowMs: number;
}

/** The plan and the subscription of an account after a change. */
interface Outcome {
  plan: PlanTerms | null;
  subscription: string | null;
  cancelsAtMs: number | null;
  nextPlan: string | null;
}

const NOTHING: Outcome = { plan: null, subscription: null, cancelsAtMs: null, nextPlan: null };

export class PlanSubscriptions {
  readonly #on: SubscriptionDependencies;
  /** The last sync of each subscription on this node, and one that has not begun: those who ask meanwhile share it. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, Promise<void>>();

  constructor(dependencies: SubscriptionDependencies) {
    this.#on = dependencies;
  }

  /**
   * No effect for a subscription that is none of this service. Throws ProviderError, store_unavailable, and overloaded if other
   * changes always come first.
   */
  sync(subscription: string): Promise<void> {
    const waiting = this.#waiting.get(subscription);
    if (waiting !== undefined) return waiting;
    const last = this.#running.get(subscription) ?? Promise.resolve();
    const begin = () => {
      this.#waiting.delete(subscription);
      return this.#syncAtLast(subscription);
    };
    const mine = last.then(begin, begin);
    this.#waiting.set(subscription, mine);
    this.#running.set(subscription, mine);
    const leave = () => {
      if (this.#running.get(subscription) === mine) this.#running.delete(subscription);
    };
    mine.then(leave, leave);
    return mine;
  }

  async #syncAtLast(subscription: string): Promise<void> {
    const { provider, store, clock } = this.#on;
    const customer = (await provider.subscriptions.read(subscription))?.customer;
    if (customer === undefined) return;
    for (let tries = 0; tries < bounds.changeTriesMax; tries++) {
      const billing = await store.findBillingByCustomer(customer);
      if (billing === null) return;
      const state = await provider.subscriptions.read(subscription); // after the facts, never before
      if (state === null || state.customer !== customer) return;
      const invoice = state.latestPayment === null ? null : await provider.readPayment(state.latestPayment);
      try {
        if (await this.#settle({ billing, state, invoice, nowMs: clock.nowMs() })) return;
      } catch (failure) {
        if (!(failure instanceof Outpaced)) throw failure;
        await wait(Math.random() * bounds.changeRestMsMax);
      }
    }
    throw overloaded('Other changes of this subscription always came first. Try again shortly.');
  }

  /** False: something else was changed first, and everything must be read again. */
  async #settle(found: Found): Promise<boolean> {
    const { provider, ledger, changed } = this.#on;
    const { billing, state, invoice, nowMs } = found;
    const account = formatId('acct', billing.accountId);
    if (state.metadata.account !== null && state.metadata.account !== account) return true;
    if (billing.subscription !== null && billing.subscription !== state.id) return this.#settleSecond(found);
    if (billing.refusedSubscription === state.id) return this.#refuse(found, '');
    const meters = await ledger.accountMeters(billing.accountId, nowMs);
    if (state.paidUntilMs === null || meters === null) return true;
    if (this.#isOver(found, state.paidUntilMs)) {
      if (invoice?.actionUrl != null) {
        const left = await provider.cancelPayment(invoice.source); // an ended subscription must not be charged
        if (left?.status === 'paid') return false;
      }
      if (state.status !== 'ended') await provider.subscriptions.end(state.id);
      await this.#commit(found, meters.plan, NOTHING);
    } else {
      const plan = this.#terms(found, state.paidUntilMs, meters.plan);
      if (plan === null && state.metadata.account === account) return this.#refuse(found, 'no plan has its price');
      const isEnding = state.endsAtMs !== null;
      const nextPlan = state.nextPrice === null ? null : (this.#planOfPrice(state.nextPrice)?.name ?? null);
      const outcome = { plan, subscription: state.id, cancelsAtMs: isEnding ? state.endsAtMs : null, nextPlan };
      if (plan !== null) await this.#commit(found, meters.plan, outcome);
    }
    changed(billing.accountId);
    return true;
  }

  /** Ended, paid back, or not paid within the grace. A payment that is on its way may still arrive. */
  #isOver({ billing, state, invoice, nowMs }: Found, paidUntilMs: number): boolean {
    if (state.status === 'ended' || (invoice !== null && isPaidBack(invoice))) return true;
    const isGoverning = billing.subscription === state.id;
    const isUnpaid = state.status === 'past_due' && invoice?.status !== 'pending';
    return isGoverning && isUnpaid && nowMs >= paidUntilMs + this.#on.graceMs();
  }

  /** The account has another subscription: this one is refused, unless the other one has ended. */
  async #settleSecond(found: Found): Promise<boolean> {
    const { billing, state, nowMs } = found;
    const { provider, ledger } = this.#on;
    const first = billing.subscription === null ? null : await provider.subscriptions.read(billing.subscription);
    if (first === null) {
      const meters = await ledger.accountMeters(billing.accountId, nowMs);
      await this.#commit(found, meters?.plan ?? null, NOTHING);
      return false;
    }
    if (first.status === 'ended') {
      await this.#syncAtLast(first.id);
      return false;
    }
    const isOurs = state.metadata.account !== null;
    if (isOurs && state.paidUntilMs !== null && (state.status !== 'ended' || billing.refusedSubscription === state.id))
      return this.#refuse(found, 'the account has another subscription');
    return true;
  }

  /** Ends the subscription, and returns its payment. Told first, so that a later sync continues after a crash. */
  async #refuse({ billing, state, invoice, nowMs }: Found, reason: string): Promise<boolean> {
    const { ledger, provider, auditRows } = this.#on;
    const { accountId: account } = billing;
    if (billing.refusedSubscription !== state.id) {
      const object = formatId('acct', account);
      const after = { subscription: state.id, reason };
      const audit: AuditRecord[] = [
        { atMs: nowMs, actor: paymentActor, action: 'subscription.refuse', object, account, before: null, after },
      ];
      const event: NewEvent = { atMs: nowMs, account, type: 'subscription.refused', data: after, dedupe: state.id };
      const next = { ...billing, version: billing.version + 1, refusedSubscription: state.id };
      await ledger.submit({
        operations: [],
        coCommitted: [
          { table: 'billing', billing: next } satisfies PaymentRow,
          ...auditRows({ audit, creation: null }),
          { table: 'events', event } satisfies EventRow,
        ],
      });
    }
    if (state.status !== 'ended') await provider.subscriptions.end(state.id);
    if (invoice?.actionUrl != null) await provider.cancelPayment(invoice.source);
    if (invoice !== null && !isPaidBack(invoice)) await provider.refundPayment(invoice.source);
    return true;
  }

  #planOfPrice(price: string): PlanSettings | null {
    return [...this.#on.plans().values()].find(({ stripePrice }) => stripePrice === price) ?? null;
  }

  /**
   * The terms of a subscription that is paid until then. Without a plan for its price, the plan that it pays for goes on:
   * the operator changed the price of the plan, and the holder pays the former one. null: there is no such plan.
   */
  #terms({ billing, state, nowMs }: Found, paidUntilMs: number, present: PlanMeter | null): PlanTerms | null {
    const graceEndsAtMs = paidUntilMs + this.#on.graceMs();
    const endsAtMs = state.endsAtMs === null ? graceEndsAtMs : Math.min(state.endsAtMs, graceEndsAtMs);
    const overflow = planAt(present, nowMs)?.overflow ?? true;
    const times = { anchorMs: state.anchorMs, paidUntilMs, endsAtMs, overflow };
    const plan = this.#planOfPrice(state.price);
    if (plan !== null) return planTerms(plan, times);
    if (present !== null && billing.subscription === state.id) return { ...present, ...times };
    const bought = this.#on.plans().get(state.metadata.plan ?? '');
    return bought === undefined ? null : planTerms(bought, times);
  }

  async #commit({ billing, state, nowMs }: Found, present: PlanMeter | null, outcome: Outcome): Promise<void> {
    const { ledger, auditRows } = this.#on;
    const { accountId: account } = billing;
    const before = planAt(present, nowMs);
    const { plan: after, ...facts } = outcome;
    const { subscription, cancelsAtMs = null, nextPlan = null } = billing;
    const isPlanSame = isSame(before, after);
    const isSameBilling = JSON.stringify({ subscription, cancelsAtMs, nextPlan }) === JSON.stringify(facts);
    const failed = after !== null && state.status === 'past_due' ? failedEvent(account, state, after, nowMs) : null;
    if (isPlanSame && isSameBilling && failed === null) return;
    const rows: unknown[] = failed === null ? [] : [{ table: 'events', event: failed } satisfies EventRow];
    if (!isPlanSame || !isSameBilling) {
      // A plan whose time is over was not reported yet.
      const isEnded = after === null && before === null && present !== null;
      const event = isEnded ? endedEvent(account, present, nowMs) : planEvent(account, before, after, nowMs);
      const record: AuditRecord = {
        atMs: nowMs,
        actor: paymentActor,
        action: 'plan.update',
        object: formatId('acct', account),
        account,
        before: { ...shown(before), cancels_at: shownTime(cancelsAtMs), next_plan: nextPlan },
        after: { ...shown(after), cancels_at: shownTime(facts.cancelsAtMs), next_plan: facts.nextPlan },
      };
      const next: Billing = { ...billing, ...facts, version: billing.version + 1 };
      rows.push(
        { table: 'billing', billing: next } satisfies PaymentRow,
        ...auditRows({ audit: [record], creation: null }),
        ...(event === null ? [] : [{ table: 'events', event } satisfies EventRow]),
      );
    }
    const [answer] = await ledger.submit({
      operations: isPlanSame && after !== null ? [] : [{ kind: 'set-plan', account, plan: after, keepsOverflow: true }],
      coCommitted: rows,
    });
    if (answer !== undefined && !answer.ok)
      throw new Error(`the ledger answered a plan with ${JSON.stringify(answer)}`);
  }
}

/** Once for each invoice. */
function failedEvent(account: number, state: SubscriptionState, plan: PlanTerms, atMs: number): NewEvent {
  const data = { plan: plan.name, ends_at: shownTime(plan.endsAtMs) };
  const dedupe = `plan.payment_failed:${state.id}:${state.latestPayment ?? state.periodStartMs}`;
  return { atMs, account, type: 'plan.payment_failed', data, dedupe };
}

/** Whether it was refunded as a whole, or is disputed. */
function isPaidBack({ status, totalCents, refundedCents, disputedCents }: PaymentState): boolean {
  return status === 'paid' && totalCents > 0 && (disputedCents > 0 || refundedCents >= totalCents);
}

function isSame(before: PlanTerms | null, after: PlanTerms | null): boolean {
  return JSON.stringify(shown(before)) === JSON.stringify(shown(after)) && before?.anchorMs === after?.anchorMs;
}

function shown(terms: PlanTerms | null) {
  return {
    plan: terms?.name ?? null,
    paid_until: shownTime(terms?.paidUntilMs ?? null),
    ends_at: shownTime(terms?.endsAtMs ?? null),
  };
}

function shownTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
