// What dropping old rows is told of the store, over a connection that only reads.

import type { Database } from 'bun:sqlite';
import { bounds } from '../../config.ts';
import type { CarryPage } from '../../ledger/ledger.ts';
import type { RetentionReads } from '../retention.ts';
import { countToCarry } from './carry-entries.ts';
import { countForgotten } from './forget-rows.ts';
import { prepareText } from './statements.ts';

// The first entry by time decides: what carries others forward is one, or a few, before all others of its account.
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
