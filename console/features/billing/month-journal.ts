// The journal of a month with its usage rolled up by day, and the balance after each row. Exact, or null.

import type { EntryShape, StatementShape } from '../../../src/admin-api/shapes.ts';
import { nanoOf, usdOf } from '../../money.ts';
import { daysOf, usageChange } from './daily-balance.ts';

export interface JournalRow {
  /** "2026-11-18", UTC. */
  day: string;
  /** Null: what the balance paid for the usage of the day. */
  entry: EntryShape | null;
  change: string;
  /** After the row. The usage of a day counts at its end. */
  balance: string;
}

export interface MonthJournal {
  /** Newest first. */
  rows: JournalRow[];
  /** Refunds and corrections have no rows: the usage of the days of their requests is reduced by them. */
  hasEarlyRefunds: boolean;
}

/**
 * Null if there are too many entries, or too many messages to know what the balance paid each day while their cost does
 * not add up to the closing balance.
 */
export function monthJournal(statement: StatementShape, createdAt: string, nowMs: number): MonthJournal | null {
  if (statement.has_more_entries) return null;
  const all = rowsOf(statement, statement.entries, createdAt, nowMs);
  if (all !== null) return { rows: all, hasEarlyRefunds: false };
  const others = statement.entries.filter(({ kind }) => kind !== 'refund' && kind !== 'correction');
  const early = rowsOf(statement, others, createdAt, nowMs);
  return early === null ? null : { rows: early, hasEarlyRefunds: true };
}

function rowsOf(
  statement: StatementShape,
  entries: readonly EntryShape[],
  createdAt: string,
  nowMs: number,
): JournalRow[] | null {
  const byDay = Map.groupBy(entries.toReversed(), ({ at }) => at.slice(0, 10));
  const used = new Map(statement.by_day.map((row) => [row.day, usageChange(row)]));
  const rows: JournalRow[] = [];
  let balance = nanoOf(statement.opening_balance);
  const add = (day: string, entry: EntryShape | null, change: bigint) => {
    balance += change;
    rows.push({ day, entry, change: usdOf(change), balance: usdOf(balance) });
  };
  for (const day of daysOf(statement, createdAt, nowMs)) {
    for (const entry of byDay.get(day) ?? []) add(day, entry, nanoOf(entry.change));
    const usage = used.get(day) ?? 0n;
    if (usage !== 0n) add(day, null, usage);
  }
  return balance === nanoOf(statement.closing_balance) ? rows.reverse() : null;
}
