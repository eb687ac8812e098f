// The balance at the end of each day of a month, worked out from its statement. Exact, or not at all.

import type { StatementShape } from '../src/admin-api/shapes.ts';
import { nanoOf, usdOf } from './parts/money.tsx';

export interface DayBalance {
  /** "2026-11-18", UTC. */
  day: string;
  balance: string;
}

const DAY_MS = 86_400_000;

type Course = Pick<
  StatementShape,
  'since' | 'until' | 'is_over' | 'opening_balance' | 'closing_balance' | 'by_day' | 'entries' | 'has_more_entries'
>;

/**
 * Every day up to now. Null where the days cannot be told: entries are left out, or something was given back of the
 * month's messages, whose days cost less now than they took then.
 */
export function dayBalances(statement: Course, nowMs: number): DayBalance[] | null {
  if (statement.has_more_entries) return null;
  const changes = new Map<string, bigint>();
  const change = (day: string, nano: bigint) => changes.set(day, (changes.get(day) ?? 0n) + nano);
  for (const { at, change: usd } of statement.entries) change(at.slice(0, 10), nanoOf(usd));
  for (const { day, cost, written_off } of statement.by_day) change(day, nanoOf(written_off) - nanoOf(cost));
  const untilMs = statement.is_over ? Date.parse(statement.until) : nowMs + 1;
  const days: DayBalance[] = [];
  let balance = nanoOf(statement.opening_balance);
  for (let atMs = Date.parse(statement.since); atMs < untilMs; atMs += DAY_MS) {
    const day = new Date(atMs).toISOString().slice(0, 10);
    balance += changes.get(day) ?? 0n;
    days.push({ day, balance: usdOf(balance) });
  }
  return balance === nanoOf(statement.closing_balance) ? days : null;
}

/** The months, newest first, that an account has had: "2026-11". */
export function monthsSince(createdAt: string, nowMs: number, most: number): string[] {
  const now = new Date(nowMs);
  const first = createdAt.slice(0, 7);
  const months = Array.from({ length: most }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  );
  return months.filter((month, at) => at === 0 || month >= first);
}
