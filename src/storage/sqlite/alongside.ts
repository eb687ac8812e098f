// Writes rows of other modules within the ledger's transaction.

import type { Database } from 'bun:sqlite';
import { assert } from '../../base/assert.ts';
import type { AlongsideRow } from '../alongside.ts';
import { alongsideStatements } from '../alongside-statements.ts';
import { writeAnswer } from './answers.ts';
import { carryEntries } from './carry-entries.ts';
import { forgetRows } from './forget-rows.ts';
import { prepareText } from './statements.ts';

/** Writes one row in the transaction that is open. Throws what SQLite throws, BrokenInvariant where it is refused. */
export function writeAlongside(database: Database, untyped: unknown): void {
  const row = untyped as AlongsideRow;
  if ('forget' in row) forgetRows(database, row.table, row.forget.beforeMs);
  else if ('carry' in row) carryEntries(database, row.carry.account, row.carry.beforeMs);
  else if (row.table === 'answers') writeAnswer(database, row.answer);
  else if (row.table !== 'changes')
    for (const { text, values, refusal } of alongsideStatements(row)) {
      const { changes } = prepareText(database, text).run(...values);
      assert(refusal === undefined || changes > 0, refusal ?? '');
    }
}
