// The money meters of the ledger's model.

import { covers, planHeldOf, planLeft } from './model-plans.ts';
import type { Model, ModelAccount, ModelKey, Period, Spending } from './model-rows.ts';

export function heldOf(model: Model, whose: 'account' | 'key', id: number): number {
  let held = 0;
  for (const hold of model.holds.values()) if (hold[whose] === id) held += hold.amount;
  return held;
}

/** Amount used in the current period. */
export function usedOf(model: Model, spending: Spending): number {
  return spending.periodName === nameOfPeriod(spending.period, model.nowMs) ? spending.used : 0;
}

export function nameOfPeriod(period: Period, atMs: number): string {
  const day = new Date(atMs);
  if (period === 'total') return 'total';
  if (period === 'day') return day.toISOString().slice(0, 10);
  if (period === 'month') return day.toISOString().slice(0, 7);
  const daysSinceMonday = (day.getUTCDay() + 6) % 7;
  return `week of ${new Date(atMs - daysSinceMonday * 86_400_000).toISOString().slice(0, 10)}`;
}

interface Room {
  name: string;
  now: number;
  later: number;
}

/** Available amount of each money meter, now and if every hold were released without a charge. */
export function roomsOf(model: Model, account: ModelAccount, key: ModelKey, group: string): Room[] {
  const heldByAccount = heldOf(model, 'account', account.id);
  const later = [
    account.limit === null ? Number.POSITIVE_INFINITY : account.limit - usedOf(model, account),
    key.limit === null ? Number.POSITIVE_INFINITY : key.limit - usedOf(model, key),
  ] as const;
  return [
    fundsOf(model, account, group),
    { name: 'allowance', now: later[0] - heldByAccount, later: later[0] },
    { name: 'quota', now: later[1] - heldOf(model, 'key', key.id), later: later[1] },
  ];
}

/** The wallet, after a plan that pays for the group first, or that plan alone. */
function fundsOf(model: Model, account: ModelAccount, group: string): Room {
  const later = account.balance + account.creditLine - account.debt;
  const now = walletNow(model, account);
  if (!covers(model, account, group)) return { name: 'wallet', now, later };
  const plan = planLeft(model, account, group);
  if (!account.plan?.overflow) return { name: 'plan', ...plan };
  return { name: 'wallet', now: plan.now + Math.max(0, now), later: plan.later + Math.max(0, later) };
}

/** Negative while the debt is larger than what is left. */
export function walletNow(model: Model, { id, balance, creditLine, debt }: ModelAccount): number {
  return balance + creditLine - debt - (heldOf(model, 'account', id) - planHeldOf(model, id));
}

/** The most that is available to a message now. */
export function roomOf(model: Model, account: ModelAccount, key: ModelKey, group: string): number {
  return Math.max(0, Math.min(...roomsOf(model, account, key, group).map(({ now }) => now)));
}
