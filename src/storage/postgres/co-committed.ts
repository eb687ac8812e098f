// Rows of other modules as statements of the ledger's transaction. When stored responses exceed their bound, some are
// deleted in a transaction of their own afterwards.

import { assert } from '../../base/assert.ts';
import { integerOf } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';
import {
  type CarryPage,
  type Changes,
  type ForgottenTable,
  type RetainedData,
  retainedSinceNames,
} from '../../ledger/ledger.ts';
import {
  type AnswerRow,
  type CoCommittedRow,
  checkChanged,
  coCommittedStatements,
  forgottenColumns,
  isAnswerRow,
  NOBODY,
  withPayers,
} from '../co-committed.ts';
import type { RetentionReads } from '../stores.ts';
import { type Column, text, whole } from '../tables.ts';
import { columnsOf, monthOf } from './columns.ts';
import type { Answered, Statement } from './connection.ts';
import type { Reader } from './read-pool.ts';

/** Deletes the oldest rows before that time. */
function forgetRows(table: ForgottenTable, beforeMs: number): CheckedAsk[] {
  const { age, where: ofTable = '' } = forgottenColumns[table];
  const id = table === 'usage_records' ? 'request_id, month' : forgottenColumns[table].id;
  const drop = (where: string) =>
    `DELETE FROM ${table} WHERE (${id}) IN (
      SELECT ${id} FROM ${table} WHERE ${age} < $1 ${where} ORDER BY ${age} LIMIT $2)`;
  if (table !== 'usage_records') return [{ text: drop(ofTable), values: [beforeMs, bounds.rowsDroppedAtOnce] }];
  return [
    requireExpired('usage', beforeMs, 'a usage record is dropped only after the retention boundary has passed it'),
    { text: drop('AND month <= $3'), values: [beforeMs, bounds.rowsDroppedAtOnce, monthOf(beforeMs)] },
  ];
}

/** Refuses to delete rows that are still retained. */
function requireExpired(kept: RetainedData, beforeMs: number, sentence: string): CheckedAsk {
  return {
    text: 'SELECT value::float8 AS since FROM installation WHERE name = $1',
    values: [retainedSinceNames[kept]],
    check: ([row]) => assert(row !== undefined && beforeMs <= integerOf(row['since']), sentence),
  };
}

const COUNT_TO_CARRY = `
  SELECT count(*)::float8 AS count FROM (
    SELECT 1 FROM entries r WHERE r.account_id = $1 AND r.at_ms < $2 AND r.kind <> 'carried_forward' LIMIT $3) old`;

// The first entry by time decides: carried-forward entries, one or a few, come before all others of their account. With its own
// limit, each account is looked up alone, by the index.
const LIST_TO_CARRY = `
  SELECT m.id::float8 AS id, due.is_due IS NOT NULL AS is_due FROM (
    SELECT a.id FROM account_meters a WHERE a.id > $2 ORDER BY a.id LIMIT $3) m
  LEFT JOIN LATERAL (
    SELECT true AS is_due FROM entries e
    WHERE e.account_id = m.id AND e.at_ms < $1 AND e.kind <> 'carried_forward'
    ORDER BY e.at_ms, e.seq LIMIT 1) due ON true`;

export function retentionReads(reader: Reader): RetentionReads {
  const countOf = async (text: string, ...values: readonly number[]) => {
    const [row] = await reader.read<{ count: number }>(text, ...values, bounds.rowsDroppedAtOnce);
    return row?.count ?? 0;
  };
  return {
    countForgotten(table, beforeMs) {
      const { age, where: ofTable = '' } = forgottenColumns[table];
      const old = (where: string, limit: string) =>
        `SELECT count(*)::float8 AS count FROM (SELECT 1 FROM ${table} r WHERE r.${age} < $1 ${where} LIMIT ${limit}) old`;
      if (table !== 'usage_records') return countOf(old(ofTable, '$2'), beforeMs);
      return countOf(old('AND r.month <= $2', '$3'), beforeMs, monthOf(beforeMs));
    },
    countToCarry: (account, beforeMs) => countOf(COUNT_TO_CARRY, account, beforeMs),
    async listToCarry(beforeMs, after): Promise<CarryPage> {
      const rows = await reader.read<{ id: number; is_due: boolean }>(
        LIST_TO_CARRY,
        beforeMs,
        after,
        bounds.rowsAtOnce,
      );
      const last = rows.reduce((greatest, { id }) => Math.max(greatest, id), 0);
      return {
        accounts: rows.filter((row) => row.is_due).map(({ id }) => id),
        last: rows.length < bounds.rowsAtOnce ? null : last,
      };
    },
  };
}

/** No effect without entries before that time. */
function carryEntries(account: number, beforeMs: number): CheckedAsk[] {
  return [
    requireExpired('journal', beforeMs, 'an entry is dropped only after the retention boundary has passed it'),
    {
      text: 'SELECT 1 FROM usage_records WHERE at_ms < $1 AND month <= $2 LIMIT 1',
      values: [beforeMs, monthOf(beforeMs)],
      check: (left) => assert(left.length === 0, 'entries are retained at least as long as their usage records'),
    },
    { text: CARRY, values: [account, beforeMs, bounds.rowsDroppedAtOnce] },
  ];
}

// With the rights of the owner of the tables: nodes need none to delete entries.
const CARRY = 'SELECT carry_entries($1, $2, $3)';

/** A statement whose result may refuse its bundle: then `check` throws BrokenInvariant or Outpaced. */
export interface CheckedAsk extends Statement {
  check?: (answer: Answered) => void;
}

/** Writes the co-committed rows of a batch. */
export function writeCoCommitted(changes: Changes): CheckedAsk[] {
  const rows = withPayers(changes);
  if (rows.length === 0) return [];
  return [...rows.flatMap(writeRow), ...writeAnswers(rows.filter(isAnswerRow))];
}

/** Stored responses are written together, after the others; notifications come last (change-feed.ts). */
function writeRow(row: CoCommittedRow): CheckedAsk[] {
  if ('forget' in row) return forgetRows(row.table, row.forget.beforeMs);
  if ('carry' in row) return carryEntries(row.carry.account, row.carry.beforeMs);
  if (row.table === 'answers' || row.table === 'changes' || 'roll' in row) return [];
  return coCommittedStatements(row).map((statement) => {
    const { text, values, refusal, race } = statement;
    const isChecked = refusal !== undefined || race !== undefined;
    return isChecked ? { text, values, check: ({ count }) => checkChanged(statement, count) } : { text, values };
  });
}

const SLOTS = 64;

const columns: readonly Column<AnswerRow>[] = [
  text('request_id', ({ answer }) => answer.requestId),
  whole('at_ms', ({ answer }) => answer.atMs),
  whole('bytes', ({ answer }) => answer.bytes),
  text('sealed', ({ answer }) => answer.sealed),
  whole('account_id', ({ payer = NOBODY }) => payer.account),
  whole('paid', ({ payer = NOBODY }) => payer.paid),
  // The row that counts it: a single row would make all nodes wait.
  whole('slot', ({ payer = NOBODY }) => payer.account % SLOTS),
];

const INSERT_ANSWERS = `
  INSERT INTO answers (request_id, at_ms, bytes, sealed, account_id, paid, slot)
  SELECT * FROM unnest($1::text::text[], $2::text::bigint[], $3::text::bigint[], $4::text::text[], $5::text::bigint[],
    $6::text::bigint[], $7::text::bigint[])
  ON CONFLICT (request_id) DO NOTHING`;

/** Writes responses that do not exist yet. */
function writeAnswers(rows: readonly AnswerRow[]): Statement[] {
  return rows.length === 0 ? [] : [{ text: INSERT_ANSWERS, values: columnsOf(columns, rows) }];
}

/** The total size of stored responses. */
export const SUM_ANSWERS: Statement = {
  text: 'SELECT sum(s.bytes)::float8 AS bytes FROM answers_stored s',
  values: [],
};

/**
 * While stored responses are too large, deletes the oldest of the account that stores the most for what it paid: a bounded
 * number. All slots are locked, so nothing is added or counted meanwhile. A row that retention deletes is skipped, because
 * retention locks it before its slot.
 */
export function dropAnswers(bytesMax: number): Statement {
  return {
    text: `DO $$
      DECLARE
        excess bigint;
        freed bigint;
      BEGIN
        PERFORM 1 FROM answers_stored ORDER BY slot FOR NO KEY UPDATE;
        SELECT sum(s.bytes) - ${bytesMax} INTO excess FROM answers_stored s;
        FOR drops IN 1..${bounds.rowsDroppedAtOnce} LOOP
          EXIT WHEN excess <= 0;
          DELETE FROM answers WHERE seq = (
            SELECT a.seq FROM answers a WHERE a.account_id = (
              SELECT s.account_id FROM answer_shares s ORDER BY s.bytes_per_usd DESC, s.account_id LIMIT 1)
            ORDER BY a.seq LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING bytes INTO freed;
          EXIT WHEN NOT FOUND;
          excess := excess - freed;
        END LOOP;
      END $$`,
    values: [],
  };
}
