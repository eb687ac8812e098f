// Drops rows by their age, a bounded number in a transaction: the one place that says which tables have
// such rows, and what their age is.

import type { Database } from 'bun:sqlite';
import { assert } from '../../base/assert.ts';
import { bounds } from '../../config.ts';
import { type ForgottenTable, type Kept, keptSinceNames } from '../../ledger/ledger.ts';
import { prepareText } from './statements.ts';

/** The columns that name a row, and the one that says how old it is. Each has an index by age. */
const COLUMNS: Readonly<Record<ForgottenTable, { id: string; age: string }>> = {
  usage_records: { id: 'seq', age: 'at_ms' },
  creations: { id: 'principal, idempotency_key', age: 'at_ms' },
  key_secrets: { id: 'secret_hash', age: 'expires_at_ms' },
  claims: { id: 'key_id, name', age: 'at_ms' },
  answers: { id: 'seq', age: 'at_ms' },
};

/** Drops the oldest rows of before then, in the transaction that is open. */
export function forgetRows(database: Database, table: ForgottenTable, beforeMs: number): void {
  if (table === 'usage_records')
    assert(
      beforeMs <= readKeptSince(database, 'usage'),
      'a usage record is dropped only when it is marked as not kept',
    );
  const { id, age } = COLUMNS[table];
  prepareText(
    database,
    `DELETE FROM ${table} WHERE (${id}) IN (SELECT ${id} FROM ${table} WHERE ${age} < $1 ORDER BY ${age} LIMIT $2)`,
  ).run(beforeMs, bounds.rowsDroppedAtOnce);
}

/** How many rows that would drop. */
export function countForgotten(database: Database, table: ForgottenTable, beforeMs: number): number {
  const text = `SELECT COUNT(*) AS count FROM (SELECT 1 FROM ${table} WHERE ${COLUMNS[table].age} < $1 LIMIT $2)`;
  return (prepareText(database, text).get(beforeMs, bounds.rowsDroppedAtOnce) as { count: number }).count;
}

/** From when on all is kept; before all time where nothing was ever dropped. */
export function readKeptSince(database: Database, kept: Kept): number {
  const row = prepareText(database, 'SELECT CAST(value AS INTEGER) AS since FROM installation WHERE name = $1').get(
    keptSinceNames[kept],
  );
  return row === null ? -Infinity : (row as { since: number }).since;
}
