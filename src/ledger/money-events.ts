// The events of a change of money: a balance, allowance, quota or window that crossed a threshold, and costs written off.
// Each crossing has one event, in the transaction that makes it.

import type { Period } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd, type Nano } from '../base/money.ts';
import type { NewEvent } from '../events/events.ts';
import { budgetEndMs, budgetLimits, usedIn } from './budgets.ts';
import type { CompanyTerms, UsageRecord } from './operation.ts';
import { type Payers, payingAccount } from './payers.ts';
import { windowEndMs } from './plan.ts';
import type { AccountRow, KeyRow, PersonRow, PersonWindow, PlanMeter, SpendingMeter } from './rows.ts';

/** Less than this pays for hardly any message. */
const EXHAUSTED_BELOW: Nano = 10_000_000; // 0.01 USD

/** The events of a message's end, or of a correction of its cost. Rows are in their current periods. */
export function messageEvents(
  before: Payers,
  after: Payers,
  { requestId, account, writtenOff }: UsageRecord,
  nowMs: number,
): NewEvent[] | undefined {
  const events: NewEvent[] = [];
  const paying = payingAccount(before);
  const payingAfter = payingAccount(after);
  if (payingAfter.balance < paying.balance) addBalanceEvents(events, paying, payingAfter, nowMs);
  for (let at = 0; at < after.accounts.length; at++)
    addAllowanceEvents(events, before.accounts[at] as AccountRow, after.accounts[at] as AccountRow, nowMs);
  const { warnsAt } = (after.accounts[0] as AccountRow).company;
  addQuotaEvents(events, before.key, after.key, warnsAt, nowMs);
  if (payingAfter.plan !== null && paying.plan !== null)
    addPlanEvents(events, payingAfter, paying.plan, payingAfter.plan, nowMs);
  if (before.person !== null && after.person !== null)
    addBudgetEvents(events, before.person, after.person, after.accounts, nowMs);
  if (writtenOff > 0) {
    const data = { request: requestId, key: formatId('key', after.key.id), amount: formatUsd(writtenOff) };
    events.push({ atMs: nowMs, account, type: 'message.written_off', data, dedupe: null });
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
  const was = fundsOf(before);
  const is = fundsOf(after);
  const told = { atMs: nowMs, account: after.id, dedupe: null };
  const available = () => formatUsd(Math.max(0, is));
  if (was >= EXHAUSTED_BELOW && is < EXHAUSTED_BELOW)
    events.push({ ...told, type: 'balance.exhausted', data: { available: available() } });
  else
    for (const threshold of after.lowBalances)
      if (was >= threshold && is < threshold)
        events.push({
          ...told,
          type: 'balance.low',
          data: { threshold: formatUsd(threshold), available: available() },
        });
}

function addAllowanceEvents(events: NewEvent[], before: AccountRow, after: AccountRow, nowMs: number): void {
  const { id, allowance, allowancePeriod, spending, company } = after;
  const percent = crossed(allowance, before.spending.used, spending.used, company.warnsAt);
  if (percent === null) return;
  const { used, limit, period } = usedOf(allowance, spending, allowancePeriod);
  const data = { percent, used, allowance: limit, period };
  events.push({ atMs: nowMs, account: id, type: 'allowance.used', data, dedupe: null });
}

function addQuotaEvents(
  events: NewEvent[],
  before: KeyRow,
  after: KeyRow,
  warnsAt: CompanyTerms['warnsAt'],
  nowMs: number,
): void {
  const percent = crossed(after.quota, before.spending.used, after.spending.used, warnsAt);
  if (percent === null) return;
  const { used, limit, period } = usedOf(after.quota, after.spending, after.quotaPeriod);
  const data = { key: formatId('key', after.id), percent, used, quota: limit, period };
  events.push({ atMs: nowMs, account: after.account, type: 'quota.used', data, dedupe: null });
}

function addPlanEvents(
  events: NewEvent[],
  { id: account, company }: AccountRow,
  before: PlanMeter,
  after: PlanMeter,
  nowMs: number,
): void {
  for (const [at, window] of after.windows.entries()) {
    const { length, limit, used } = window;
    const percent = crossed(limit, before.windows[at]?.used ?? 0, used, company.warnsAt);
    if (percent === null) continue;
    const data = {
      plan: after.name,
      window: length,
      percent,
      used: formatUsd(used),
      limit: formatUsd(limit),
      resets_at: timeOf(windowEndMs(after, window)),
    };
    events.push({ atMs: nowMs, account, type: 'plan_window.used', data, dedupe: null });
  }
}

/** An event of each account whose budget for the person crossed one of the account's thresholds. */
function addBudgetEvents(
  events: NewEvent[],
  before: PersonRow,
  after: PersonRow,
  accounts: readonly AccountRow[],
  nowMs: number,
): void {
  for (const { account, length, limit, stops } of budgetLimits(after, accounts)) {
    const usedBefore = usedIn(before.windows, length);
    const used = usedIn(after.windows, length);
    if (used <= usedBefore) continue;
    const warnsAt = accounts.find(({ id }) => id === account)?.company.warnsAt ?? [];
    const percent = crossed(limit, usedBefore, used, warnsAt);
    if (percent === null) continue;
    const window = after.windows.find((one) => one.length === length) as PersonWindow;
    const data = {
      person: formatId('person', after.id),
      window: length,
      percent,
      used: formatUsd(used),
      budget: formatUsd(limit),
      stops,
      resets_at: timeOf(budgetEndMs(window, nowMs)),
    };
    events.push({ atMs: nowMs, account, type: 'budget.used', data, dedupe: null });
  }
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

function usedOf(limit: Nano | null, { used }: SpendingMeter, period: Period) {
  return { used: formatUsd(used), limit: formatUsd(limit ?? 0), period };
}

/** The highest percentage that was reached. 100 is reached at 99.5: a rest may be too small for any message. */
function crossed(limit: Nano | null, before: Nano, after: Nano, warnsAt: CompanyTerms['warnsAt']): number | null {
  if (limit === null || limit === 0 || after <= before) return null;
  let highest: number | null = null;
  for (const percent of warnsAt) {
    const threshold = percent === 100 ? limit - Math.floor(limit / 200) : limit - percentOf(limit, 100 - percent);
    if (before < threshold && after >= threshold) highest = percent;
  }
  return highest;
}

/** Rounded down, and exact for any limit. */
function percentOf(limit: Nano, percent: number): Nano {
  return Math.floor(limit / 100) * percent + Math.floor(((limit % 100) * percent) / 100);
}
