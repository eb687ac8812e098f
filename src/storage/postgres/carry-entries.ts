// Drops entries of the journal behind others that carry their sums forward: for the account, and for each of the system's that
// stood on their other side, so that every sum stays what it was. As statements of the ledger's transaction.

import { assert } from '../../base/assert.ts';
import { bounds } from '../../config.ts';
import { systemAccounts } from '../../ledger/ledger.ts';
import type { CheckedAsk } from './alongside.ts';
import { requireNotKept } from './forget-rows.ts';
import { monthOf } from './usage-months.ts';

const CARRYING = systemAccounts.carriedForward; // on the other side of what is carried forward

/** Drops the oldest entries of one account of before then, and carries their sums. Nothing where there are none. */
export function carryEntries(account: number, beforeMs: number): CheckedAsk[] {
  return [
    { text: LOCK, values: [] },
    requireNotKept('journal', beforeMs, 'an entry is dropped only when it is marked as not kept'),
    {
      text: 'SELECT 1 FROM usage_records WHERE at_ms < $1 AND month <= $2 LIMIT 1',
      values: [beforeMs, monthOf(beforeMs)],
      check: (left) => assert(left.length === 0, 'the entries of a usage record are kept with it'),
    },
    { text: PICK_OLDEST, values: [account, beforeMs, bounds.rowsDroppedAtOnce] },
    { text: PICK_CARRIED_BEFORE, values: [account] },
    { text: REMEMBER_CREDITS, values: [] },
    { text: CARRY_FORWARD, values: [beforeMs - 1, account] },
    { text: `DELETE FROM entries WHERE seq IN (${PICKED})`, values: [] },
    { text: 'DELETE FROM carried_entries', values: [] },
  ];
}

// The system's entries are carried with those of every account: it is done for one after the other.
const LOCK = 'SELECT pg_advisory_xact_lock(7416, 2)';
const PICKED = 'SELECT seq FROM carried_entries';

const PICK_OLDEST = `
  INSERT INTO carried_entries SELECT seq FROM entries
  WHERE account_id = $1 AND at_ms < $2 AND kind <> 'carried_forward' ORDER BY at_ms, seq LIMIT $3`;

// What was carried before, by this account and by the sides of its entries. Sums of the system may grow beyond what
// one entry can hold: one of half of that stays, and another is begun.
const PICK_CARRIED_BEFORE = `
  INSERT INTO carried_entries SELECT seq FROM entries
  WHERE kind = 'carried_forward' AND amount < 4611686018427387904 AND EXISTS (${PICKED}) AND account_id = ANY(ARRAY(
    SELECT $1::bigint
    UNION SELECT debit FROM entries WHERE seq IN (${PICKED})
    UNION SELECT credit FROM entries WHERE seq IN (${PICKED})))`;

const REMEMBER_CREDITS = `
  INSERT INTO carried_credits (account_id, reference, amount)
  SELECT account_id, reference, CASE WHEN credit = account_id THEN amount ELSE -amount END FROM entries
  WHERE seq IN (${PICKED}) AND reference IS NOT NULL
    AND kind IN ('payment', 'promotion', 'adjustment', 'debt_write_off')`;

const CARRY_FORWARD = `
  WITH sides AS (
    SELECT credit AS side, amount AS change FROM entries WHERE seq IN (${PICKED})
    UNION ALL SELECT debit, -amount FROM entries WHERE seq IN (${PICKED})
    UNION ALL SELECT $2::bigint, 0),
  sums AS (SELECT side, SUM(change) AS change FROM sides WHERE side <> ${CARRYING} GROUP BY side)
  INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind)
  SELECT side, $1::bigint, CASE WHEN change < 0 THEN side ELSE ${CARRYING} END,
    CASE WHEN change < 0 THEN ${CARRYING} ELSE side END, abs(change), 'carried_forward'
  FROM sums WHERE EXISTS (${PICKED})`;
