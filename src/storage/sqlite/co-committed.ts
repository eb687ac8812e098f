// Writes rows of other modules in the ledger's transaction. The total size of stored responses is bounded, with a fair
// share for each account.

import type { Database, Statement } from 'bun:sqlite';
import { assert } from '../../base/assert.ts';
import { bounds } from '../../config/config.ts';
import {
  type CarryPage,
  type ForgottenTable,
  type RetainedData,
  retainedSinceNames,
  systemAccounts,
} from '../../ledger/ledger.ts';
import {
  type AnswerRow,
  type CoCommittedRow,
  checkChanged,
  coCommittedStatements,
  forgottenColumns,
  NOBODY,
} from '../co-committed.ts';
import { coarserTotals } from '../rolled-totals.ts';
import type { RetentionReads } from '../stores.ts';
import { TOTAL_NAMES, totalColumns } from '../tables.ts';
import { PreparedStatements, prepareText } from './statements.ts';

/** Deletes the oldest rows before that time, in the open transaction. */
export function forgetRows(database: Database, table: ForgottenTable, beforeMs: number): void {
  if (table === 'usage_records')
    assert(
      beforeMs <= readRetainedSince(database, 'usage'),
      'a usage record is dropped only after the retention boundary has passed it',
    );
  const { id, age, where = '' } = forgottenColumns[table];
  prepareText(
    database,
    `DELETE FROM ${table} WHERE (${id}) IN (SELECT ${id} FROM ${table} WHERE ${age} < $1 ${where} ORDER BY ${age} LIMIT $2)`,
  ).run(beforeMs, bounds.rowsDroppedAtOnce);
}

/** Number of rows that would be deleted. */
export function countForgotten(database: Database, table: ForgottenTable, beforeMs: number): number {
  const { age, where = '' } = forgottenColumns[table];
  const text = `SELECT COUNT(*) AS count FROM (SELECT 1 FROM ${table} WHERE ${age} < $1 ${where} LIMIT $2)`;
  return (prepareText(database, text).get(beforeMs, bounds.rowsDroppedAtOnce) as { count: number }).count;
}

/** Start of the retained data; before all time if nothing was ever dropped. */
function readRetainedSince(database: Database, kept: RetainedData): number {
  const row = prepareText(database, 'SELECT CAST(value AS INTEGER) AS since FROM installation WHERE name = $1').get(
    retainedSinceNames[kept],
  );
  return row === null ? -Infinity : (row as { since: number }).since;
}

// The first entry by time decides: carried-forward entries come before all others of their account.
const LIST_TO_CARRY = `
  SELECT m.id, EXISTS (SELECT 1 FROM entries e
    WHERE e.account_id = m.id AND e.at_ms < $1 AND e.kind <> 'carried_forward') AS is_due
  FROM account_meters m WHERE m.id > $2 ORDER BY m.id LIMIT $3`;

export function retentionReads(database: Database): RetentionReads {
  return {
    async countForgotten(table, beforeMs) {
      return countForgotten(database, table, beforeMs);
    },
    async countToCarry(account, beforeMs) {
      return countToCarry(database, account, beforeMs);
    },
    async listToCarry(beforeMs, after): Promise<CarryPage> {
      const rows = prepareText(database, LIST_TO_CARRY).all(beforeMs, after, bounds.rowsAtOnce) as {
        id: number;
        is_due: number;
      }[];
      const accounts = rows.filter((row) => row.is_due === 1).map(({ id }) => id);
      return { accounts, last: rows.length < bounds.rowsAtOnce ? null : (rows.at(-1)?.id ?? null) };
    },
  };
}

/** Replaces the oldest entries of an account before that time by carried-forward entries, in the open transaction. */
export function carryEntries(database: Database, account: number, beforeMs: number): void {
  assert(
    beforeMs <= readRetainedSince(database, 'journal'),
    'an entry is dropped only after the retention boundary has passed it',
  );
  assert(
    countForgotten(database, 'usage_records', beforeMs) === 0,
    'entries are retained at least as long as their usage records',
  );
  for (const { text, values } of carryStatements(account, beforeMs)) prepareText(database, text).run(...values);
}

const PICKED = 'SELECT seq FROM carried_entries';
const CARRYING = systemAccounts.carriedForward; // on the other side of carried-forward entries

/**
 * Earlier carried-forward entries of this account and of the other sides are replaced as well. System sums may exceed what one entry
 * can hold, so an entry of half the maximum stays and a new one begins. PostgreSQL has a function that does the same.
 */
function carryStatements(account: number, beforeMs: number): { text: string; values: number[] }[] {
  return [
    {
      text: `INSERT INTO carried_entries SELECT seq FROM entries
        WHERE account_id = $1 AND at_ms < $2 AND kind <> 'carried_forward' ORDER BY at_ms, seq LIMIT $3`,
      values: [account, beforeMs, bounds.rowsDroppedAtOnce],
    },
    // Without INDEXED BY the index by account would be used, and scan all old entries.
    {
      text: `INSERT INTO carried_entries SELECT seq FROM entries INDEXED BY carried_forward WHERE kind = 'carried_forward'
        AND amount < 4611686018427387904 AND (${PICKED} LIMIT 1) IS NOT NULL AND account_id IN (
          SELECT CAST($1 AS bigint)
          UNION SELECT debit FROM entries WHERE seq IN (${PICKED})
          UNION SELECT credit FROM entries WHERE seq IN (${PICKED}))`,
      values: [account],
    },
    { text: REMEMBER_CREDITS, values: [] },
    { text: CARRY_FORWARD, values: [beforeMs - 1, account] },
    { text: `DELETE FROM entries WHERE seq IN (${PICKED})`, values: [] },
    { text: 'DELETE FROM carried_entries', values: [] },
  ];
}

const REMEMBER_CREDITS = `
  INSERT INTO carried_credits (account_id, reference, amount)
  SELECT account_id, reference, CASE WHEN credit = account_id THEN amount ELSE -amount END FROM entries
  WHERE seq IN (${PICKED}) AND reference IS NOT NULL
    AND kind IN ('payment', 'promotion', 'adjustment', 'debt_write_off')`;

const CARRY_FORWARD = `
  WITH sides AS (
    SELECT credit AS side, amount AS change FROM entries WHERE seq IN (${PICKED})
    UNION ALL SELECT debit, -amount FROM entries WHERE seq IN (${PICKED})
    UNION ALL SELECT CAST($2 AS bigint), 0),
  sums AS (SELECT side, SUM(change) AS change FROM sides WHERE side <> ${CARRYING} GROUP BY side)
  INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind)
  SELECT side, CAST($1 AS bigint), CASE WHEN change < 0 THEN side ELSE ${CARRYING} END,
    CASE WHEN change < 0 THEN ${CARRYING} ELSE side END, abs(change), 'carried_forward'
  FROM sums WHERE (${PICKED} LIMIT 1) IS NOT NULL`;

/** Number of entries that would be replaced. */
function countToCarry(database: Database, account: number, beforeMs: number): number {
  const text = `SELECT COUNT(*) AS count FROM (SELECT 1 FROM entries
    WHERE account_id = $1 AND at_ms < $2 AND kind <> 'carried_forward' LIMIT $3)`;
  return (prepareText(database, text).get(account, beforeMs, bounds.rowsDroppedAtOnce) as { count: number }).count;
}

/** Adds up the daily totals of a day, in the open transaction. */
export function rollUpDay(database: Database, dayMs: number): void {
  const sums = totalColumns.slice(TOTAL_NAMES).map(({ name }) => `SUM(${name})`);
  for (const { name, columns, isByTrigger = false } of coarserTotals) {
    if (isByTrigger) continue;
    const group = columns.join(', ');
    prepareText(database, `DELETE FROM ${name} WHERE day_ms = $1`).run(dayMs);
    prepareText(
      database,
      `INSERT INTO ${name} SELECT ${group}, ${sums.join(', ')} FROM daily_totals WHERE day_ms = $1 GROUP BY ${group}`,
    ).run(dayMs);
  }
  prepareText(database, 'INSERT OR IGNORE INTO rolled_days (day_ms) VALUES ($1)').run(dayMs);
}

/** Writes one row in the open transaction. Throws SQLite's errors, and BrokenInvariant if it is refused. */
export function writeCoCommitted(database: Database, untyped: unknown): void {
  const row = untyped as CoCommittedRow;
  if ('forget' in row) forgetRows(database, row.table, row.forget.beforeMs);
  else if ('carry' in row) carryEntries(database, row.carry.account, row.carry.beforeMs);
  else if (row.table === 'answers') writeAnswer(database, row);
  else if ('roll' in row) rollUpDay(database, row.roll.dayMs);
  else if (row.table !== 'changes')
    for (const statement of coCommittedStatements(row))
      checkChanged(statement, preparedOnce(database, statement.text).run(...statement.values).changes);
}

const preparedOf = new WeakMap<Database, PreparedStatements>();

/** Preparing costs more than most writes. */
function preparedOnce(database: Database, text: string): Statement {
  let prepared = preparedOf.get(database);
  if (prepared === undefined) {
    prepared = new PreparedStatements(database);
    preparedOf.set(database, prepared);
  }
  return prepared.of(text);
}

type Statements = ReturnType<typeof prepareAnswerWrites>;

/** Prepared once per connection: preparing costs more than the write. */
const statementsOf = new WeakMap<Database, Statements>();

/**
 * Writes one response in the open transaction unless it exists. While all together are too large, deletes the oldest of the
 * account that stores the most for what it paid.
 */
function writeAnswer(database: Database, { answer, payer = NOBODY }: AnswerRow): void {
  let statements = statementsOf.get(database);
  if (statements === undefined) {
    statements = prepareAnswerWrites(database);
    statementsOf.set(database, statements);
  }
  const { requestId, atMs, bytes, sealed } = answer;
  if (statements.write.run(requestId, atMs, bytes, sealed, payer.account, payer.paid).changes === 0) return;
  let stored = (statements.readStored.get() as { bytes: number }).bytes;
  // The loop ends: without rows the stored size is 0.
  while (stored > bounds.answersStoredBytesMax) {
    const next = statements.findNext.get() as { seq: number; bytes: number };
    statements.remove.run(next.seq);
    stored -= next.bytes;
  }
}

function prepareAnswerWrites(database: Database) {
  return {
    write: prepareText(
      database,
      `INSERT INTO answers (request_id, at_ms, bytes, sealed, account_id, paid) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (request_id) DO NOTHING`,
    ),
    readStored: prepareText(database, 'SELECT bytes FROM answers_stored'),
    findNext: prepareText(
      database,
      `SELECT seq, bytes FROM answers
       WHERE account_id = (SELECT account_id FROM answer_shares ORDER BY bytes_per_usd DESC, account_id LIMIT 1)
       ORDER BY seq LIMIT 1`,
    ),
    remove: prepareText(database, 'DELETE FROM answers WHERE seq = $1'),
  };
}
