// Computes the balance at the end of each day of a month from its statement. Exact, or null.

import type { StatementShape } from '../../../src/admin-api/shapes.ts';
import { nanoOf, usdOf } from '../../money.ts';

export interface DayBalance {
  /** "2026-11-18", UTC. */
  day: string;
  balance: string;
}

const DAY_MS = 86_400_000;

type StatementDays = Pick<
  StatementShape,
  'since' | 'until' | 'is_over' | 'opening_balance' | 'closing_balance' | 'by_day' | 'entries' | 'has_more_entries'
>;

interface DailyBalances {
  days: DayBalance[];
  /** Refunds count on the day of their message, because only the reduced cost is known. */
  hasEarlyRefunds: boolean;
}

/**
 * The balance of every day from the creation of the account up to now. Null if the days do not add up to the closing
 * balance.
 */
export function dailyBalances(statement: StatementDays, createdAt: string, nowMs: number): DailyBalances | null {
  if (statement.has_more_entries) return null;
  const { entries } = statement;
  const dayBalances = (counted: StatementDays['entries']) => balancesOf(statement, counted, createdAt, nowMs);
  const all = dayBalances(entries);
  if (all !== null) return { days: all, hasEarlyRefunds: false };
  const others = entries.filter(({ kind }) => kind !== 'refund' && kind !== 'correction');
  const early = dayBalances(others);
  return early === null ? null : { days: early, hasEarlyRefunds: true };
}

/**
 * How the usage of a day changes the balance: what the balance paid for it when it ended. If that is not known, its
 * cost of today, which includes what a plan paid, and refunds of any later day.
 */
export function usageChange({ cost, written_off, balance_paid: paid }: StatementDays['by_day'][number]): bigint {
  return paid === null ? nanoOf(written_off) - nanoOf(cost) : -nanoOf(paid);
}

/** The days of a statement from the creation of the account up to today: "2026-11-18". */
export function daysOf(
  { since, until, is_over: isOver }: Pick<StatementDays, 'since' | 'until' | 'is_over'>,
  createdAt: string,
  nowMs: number,
) {
  const untilMs = isOver ? Date.parse(until) : nowMs + 1;
  const days: string[] = [];
  for (let atMs = Date.parse(since); atMs < untilMs; atMs += DAY_MS)
    days.push(new Date(atMs).toISOString().slice(0, 10));
  const first = createdAt.slice(0, 10);
  return days.filter((day) => day >= first);
}

function balancesOf(
  statement: StatementDays,
  entries: StatementDays['entries'],
  createdAt: string,
  nowMs: number,
): DayBalance[] | null {
  const changes = new Map<string, bigint>();
  const change = (day: string, nano: bigint) => changes.set(day, (changes.get(day) ?? 0n) + nano);
  for (const { at, change: usd } of entries) change(at.slice(0, 10), nanoOf(usd));
  for (const row of statement.by_day) change(row.day, usageChange(row));
  let balance = nanoOf(statement.opening_balance);
  const days = daysOf(statement, createdAt, nowMs).map((day) => {
    balance += changes.get(day) ?? 0n;
    return { day, balance: usdOf(balance) };
  });
  return balance === nanoOf(statement.closing_balance) ? days : null;
}

/** The months since the creation of an account, newest first: "2026-11". */
export function monthsSince(createdAt: string, nowMs: number, most: number): string[] {
  const now = new Date(nowMs);
  const first = createdAt.slice(0, 7);
  const months = Array.from({ length: most }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  );
  return months.filter((month, at) => at === 0 || month >= first);
}
