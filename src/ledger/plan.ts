// The plan of an account: an allowance for each of its windows, which messages use before the wallet. Pure arithmetic.

import { DAY_MS } from '../base/clock.ts';
import { NANO_MAX, type Nano } from '../base/money.ts';
import type { PlanTerms, WindowLength } from './operation.ts';
import type { AccountRow, PastWindow, PlanMeter, PlanWindow } from './rows.ts';

const LENGTH_MS = { '5h': 5 * 3_600_000, day: DAY_MS, week: 7 * DAY_MS } as const;

/** The plan with its windows as they are at `nowMs`: a new window has nothing used. */
export function rolledPlan(plan: PlanMeter, nowMs: number): PlanMeter {
  let isRolled = false;
  const windows = plan.windows.map((window) => {
    const startMs = windowStartMs(window, paidMs(plan, nowMs));
    if (startMs === window.startMs) return window;
    isRolled = true;
    return { ...window, used: 0, startMs };
  });
  return isRolled ? { ...plan, windows } : plan;
}

/** Once the plan is no longer paid, its windows stay as they were when the paid time ended. */
function paidMs({ paidUntilMs }: PlanTerms, nowMs: number): number {
  return paidUntilMs === null ? nowMs : Math.min(nowMs, paidUntilMs - 1);
}

/** The start of the window at `atMs`; 0 for one that has not begun. A clock set back changes nothing. */
function windowStartMs({ length, startMs, anchorMs }: Omit<PlanWindow, 'limit'>, atMs: number): number {
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
export function windowEndMs({ paidUntilMs }: PlanMeter, window: PlanWindow): number | null {
  if (window.length === '5h' && window.startMs === 0) return null;
  const endMs = endOf(window);
  return paidUntilMs !== null && endMs >= paidUntilMs ? null : endMs;
}

function endOf({ length, startMs, anchorMs }: Omit<PlanWindow, 'limit'>): number {
  if (length === 'month') return monthsLater(anchorMs, monthsBetween(anchorMs, startMs) + 1);
  return startMs + LENGTH_MS[length];
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

/** The plan with `held` more held (negative: less). A window of 5 hours begins when something is held. */
export function withPlanHeld(plan: PlanMeter, held: Nano, nowMs: number): PlanMeter {
  return { ...plan, windows: withUse(plan.windows, 0, held > 0, nowMs, 0), held: plan.held + held };
}

/** A change of what the plan paid for a message. */
export interface PlanCharge {
  /** Negative: returned. */
  planPaid: Nano;
  /** Held of the plan for the message, and released now. */
  fromPlan: Nano;
  /** When the message was admitted; for a return, when it was charged. */
  ofMs: number;
}

/**
 * The account's windows after a charge. A message that was admitted under another plan is charged to the windows that held
 * it, too, otherwise a change of plans while it runs would leave them unused. A return goes only to windows that were charged.
 */
export function chargedWindows(
  { plan, pastWindows }: AccountRow,
  { planPaid, fromPlan, ofMs }: PlanCharge,
  nowMs: number,
): Pick<AccountRow, 'plan' | 'pastWindows'> {
  if (planPaid === 0 && fromPlan === 0) return { plan, pastWindows };
  const windows = plan === null ? [] : withUse(plan.windows, planPaid, planPaid > 0, nowMs, ofMs);
  const past = planPaid > 0 ? Math.min(planPaid, fromPlan) : planPaid;
  return {
    plan: plan && { ...plan, windows, held: plan.held - fromPlan },
    pastWindows: past === 0 ? pastWindows : pastWindows.map((window) => withPastUse(window, past, ofMs)),
  };
}

function withUse(
  windows: readonly PlanWindow[],
  paid: Nano,
  isUsed: boolean,
  nowMs: number,
  ofMs: number,
): readonly PlanWindow[] {
  return windows.map(({ length, limit, used, startMs, anchorMs, sinceMs }) => ({
    length,
    limit,
    used: paid < 0 && ofMs <= sinceMs ? used : addedUse(used, paid),
    startMs: isUsed && startMs === 0 && length === '5h' ? nowMs : startMs,
    anchorMs,
    sinceMs,
  }));
}

/** At the millisecond of a change it is unknown which plan was charged, so nothing is returned. */
function withPastUse(window: PastWindow, paid: Nano, ofMs: number): PastWindow {
  const { used, sinceMs, untilMs } = window;
  const isCharged = paid > 0 ? ofMs <= untilMs : sinceMs < ofMs && ofMs < untilMs;
  return isCharged ? { ...window, used: addedUse(used, paid) } : window;
}

function addedUse(used: Nano, paid: Nano): Nano {
  return Math.min(NANO_MAX, Math.max(0, used + paid));
}

/**
 * The account under new terms; null ends its plan, which stays while messages hold a part of it. Windows of one length never
 * overlap, whatever plans they belong to: so no change of plans gives more than one plan with that length.
 */
export function withPlanTerms(account: AccountRow, terms: PlanTerms | null, nowMs: number): AccountRow {
  const { plan: before, pastWindows } = account;
  if (terms === null && before !== null && before.held > 0) return { ...account, plan: { ...before, endsAtMs: nowMs } };
  const present = before === null ? [] : rolledPlan(before, nowMs).windows;
  const left = present
    .filter(({ startMs }) => startMs > 0)
    .map(({ limit: _, ...window }) => ({ ...window, untilMs: nowMs }));
  const last = [...left, ...pastWindows.filter(({ length }) => findLength(present, length) === undefined)];
  if (terms === null) return { ...account, plan: null, pastWindows: last };
  const isFirst = before === null && pastWindows.length === 0;
  const windows = terms.windows.map(({ length, limit }) => ({
    length,
    limit,
    ...nextWindow(length, findLength(last, length), terms, paidMs(terms, nowMs)),
    sinceMs: isFirst ? 0 : (findLength(present, length)?.sinceMs ?? nowMs),
  }));
  return {
    ...account,
    plan: { ...terms, windows, held: before?.held ?? 0 },
    pastWindows: last.filter(({ length }) => findLength(windows, length) === undefined),
  };
}

function findLength<Window extends { length: WindowLength }>(
  windows: readonly Window[],
  length: WindowLength,
): Window | undefined {
  return windows.find((window) => window.length === length);
}

/** The window at `atMs`: the last one of its length while it lasts, the next of its sequence, or the first of the plan's own. */
function nextWindow(
  length: WindowLength,
  last: PastWindow | undefined,
  { anchorMs }: PlanTerms,
  atMs: number,
): Pick<PlanWindow, 'used' | 'startMs' | 'anchorMs'> {
  const first = { used: 0, startMs: length === '5h' ? 0 : anchoredStartMs(length, anchorMs, atMs), anchorMs };
  if (last === undefined) return first;
  const usedUntilMs = last.used > 0 ? endOf(last) : last.startMs;
  if (length !== '5h' && Math.min(first.startMs, atMs) >= usedUntilMs) return first;
  const startMs = windowStartMs(last, atMs);
  return { used: startMs === last.startMs ? last.used : 0, startMs, anchorMs: last.anchorMs };
}

/** The account with its plan's windows as they are now. */
export function withRolledPlan(account: AccountRow, nowMs: number): AccountRow {
  if (account.plan === null) return account;
  const plan = rolledPlan(account.plan, nowMs);
  return plan === account.plan ? account : { ...account, plan };
}
