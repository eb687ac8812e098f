// Drops rows by their age, a bounded number in a transaction, as statements of the ledger's.

import { assert } from '../../base/assert.ts';
import { bounds } from '../../config.ts';
import { type ForgottenTable, type Kept, keptSinceNames } from '../../ledger/ledger.ts';
import type { CheckedAsk } from './alongside.ts';
import { monthOf } from './usage-months.ts';

/** What names a row of each. */
const ID_COLUMNS: Readonly<Record<ForgottenTable, string>> = {
  usage_records: 'request_id, month',
  creations: 'principal, idempotency_key',
  key_secrets: 'secret_hash',
  claims: 'key_id, name',
  answers: 'seq',
};

/** The column that says how old a row is. Each table has an index by it. */
export function ageColumnOf(table: ForgottenTable): string {
  return table === 'key_secrets' ? 'expires_at_ms' : 'at_ms';
}

/** Drops the oldest rows of before then. */
export function forgetRows(table: ForgottenTable, beforeMs: number): CheckedAsk[] {
  const id = ID_COLUMNS[table];
  const age = ageColumnOf(table);
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
