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
  const isCurrent = (window: PersonWindow) => startOf(window, nowMs) === window.startMs;
  if (person.windows.every(isCurrent)) return person;
  const roll = (window: PersonWindow) =>
    isCurrent(window) ? window : { length: window.length, used: 0, startMs: startOf(window, nowMs) };
  return { ...person, windows: person.windows.map(roll) };
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
export function budgetLeft(
  { windows, held }: PersonRow,
  { length, limit }: Pick<BudgetLimit, 'length' | 'limit'>,
): Nano {
  return limit - usedIn(windows, length) - held;
}

/** The least that the limits which stop leave. */
export function budgetAvailable(person: PersonRow, accounts: readonly AccountRow[]): Nano {
  let least = Number.MAX_SAFE_INTEGER;
  for (const account of accounts) {
    const terms = budgetAt(person, account);
    if (terms === null || !terms.stops) continue;
    for (const limit of terms.limits) least = Math.min(least, budgetLeft(person, limit));
  }
  return least;
}

export function usedIn(windows: readonly PersonWindow[], length: WindowLength): Nano {
  for (const window of windows) if (window.length === length) return window.used;
  return 0;
}

/** The person with `more` held (negative: less). A window of 5 hours begins when something is held. */
export function withPersonHeld(person: PersonRow, more: Nano, nowMs: number): PersonRow {
  const isBeginning = more > 0 && person.windows.some(isNotBegun);
  const windows = isBeginning ? person.windows.map((window) => begun(window, nowMs)) : person.windows;
  return withUse(person, windows, person.held + more);
}

/** Written out field by field, like the rows of accounts and keys. */
function withUse(person: PersonRow, windows: readonly PersonWindow[], held: Nano): PersonRow {
  const { id, account, enabled, budgets, unreadable } = person;
  if (unreadable !== undefined) return { id, account, enabled, budgets, windows, held, unreadable };
  return { id, account, enabled, budgets, windows, held };
}

function isNotBegun({ length, startMs }: PersonWindow): boolean {
  return length === '5h' && startMs === 0;
}

function begun(window: PersonWindow, nowMs: number): PersonWindow {
  return isNotBegun(window) ? { ...window, startMs: nowMs } : window;
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
  return withUse(person, windows, person.held - released);
}
