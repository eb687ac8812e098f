// Watches the plans of accounts: those that end are reported, and those whose paid period is over are compared with their
// subscription, whose event may have been lost. Runs on the node that leads.

import type { Clock } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import type { NewEvent } from '../events/events.ts';
import type { LedgerReader, PlanMeter } from '../ledger/ledger.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import { endedEvent, type SubscriptionSync } from '../payments/payments.ts';
import type { Stores } from '../storage/storage.ts';

interface WatchParts {
  stores: Pick<Stores, 'ledger' | 'payments' | 'events'>;
  /** null: no payments are taken. */
  subscriptions: SubscriptionSync | null;
  clock: Clock;
  log: Pick<LogWriter, 'writeEvent'>;
  signal: AbortSignal;
}

export async function watchPlans(parts: WatchParts): Promise<void> {
  const { stores, clock, signal } = parts;
  for (let after: number | null = 0; after !== null && !signal.aborted; ) {
    const limit = bounds.rowsAtOnce;
    const page: Awaited<ReturnType<LedgerReader['listPlans']>> = await stores.ledger.listPlans({ after, limit });
    const events: NewEvent[] = [];
    for (const { account, plan } of page.plans) {
      if (signal.aborted) return;
      const isSubscribed = await syncOver(parts, account, plan);
      // A subscription reports its own end.
      const event = isSubscribed ? null : eventOf(account, plan, clock.nowMs());
      if (event !== null) events.push(event);
    }
    if (events.length > 0) await stores.events.emit(events);
    after = page.last;
  }
}

/** Looks at the subscription of a plan whose paid period is over. Returns whether there is one. */
async function syncOver(
  { stores, subscriptions, clock, log }: WatchParts,
  account: number,
  { paidUntilMs }: PlanMeter,
): Promise<boolean> {
  if (paidUntilMs === null || paidUntilMs > clock.nowMs() || subscriptions === null) return false;
  const subscription = (await stores.payments.getBilling(account))?.subscription ?? null;
  if (subscription === null) return false;
  try {
    await subscriptions.sync(subscription);
  } catch (failure) {
    const cause = describeFailure(failure);
    log.writeEvent('subscription_not_checked', { account: formatId('acct', account), cause });
  }
  return true;
}

/** A plan that renews ends some time after its paid period, if that is not paid: then its payment is reported as failed. */
function eventOf(account: number, plan: PlanMeter, nowMs: number): NewEvent | null {
  const { name, anchorMs, paidUntilMs, endsAtMs } = plan;
  if (endsAtMs === null) return null;
  if (endsAtMs <= nowMs) return endsAtMs > nowMs - bounds.planEndedNoticeMs ? endedEvent(account, plan, nowMs) : null;
  const renews = paidUntilMs !== null && endsAtMs > paidUntilMs;
  if (renews || endsAtMs > nowMs + bounds.planEndNoticeMs) return null;
  const data = { plan: name, ends_at: new Date(endsAtMs).toISOString() };
  const dedupe = `plan.ending:${account}:${anchorMs}:${endsAtMs}`;
  return { atMs: nowMs, account, type: 'plan.ending', data, dedupe };
}
