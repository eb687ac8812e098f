// The plan of an account: an allowance for each of its windows, which messages use before the wallet. Pure arithmetic.

import { DAY_MS } from '../base/clock.ts';
import { NANO_MAX, type Nano } from '../base/money.ts';
import type { PlanTerms, WindowLength } from './operation.ts';
import type { AccountRow, PlanMeter, PlanWindow } from './rows.ts';

const LENGTH_MS = { '5h': 5 * 3_600_000, day: DAY_MS, week: 7 * DAY_MS } as const;

/** The plan with its windows as they are at `nowMs`: a new window has nothing used. */
export function rolledPlan(plan: PlanMeter, nowMs: number): PlanMeter {
  let isRolled = false;
  const windows = plan.windows.map((window) => {
    const startMs = windowStartMs(plan, window, nowMs);
    if (startMs === window.startMs) return window;
    isRolled = true;
    return { ...window, used: 0, startMs };
  });
  return isRolled ? { ...plan, windows } : plan;
}

/**
 * The start of the window at `nowMs`; 0 for one that has not begun. A clock set back changes nothing. Once the plan is no
 * longer paid, the windows stay as they were when the paid time ended.
 */
function windowStartMs(plan: PlanMeter, { length, startMs }: PlanWindow, nowMs: number): number {
  const { anchorMs, paidUntilMs } = plan;
  const atMs = paidUntilMs === null ? nowMs : Math.min(nowMs, paidUntilMs - 1);
  if (length === '5h') return atMs >= startMs + LENGTH_MS['5h'] ? 0 : startMs;
  return Math.max(startMs, anchoredStartMs(length, anchorMs, atMs));
}

function anchoredStartMs(length: 'day' | 'week' | 'month', anchorMs: number, atMs: number): number {
  if (atMs <= anchorMs) return anchorMs;
  if (length !== 'month') return anchorMs + Math.floor((atMs - anchorMs) / LENGTH_MS[length]) * LENGTH_MS[length];
  const months = monthsBetween(anchorMs, atMs);
  const startMs = monthsLater(anchorMs, months);
  return startMs <= atMs ? startMs : monthsLater(anchorMs, months - 1);
}

function monthsBetween(fromMs: number, toMs: number): number {
  const [from, to] = [new Date(fromMs), new Date(toMs)];
  return (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth();
}

/** The same day and time `months` later; the last day of a shorter month. */
export function monthsLater(atMs: number, months: number): number {
  const date = new Date(atMs);
  const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months + 1, 0)).getUTCDate();
  return first + (Math.min(date.getUTCDate(), lastDay) - 1) * DAY_MS + (atMs % DAY_MS);
}

/** When the window's allowance is available again; null if it has not begun, or no further one is paid. */
export function windowEndMs(plan: PlanMeter, { length, startMs }: PlanWindow): number | null {
  if (length === '5h' && startMs === 0) return null;
  const endMs =
    length === 'month'
      ? monthsLater(plan.anchorMs, monthsBetween(plan.anchorMs, startMs) + 1)
      : startMs + LENGTH_MS[length];
  return plan.paidUntilMs !== null && endMs >= plan.paidUntilMs ? null : endMs;
}

/** Whether the plan pays for messages in this group. */
export function coversGroup(plan: PlanMeter | null, group: string, nowMs: number): plan is PlanMeter {
  if (plan === null || (plan.endsAtMs !== null && nowMs >= plan.endsAtMs)) return false;
  return plan.groups === null || plan.groups.includes(group);
}

/** The least that a window has left, less the holds; never below 0. */
export function planAvailable({ windows, held }: PlanMeter): Nano {
  let least = NANO_MAX;
  for (const { limit, used } of windows) least = Math.min(least, limit - used);
  return Math.max(0, least - held);
}

/** A window of a plan as it is shown. */
export interface WindowReading {
  length: WindowLength;
  limit: Nano;
  used: Nano;
  /** Held by running messages, of every window alike. */
  held: Nano;
  /** Never below zero. */
  remaining: Nano;
  /** null: it has not begun. */
  startedAtMs: number | null;
  /** When the next one begins; null: with the next message, or none will. */
  resetsAtMs: number | null;
}

/** The windows of a plan that is in its current ones. */
export function readWindows(plan: PlanMeter): WindowReading[] {
  const { windows, held } = plan;
  return windows.map((window) => ({
    length: window.length,
    limit: window.limit,
    used: window.used,
    held,
    remaining: Math.max(0, window.limit - window.used - held),
    startedAtMs: window.startMs === 0 ? null : window.startMs,
    resetsAtMs: windowEndMs(plan, window),
  }));
}

/** The window that has the least left. */
export function tightestWindow({ windows }: PlanMeter): PlanWindow {
  return windows.reduce((tightest, window) =>
    window.limit - window.used < tightest.limit - tightest.used ? window : tightest,
  );
}

/**
 * The plan after `paid` was charged (negative: returned) and `held` more is held (negative: less). A window that has not
 * begun begins when something is charged or held.
 */
export function withPlanUse(plan: PlanMeter, paid: Nano, held: Nano, nowMs: number): PlanMeter {
  const isUsed = paid > 0 || held > 0;
  const windows = plan.windows.map(({ length, limit, used, startMs }) => ({
    length,
    limit,
    used: Math.min(NANO_MAX, Math.max(0, used + paid)),
    startMs: isUsed && startMs === 0 && length === '5h' ? nowMs : startMs,
  }));
  return { ...plan, windows, held: plan.held + held };
}

/**
 * The meter under new terms. What is used of a running plan stays used, by the length of the window: a change of plans gives
 * no second allowance. Without terms the plan ends; it stays while messages hold a part of it.
 */
export function planUnder(before: PlanMeter | null, terms: PlanTerms | null, nowMs: number): PlanMeter | null {
  const held = before?.held ?? 0;
  if (terms === null) return before === null || held === 0 ? null : { ...before, endsAtMs: nowMs };
  const isRunning = before !== null && (before.endsAtMs === null || nowMs < before.endsAtMs);
  const kept = isRunning ? rolledPlan(before, nowMs) : null;
  const windows = terms.windows.map(({ length, limit }) => {
    const same = kept?.windows.find((window) => window.length === length);
    const isSameSequence = length === '5h' || kept?.anchorMs === terms.anchorMs;
    const startMs = length === '5h' ? 0 : anchoredStartMs(length, terms.anchorMs, nowMs);
    return { length, limit, used: same?.used ?? 0, startMs: isSameSequence ? (same?.startMs ?? startMs) : startMs };
  });
  return { ...terms, windows, held };
}

/** The account with its plan's windows as they are now. */
export function withRolledPlan(account: AccountRow, nowMs: number): AccountRow {
  if (account.plan === null) return account;
  const plan = rolledPlan(account.plan, nowMs);
  return plan === account.plan ? account : { ...account, plan };
}

export const windowLengths = ['5h', 'day', 'week', 'month'] as const satisfies readonly WindowLength[];
