// What dropping old rows is told of the store.

import { bounds } from '../../config.ts';
import type { CarryPage } from '../../ledger/ledger.ts';
import type { RetentionReads } from '../retention.ts';
import { ageColumnOf } from './forget-rows.ts';
import type { Reader } from './read-pool.ts';
import { monthOf } from './usage-months.ts';

const COUNT_TO_CARRY = `
  SELECT count(*)::float8 AS count FROM (
    SELECT 1 FROM entries r WHERE r.account_id = $1 AND r.at_ms < $2 AND r.kind <> 'carried_forward' LIMIT $3) old`;

// The first entry by time decides: what carries others forward is one, or a few, before all others of its account. With its own
// limit the look is made for each account alone, by the index.
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
      const age = ageColumnOf(table);
      const old = (where: string, limit: string) =>
        `SELECT count(*)::float8 AS count FROM (SELECT 1 FROM ${table} r WHERE r.${age} < $1 ${where} LIMIT ${limit}) old`;
      if (table !== 'usage_records') return countOf(old('', '$2'), beforeMs);
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
