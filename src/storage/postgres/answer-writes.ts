// The stored answers to claims: written in the ledger's transaction; where all of them become too much, the oldest go in one of
// their own, after it.

import { bounds } from '../../config.ts';
import type { Ending, StoredAnswer } from '../../ledger/ledger.ts';
import { type Column, columnsOf } from './columns.ts';
import type { Asked } from './connection.ts';

const SLOTS = 64;

interface SlottedAnswer extends StoredAnswer {
  /** The row in which it is counted, by its account: all nodes would wait for a single one. */
  slot: number;
}

const columns: readonly Column<SlottedAnswer>[] = [
  { name: 'request_id', type: 'text', of: (row) => row.requestId },
  { name: 'at_ms', type: 'bigint', of: (row) => row.atMs },
  { name: 'bytes', type: 'bigint', of: (row) => row.bytes },
  { name: 'sealed', type: 'text', of: (row) => row.sealed },
  { name: 'slot', type: 'bigint', of: (row) => row.slot },
];

const INSERT_ANSWERS = `
  INSERT INTO answers (request_id, at_ms, bytes, sealed, slot)
  SELECT * FROM unnest($1::text::text[], $2::text::bigint[], $3::text::bigint[], $4::text::text[], $5::text::bigint[])
  ON CONFLICT (request_id) DO NOTHING`;

/** Writes answers that are not there yet. `endings`: those of the same batch, which say whose they are. */
export function writeAnswers(answers: readonly StoredAnswer[], endings: readonly Ending[]): Asked[] {
  if (answers.length === 0) return [];
  const accounts = new Map(endings.map(({ record }) => [record.requestId, record.account]));
  const rows = answers.map((answer) => ({ ...answer, slot: (accounts.get(answer.requestId) ?? 0) % SLOTS }));
  return [{ text: INSERT_ANSWERS, values: columnsOf(columns, rows) }];
}

/** How much all of them are together. */
export const SUM_ANSWERS: Asked = {
  text: 'SELECT sum(s.bytes)::float8 AS bytes FROM answers_stored s',
  values: [],
};

/** Drops the oldest, a bounded number of them, until all are less by that much. */
export function dropAnswers(excessBytes: number): Asked {
  return { text: DROP_ANSWERS, values: [excessBytes, bounds.rowsDroppedAtOnce] };
}

const DROP_ANSWERS = `
  DELETE FROM answers WHERE seq = ANY(ARRAY(
    SELECT old.seq FROM (
      SELECT a.seq, sum(a.bytes) OVER (ORDER BY a.seq) - a.bytes AS bytes_before FROM (
        SELECT seq, bytes FROM answers ORDER BY seq LIMIT $2::int) a) old
    WHERE old.bytes_before < $1::float8))`;
