// Drops old rows of the in-memory tables, with the same effects as the stores that last.

import { assert } from '../../../src/base/assert.ts';
import { integerOf } from '../../../src/base/checked-number.ts';
import { bounds } from '../../../src/config/config.ts';
import {
  type ForgottenTable,
  type NewEntry,
  type RetainedData,
  retainedSinceNames,
  systemAccounts,
} from '../../../src/ledger/ledger.ts';
import type { CoCommittedRow } from '../../../src/storage/co-committed.ts';
import type { RetentionReads } from '../../../src/storage/stores.ts';
import { isReferredCredit } from './credits.ts';
import type { MemoryTables } from './tables.ts';

/** The oldest rows of before then, each with the key under which its table has it. */
function findOld(tables: MemoryTables, table: ForgottenTable, beforeMs: number): unknown[] {
  const aged: Record<ForgottenTable, () => [unknown, number | null][]> = {
    usage_records: () => [...tables.endings].map(([key, { record }]) => [key, record.atMs]),
    creations: () => [...tables.creations].map(([key, { atMs }]) => [key, atMs]),
    key_secrets: () => [...tables.keySecrets].map(([key, { expiresAtMs }]) => [key, expiresAtMs]),
    claims: () => [...tables.claims].map(([key, { atMs }]) => [key, atMs]),
    answers: () => [...tables.answers].map(([key, { atMs }]) => [key, atMs]),
    payment_events: () => [...tables.paymentEvents].map(([key, { atMs }]) => [key, atMs]),
    events: () =>
      [...tables.events].map(([key, { atMs, type }]) => [
        key,
        type === 'budget.burning' ? atMs + bounds.burningEventKeptMs : atMs,
      ]),
    deliveries: () => [...tables.deliveries].map(([key, { createdAtMs }]) => [key, createdAtMs]),
    refusals: () => [...tables.refusals].map(([key, { atMs }]) => [key, atMs]),
    route_hours: () => [...tables.routeHours].map(([key, { atMs }]) => [key, atMs]),
    incidents: () => [...tables.incidents].map(([key, { endedAtMs }]) => [key, endedAtMs]),
  };
  return aged[table]()
    .filter(([, atMs]) => atMs !== null && atMs < beforeMs)
    .sort(([, one], [, other]) => (one ?? 0) - (other ?? 0))
    .slice(0, bounds.rowsDroppedAtOnce)
    .map(([key]) => key);
}

/** Throws BrokenInvariant where rows are still to be kept. */
export function refuseWrongDrop(
  tables: MemoryTables,
  row: Extract<CoCommittedRow, { forget: unknown } | { carry: unknown }>,
): void {
  const isKept = (kept: RetainedData, beforeMs: number) => beforeMs > retainedSince(tables, kept);
  if ('carry' in row) {
    assert(
      !isKept('journal', row.carry.beforeMs),
      'an entry is dropped only after the retention boundary has passed it',
    );
    const left = findOld(tables, 'usage_records', row.carry.beforeMs).length;
    assert(left === 0, 'entries are retained at least as long as their usage records');
  } else if (row.table === 'usage_records')
    assert(
      !isKept('usage', row.forget.beforeMs),
      'a usage record is dropped only after the retention boundary has passed it',
    );
}

export function forgetRows(tables: MemoryTables, table: ForgottenTable, beforeMs: number): void {
  const of: Record<ForgottenTable, { delete(key: never): boolean }> = {
    usage_records: tables.endings,
    creations: tables.creations,
    key_secrets: tables.keySecrets,
    claims: tables.claims,
    answers: tables.answers,
    payment_events: tables.paymentEvents,
    events: tables.events,
    deliveries: tables.deliveries,
    refusals: tables.refusals,
    route_hours: tables.routeHours,
    incidents: tables.incidents,
  };
  for (const key of findOld(tables, table, beforeMs)) of[table].delete(key as never);
}

export function carryEntries(tables: MemoryTables, account: number, beforeMs: number): void {
  const { entries, carriedCredits } = tables;
  const picked = toCarry(tables, account, beforeMs);
  if (picked.length === 0) return;
  const sides = new Set([account, ...picked.flatMap(({ debit, credit }) => [debit, credit])]);
  const before = entries.filter((entry) => entry.kind === 'carried_forward' && sides.has(entry.account));
  const dropped = new Set([...picked, ...before]);
  for (const entry of picked)
    if (isReferredCredit(entry))
      carriedCredits.set(`${entry.account} ${entry.reference}`, changeOf(entry, entry.account));
  const kept = entries.filter((entry) => !dropped.has(entry));
  for (const side of sides) {
    let change = 0;
    for (const entry of dropped) change += changeOf(entry, side);
    kept.push(carriedForward(side, change, beforeMs - 1));
  }
  entries.splice(0, entries.length, ...kept);
}

/** State of these tables for the decision what to drop. */
export function dropReads(tables: MemoryTables): RetentionReads {
  return {
    async countForgotten(table, beforeMs) {
      return findOld(tables, table, beforeMs).length;
    },
    async countToCarry(account, beforeMs) {
      return toCarry(tables, account, beforeMs).length;
    },
    async listToCarry(beforeMs, after) {
      const ids = [...tables.accountMeters.keys()].filter((id) => id > after).sort((one, other) => one - other);
      const page = ids.slice(0, bounds.rowsAtOnce);
      return {
        accounts: page.filter((id) => toCarry(tables, id, beforeMs).length > 0),
        last: page.length < bounds.rowsAtOnce ? null : (page.at(-1) ?? null),
      };
    },
  };
}

/** From when on all is kept; before all time where nothing was ever dropped. */
export function retainedSince({ installation }: MemoryTables, kept: RetainedData): number {
  const sinceMs = installation.get(retainedSinceNames[kept]);
  return sinceMs === undefined ? Number.NEGATIVE_INFINITY : integerOf(sinceMs);
}

function toCarry({ entries }: MemoryTables, account: number, beforeMs: number): NewEntry[] {
  return entries
    .filter((entry) => entry.account === account && entry.atMs < beforeMs && entry.kind !== 'carried_forward')
    .sort((one, other) => one.atMs - other.atMs)
    .slice(0, bounds.rowsDroppedAtOnce);
}

function changeOf(entry: NewEntry, side: number): number {
  if (entry.credit === side) return entry.amount;
  return entry.debit === side ? -entry.amount : 0;
}

function carriedForward(account: number, change: number, atMs: number): NewEntry {
  const other = systemAccounts.carriedForward;
  return {
    account,
    atMs,
    debit: change < 0 ? account : other,
    credit: change < 0 ? other : account,
    amount: Math.abs(change),
    kind: 'carried_forward',
    reference: null,
    note: null,
  };
}
