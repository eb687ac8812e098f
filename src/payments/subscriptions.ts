// Brings the plan of an account to the present state of its subscription at the payment provider. An event only says which
// subscription to look at: the stored facts are read first, then the state, and the plan is committed with them unless
// they changed meanwhile. Invoices are payments of their own (sync.ts), which pay the plan in the journal.

import { setTimeout as wait } from 'node:timers/promises';
import { planAt } from '../accounts/accounts.ts';
import type { Actor, AuditContext } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import type { PlanSettings } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { overloaded } from '../errors.ts';
import {
  type EventRow,
  type LedgerGate,
  type LedgerReader,
  Outpaced,
  type PlanMeter,
  type PlanTerms,
} from '../ledger/ledger.ts';
import type { Billing, PaymentRow, PaymentStore } from './payment.ts';
import { planEvent, planTerms } from './plans.ts';
import type { PaymentProvider, PaymentState, SubscriptionState } from './provider.ts';

export interface SubscriptionDependencies {
  provider: Pick<PaymentProvider, 'readPayment' | 'subscriptions'>;
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

const actor: Actor = Object.freeze({ id: 'stripe', role: 'service', address: '', requestId: null });

export class PlanSubscriptions {
  readonly #on: SubscriptionDependencies;

  constructor(dependencies: SubscriptionDependencies) {
    this.#on = dependencies;
  }

  /**
   * No effect for a subscription that is none of this service. Throws ProviderError, store_unavailable, and overloaded if other
   * changes always come first.
   */
  async sync(subscription: string): Promise<void> {
    const { provider, store } = this.#on;
    const customer = (await provider.subscriptions.read(subscription))?.customer;
    if (customer === undefined) return;
    for (let tries = 0; tries < bounds.changeTriesMax; tries++) {
      const billing = await store.findBillingByCustomer(customer);
      if (billing === null) return;
      const state = await provider.subscriptions.read(subscription); // after the facts, never before
      if (state === null || state.customer !== customer) return;
      const invoice = state.latestPayment === null ? null : await provider.readPayment(state.latestPayment);
      try {
        await this.#settle(billing, state, invoice);
        return;
      } catch (failure) {
        if (!(failure instanceof Outpaced)) throw failure;
        await wait(Math.random() * bounds.changeRestMsMax);
      }
    }
    throw overloaded('Other changes of this subscription always came first. Try again shortly.');
  }

  async #settle(billing: Billing, state: SubscriptionState, invoice: PaymentState | null): Promise<void> {
    const { ledger, plans, graceMs, clock, changed } = this.#on;
    const nowMs = clock.nowMs();
    const isOfOther = billing.subscription !== null && billing.subscription !== state.id;
    const isForeign = state.metadata.account !== null && state.metadata.account !== formatId('acct', billing.accountId);
    const plan = [...plans().values()].find(({ stripePrice }) => stripePrice === state.price) ?? null;
    const meters = await ledger.accountMeters(billing.accountId, nowMs);
    if (isOfOther || isForeign || state.paidUntilMs === null || meters === null) return;
    const before = planAt(meters.plan, nowMs);
    const isReversed = invoice !== null && isPaidBack(invoice);
    const isOver = state.status === 'ended' || isReversed;
    const after = isOver ? null : subscribedTerms(state, state.paidUntilMs, plan, before, graceMs());
    if (isReversed && state.status !== 'ended') await this.#on.provider.subscriptions.end(state.id);
    await this.#commit(billing, before, after, isOver ? null : state.id, nowMs);
    changed(billing.accountId);
  }

  async #commit(
    billing: Billing,
    before: PlanMeter | null,
    after: PlanTerms | null,
    subscription: string | null,
    nowMs: number,
  ): Promise<void> {
    if (isSame(before, after) && billing.subscription === subscription) return;
    const { ledger, auditRows } = this.#on;
    const account = billing.accountId;
    const row: PaymentRow = { table: 'billing', billing: { ...billing, version: billing.version + 1, subscription } };
    const event = planEvent(account, before, after, nowMs);
    const record = {
      atMs: nowMs,
      actor,
      action: 'plan.update',
      object: formatId('acct', account),
      account,
      before: shown(before),
      after: shown(after),
    };
    const [answer] = await ledger.submit({
      operations: [{ kind: 'set-plan', account, plan: after, keepsOverflow: true }],
      coCommitted: [
        row,
        ...auditRows({ audit: [record], creation: null }),
        ...(event === null ? [] : [{ table: 'events', event } satisfies EventRow]),
      ],
    });
    if (answer?.ok !== true) throw new Error(`the ledger answered a plan with ${JSON.stringify(answer)}`);
  }
}

/** Whether it was refunded as a whole, or is disputed. */
function isPaidBack({ status, totalCents, refundedCents, disputedCents }: PaymentState): boolean {
  return status === 'paid' && totalCents > 0 && (disputedCents > 0 || refundedCents >= totalCents);
}

/**
 * The terms of a subscription that is paid until then. Without a plan for its price, the present plan goes on: the operator
 * changed the price of the plan, and the holder pays the former one.
 */
function subscribedTerms(
  state: SubscriptionState,
  paidUntilMs: number,
  plan: PlanSettings | null,
  before: PlanMeter | null,
  graceMs: number,
): PlanTerms | null {
  const endsAtMs = state.endsAtMs === null ? paidUntilMs + graceMs : Math.min(state.endsAtMs, paidUntilMs + graceMs);
  const times = { anchorMs: state.startedAtMs, paidUntilMs, endsAtMs, overflow: before?.overflow ?? true };
  if (plan !== null) return planTerms(plan, times);
  return before === null ? null : { ...before, ...times };
}

function isSame(before: PlanTerms | null, after: PlanTerms | null): boolean {
  return JSON.stringify(shown(before)) === JSON.stringify(shown(after)) && before?.anchorMs === after?.anchorMs;
}

function shown(terms: PlanTerms | null) {
  const time = (ms: number | null | undefined) => (ms == null ? null : new Date(ms).toISOString());
  return { plan: terms?.name ?? null, paid_until: time(terms?.paidUntilMs), ends_at: time(terms?.endsAtMs) };
}
