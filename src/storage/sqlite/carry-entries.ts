// Drops entries of the journal behind others that carry their sums forward: for the account, and for each
// of the system's that stood on their other side, so that every sum stays what it was.

import type { Database } from 'bun:sqlite';
import { assert } from '../../base/assert.ts';
import { bounds } from '../../config.ts';
import { countForgotten, readKeptSince } from './forget-rows.ts';
import { prepareText } from './statements.ts';

const CARRYING = 6; // the system's account on the other side of what is carried forward

/** Drops the oldest entries of one account of before then, in the transaction that is open, and carries their sums. */
export function carryEntries(database: Database, account: number, beforeMs: number): void {
  assert(beforeMs <= readKeptSince(database, 'journal'), 'an entry is dropped only when it is marked as not kept');
  assert(countForgotten(database, 'usage_records', beforeMs) === 0, 'the entries of a usage record are kept with it');
  const run = (text: string, ...values: number[]) => prepareText(database, text).run(...values).changes;
  if (run(PICK_OLDEST, account, beforeMs, bounds.rowsDroppedAtOnce) === 0) return;
  run(PICK_CARRIED_BEFORE, account);
  run(REMEMBER_CREDITS);
  run(CARRY_FORWARD, beforeMs - 1, account);
  run('DELETE FROM entries WHERE seq IN (SELECT seq FROM carried_entries)');
  run('DELETE FROM carried_entries');
}

/** How many entries that would drop. */
export function countToCarry(database: Database, account: number, beforeMs: number): number {
  const text = `SELECT COUNT(*) AS count FROM (SELECT 1 FROM entries
    WHERE account_id = $1 AND at_ms < $2 AND kind <> 'carried_forward' LIMIT $3)`;
  return (prepareText(database, text).get(account, beforeMs, bounds.rowsDroppedAtOnce) as { count: number }).count;
}

const PICK_OLDEST = `
  INSERT INTO carried_entries SELECT seq FROM entries
  WHERE account_id = $1 AND at_ms < $2 AND kind <> 'carried_forward' ORDER BY at_ms, seq LIMIT $3`;

// What was carried before, by this account and by the sides of its entries. Sums of the system may grow beyond what
// one entry can hold: one of half of that stays, and another is begun. The index is named, because the one of accounts
// would lead through all that is old.
const PICK_CARRIED_BEFORE = `
  INSERT INTO carried_entries SELECT seq FROM entries INDEXED BY carried_forward
  WHERE kind = 'carried_forward' AND amount < 4611686018427387904 AND account_id IN (
    SELECT $1
    UNION SELECT debit FROM entries WHERE seq IN (SELECT seq FROM carried_entries)
    UNION SELECT credit FROM entries WHERE seq IN (SELECT seq FROM carried_entries))`;

const REMEMBER_CREDITS = `
  INSERT INTO carried_credits (account_id, reference, amount)
  SELECT account_id, reference, CASE WHEN credit = account_id THEN amount ELSE -amount END FROM entries
  WHERE seq IN (SELECT seq FROM carried_entries) AND reference IS NOT NULL
    AND kind IN ('payment', 'promotion', 'adjustment', 'debt_write_off')`;

const CARRY_FORWARD = `
  WITH sides AS (
    SELECT credit AS side, amount AS change FROM entries WHERE seq IN (SELECT seq FROM carried_entries)
    UNION ALL SELECT debit, -amount FROM entries WHERE seq IN (SELECT seq FROM carried_entries)
    UNION ALL SELECT $2, 0),
  sums AS (SELECT side, SUM(change) AS change FROM sides WHERE side <> ${CARRYING} GROUP BY side)
  INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind)
  SELECT side, $1, CASE WHEN change < 0 THEN side ELSE ${CARRYING} END, CASE WHEN change < 0 THEN ${CARRYING} ELSE side END,
    abs(change), 'carried_forward' FROM sums`;
