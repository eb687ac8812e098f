// Rows of tag sets: their statements and their reads, the same for both databases.

import type { TagSet, TagSetStore } from '../accounts/accounts.ts';
import type { LedgerGate } from '../ledger/ledger.ts';
import type { CoCommittedStatement } from './co-committed.ts';
import type { SqlReader } from './sql-reader.ts';

/** Nothing is written if the account has `setsMax` sets in the month. */
export interface TagSetRow {
  table: 'tag_sets';
  set: TagSet;
  setsMax: number;
}

export function tagSetStatement({ set, setsMax }: TagSetRow): CoCommittedStatement {
  const { account, id, monthMs, text } = set;
  return {
    text: `INSERT INTO tag_sets (account_id, id, month_ms, tags)
       SELECT CAST($1 AS bigint), CAST($2 AS bigint), CAST($3 AS bigint), CAST($4 AS text)
       WHERE (SELECT COUNT(*) FROM tag_sets WHERE account_id = $1 AND month_ms = $3) < $5
       ON CONFLICT DO NOTHING`,
    values: [account, id, monthMs, text, setsMax],
  };
}

export function tagSetWrites(gate: LedgerGate): Pick<TagSetStore, 'addTagSet'> {
  return {
    async addTagSet(set, setsMax) {
      await gate.submit({ operations: [], coCommitted: [{ table: 'tag_sets', set, setsMax } satisfies TagSetRow] });
    },
  };
}

export function tagSetReads(on: SqlReader): Pick<TagSetStore, 'findTagSet'> {
  const find = on.prepare<{ stored: number; count: number }>(
    `SELECT ${on.number('(SELECT COUNT(*) FROM tag_sets s WHERE s.account_id = $1 AND s.id = $2 AND s.month_ms = $3)')} AS stored,
       ${on.number('(SELECT COUNT(*) FROM tag_sets s WHERE s.account_id = $1 AND s.month_ms = $3)')} AS count`,
  );
  return {
    async findTagSet({ account, id, monthMs }) {
      const [found] = await find(account, id, monthMs);
      return { isStored: (found?.stored ?? 0) > 0, count: found?.count ?? 0 };
    },
  };
}
