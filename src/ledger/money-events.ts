// The events of a change of money: a balance, allowance, quota or window that crossed a threshold, and costs written off.
// Each crossing has one event, in the transaction that makes it.

import type { Period } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd, type Nano } from '../base/money.ts';
import type { NewEvent } from '../events/events.ts';
import type { UsageRecord } from './operation.ts';
import { windowEndMs } from './plan.ts';
import type { AccountRow, KeyRow, PlanMeter, SpendingMeter } from './rows.ts';

/** Less than this pays for hardly any message. */
const EXHAUSTED_BELOW: Nano = 10_000_000; // 0.01 USD

/** The events of a message's end, or of a correction of its cost. Rows are in their current periods. */
export function messageEvents(
  before: AccountRow,
  after: AccountRow,
  keyBefore: KeyRow,
  keyAfter: KeyRow,
  { requestId, writtenOff }: UsageRecord,
  nowMs: number,
): NewEvent[] | undefined {
  const events: NewEvent[] = [];
  if (after.balance < before.balance) addBalanceEvents(events, before, after, nowMs);
  addAllowanceEvents(events, before, after, nowMs);
  addQuotaEvents(events, keyBefore, keyAfter, nowMs);
  if (after.plan !== null && before.plan !== null) addPlanEvents(events, after.id, before.plan, after.plan, nowMs);
  if (writtenOff > 0) {
    const data = { request: requestId, key: formatId('key', keyAfter.id), amount: formatUsd(writtenOff) };
    events.push({ atMs: nowMs, account: after.id, type: 'message.written_off', data, dedupe: null });
  }
  return events.length === 0 ? undefined : events;
}

/** The events of a lower balance, such as after a reversed payment. */
export function balanceEvents(before: AccountRow, after: AccountRow, nowMs: number): NewEvent[] | undefined {
  const events: NewEvent[] = [];
  addBalanceEvents(events, before, after, nowMs);
  return events.length === 0 ? undefined : events;
}

/** The amount that the wallet can pay once all holds have ended. */
function fundsOf({ balance, creditLine, debt }: AccountRow): Nano {
  return balance + creditLine - debt;
}

function addBalanceEvents(events: NewEvent[], before: AccountRow, after: AccountRow, nowMs: number): void {
  const [was, is] = [fundsOf(before), fundsOf(after)];
  const available = formatUsd(Math.max(0, is));
  const told = { atMs: nowMs, account: after.id, dedupe: null };
  if (was >= EXHAUSTED_BELOW && is < EXHAUSTED_BELOW)
    events.push({ ...told, type: 'balance.exhausted', data: { available } });
  else
    for (const threshold of after.lowBalances)
      if (was >= threshold && is < threshold)
        events.push({ ...told, type: 'balance.low', data: { threshold: formatUsd(threshold), available } });
}

function addAllowanceEvents(events: NewEvent[], before: AccountRow, after: AccountRow, nowMs: number): void {
  const percent = crossedPercent(after.allowance, before.spending, after.spending);
  if (percent === null) return;
  const { used, limit, period } = usedOf(after.allowance, after.spending, after.allowancePeriod);
  const data = { percent, used, allowance: limit, period };
  events.push({ atMs: nowMs, account: after.id, type: 'allowance.used', data, dedupe: null });
}

function addQuotaEvents(events: NewEvent[], before: KeyRow, after: KeyRow, nowMs: number): void {
  const percent = crossedPercent(after.quota, before.spending, after.spending);
  if (percent === null) return;
  const { used, limit, period } = usedOf(after.quota, after.spending, after.quotaPeriod);
  const data = { key: formatId('key', after.id), percent, used, quota: limit, period };
  events.push({ atMs: nowMs, account: after.account, type: 'quota.used', data, dedupe: null });
}

function addPlanEvents(events: NewEvent[], account: number, before: PlanMeter, after: PlanMeter, nowMs: number): void {
  for (const [at, window] of after.windows.entries()) {
    const { length, limit, used } = window;
    const percent = crossed(limit, before.windows[at]?.used ?? 0, used);
    if (percent === null) continue;
    const endMs = windowEndMs(after, window);
    const resets_at = endMs === null ? null : new Date(endMs).toISOString();
    const data = {
      plan: after.name,
      window: length,
      percent,
      used: formatUsd(used),
      limit: formatUsd(limit),
      resets_at,
    };
    events.push({ atMs: nowMs, account, type: 'plan_window.used', data, dedupe: null });
  }
}

function usedOf(limit: Nano | null, { used }: SpendingMeter, period: Period) {
  return { used: formatUsd(used), limit: formatUsd(limit ?? 0), period };
}

function crossedPercent(limit: Nano | null, before: SpendingMeter, after: SpendingMeter): 80 | 100 | null {
  return limit === null ? null : crossed(limit, before.used, after.used);
}

/** The higher percentage that was reached. 100 is reached at 99.5: a rest may be too small for any message. */
function crossed(limit: Nano, before: Nano, after: Nano): 80 | 100 | null {
  if (limit === 0 || after <= before) return null;
  const full = limit - Math.floor(limit / 200);
  if (before < full && after >= full) return 100;
  const most = limit - Math.floor(limit / 5);
  return before < most && after >= most && after < full ? 80 : null;
}
