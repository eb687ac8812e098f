// Drops rows by their age, a bounded number in a transaction, as statements of the ledger's.

import { assert } from '../../base/assert.ts';
import { bounds } from '../../config.ts';
import { type ForgottenTable, type Kept, keptSinceNames } from '../../ledger/ledger.ts';
import type { CheckedAsk } from './alongside.ts';
import { monthOf } from './usage-months.ts';

/** The columns that name a row, and the one that says how old it is. Each has an index by age. */
const COLUMNS: Readonly<Record<ForgottenTable, { id: string; age: string }>> = {
  usage_records: { id: 'request_id, month', age: 'at_ms' },
  creations: { id: 'principal, idempotency_key', age: 'at_ms' },
  key_secrets: { id: 'secret_hash', age: 'expires_at_ms' },
  claims: { id: 'key_id, name', age: 'at_ms' },
  answers: { id: 'seq', age: 'at_ms' },
};

/** Drops the oldest rows of before then. */
export function forgetRows(table: ForgottenTable, beforeMs: number): CheckedAsk[] {
  const { id, age } = COLUMNS[table];
  const drop = (where: string) =>
    `DELETE FROM ${table} WHERE (${id}) IN (
      SELECT ${id} FROM ${table} WHERE ${age} < $1 ${where} ORDER BY ${age} LIMIT $2)`;
  if (table !== 'usage_records') return [{ text: drop(''), values: [beforeMs, bounds.rowsDroppedAtOnce] }];
  return [
    requireNotKept('usage', beforeMs, 'a usage record is dropped only when it is marked as not kept'),
    { text: drop('AND month <= $3'), values: [beforeMs, bounds.rowsDroppedAtOnce, monthOf(beforeMs)] },
  ];
}

/** Refuses what is to be dropped where it is still kept. */
export function requireNotKept(kept: Kept, beforeMs: number, sentence: string): CheckedAsk {
  return {
    text: 'SELECT value::float8 AS since FROM installation WHERE name = $1',
    values: [keptSinceNames[kept]],
    check: ([row]) => assert(beforeMs <= Number(row?.['since'] ?? -Infinity), sentence),
  };
}
