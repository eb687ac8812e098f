// Budgets of people: what all keys of a person may use in 5 hours, a day, a week and a month. Pure arithmetic.

import { periodEndMs, periodStartMs } from '../base/clock.ts';
import { NANO_MAX, type Nano } from '../base/money.ts';
import type { BudgetTerms, WindowLength } from './operation.ts';
import type { AccountRow, PersonRow, PersonWindow } from './rows.ts';

const HOURS_5_MS = 5 * 3_600_000;

/** The windows of a person who has used nothing. */
export const NO_USE: readonly PersonWindow[] = Object.freeze(
  (['5h', 'day', 'week', 'month'] as const).map((length) => Object.freeze({ length, used: 0, startMs: 0 })),
);

/** The person in their current windows. A clock set back changes nothing. */
export function rolledPerson(person: PersonRow, nowMs: number): PersonRow {
  let isRolled = false;
  const windows = person.windows.map((window) => {
    const startMs = startOf(window, nowMs);
    if (startMs === window.startMs) return window;
    isRolled = true;
    return { length: window.length, used: 0, startMs };
  });
  return isRolled ? { ...person, windows } : person;
}

function startOf({ length, startMs }: PersonWindow, nowMs: number): number {
  if (length === '5h') return nowMs >= startMs + HOURS_5_MS ? 0 : startMs;
  return Math.max(startMs, periodStartMs(length, nowMs));
}

/** When the window's use begins anew; null: one of 5 hours that has not begun. */
export function budgetEndMs({ length, startMs }: PersonWindow, nowMs: number): number | null {
  if (length !== '5h') return periodEndMs(length, Math.max(startMs, nowMs));
  return startMs === 0 ? null : startMs + HOURS_5_MS;
}

/** A limit of a person's budgets. */
export interface BudgetLimit {
  /** The account that set it, as a default or for this person. */
  account: number;
  length: WindowLength;
  limit: Nano;
  stops: boolean;
}

/** The limits that apply: at each account its budget for this person, else its default. */
export function budgetLimits(person: PersonRow, accounts: readonly AccountRow[]): BudgetLimit[] {
  const limits: BudgetLimit[] = [];
  for (const account of accounts) {
    const terms = budgetAt(person, account);
    if (terms === null) continue;
    for (const { length, limit } of terms.limits)
      limits.push({ account: account.id, length, limit, stops: terms.stops });
  }
  return limits;
}

function budgetAt({ budgets }: PersonRow, { id, company }: AccountRow): BudgetTerms | null {
  for (const { account, terms } of budgets) if (account === id) return terms;
  return company.personBudget;
}

/** The rest of a limit; negative if it was lowered below what is used. The person is in their current windows. */
export function budgetLeft({ windows, held }: PersonRow, { length, limit }: BudgetLimit): Nano {
  return limit - usedIn(windows, length) - held;
}

/** The least that the limits which stop leave. */
export function budgetAvailable(person: PersonRow, accounts: readonly AccountRow[]): Nano {
  let least = Number.MAX_SAFE_INTEGER;
  for (const limit of budgetLimits(person, accounts))
    if (limit.stops) least = Math.min(least, budgetLeft(person, limit));
  return least;
}

export function usedIn(windows: readonly PersonWindow[], length: WindowLength): Nano {
  return windows.find((window) => window.length === length)?.used ?? 0;
}

/** The person with `more` held (negative: less). A window of 5 hours begins when something is held. */
export function withPersonHeld(person: PersonRow, more: Nano, nowMs: number): PersonRow {
  const windows = more > 0 ? person.windows.map((window) => begun(window, nowMs)) : person.windows;
  return { ...person, windows, held: person.held + more };
}

function begun(window: PersonWindow, nowMs: number): PersonWindow {
  return window.length === '5h' && window.startMs === 0 ? { ...window, startMs: nowMs } : window;
}

/**
 * The person after `paid` was charged (negative: returned) for a message of `ofMs`, and `released` is no longer held. What is
 * returned goes only to windows in which it was charged.
 */
export function chargedPerson(person: PersonRow, paid: Nano, released: Nano, ofMs: number, nowMs: number): PersonRow {
  const windows = person.windows.map((window) => {
    if (paid < 0 && ofMs < window.startMs) return window;
    const { length, used, startMs } = paid > 0 ? begun(window, nowMs) : window;
    return { length, used: Math.min(NANO_MAX, Math.max(0, used + paid)), startMs };
  });
  return { ...person, windows, held: person.held - released };
}
