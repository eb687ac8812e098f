// Rows of other modules as statements of the ledger's transaction.

import { assert } from '../../base/assert.ts';
import type { Changes } from '../../ledger/ledger.ts';
import type { AlongsideRow } from '../alongside.ts';
import { alongsideStatements } from '../alongside-statements.ts';
import { writeAnswers } from './answer-writes.ts';
import { carryEntries } from './carry-entries.ts';
import type { Answered, Asked } from './connection.ts';
import { forgetRows } from './forget-rows.ts';

/** A statement whose answer may show that its bundle is to be refused: then `check` throws BrokenInvariant. */
export interface CheckedAsk extends Asked {
  check?: (answer: Answered) => void;
}

/** What writes the rows alongside of a batch. */
export function writeAlongside(changes: Changes): CheckedAsk[] {
  const rows = changes.alongside as readonly AlongsideRow[];
  if (rows.length === 0) return [];
  const answers = rows.filter((row) => row.table === 'answers').flatMap((row) => ('answer' in row ? [row.answer] : []));
  return [...rows.flatMap(writeRow), ...writeAnswers(answers, changes.endings)];
}

/** Answers are written together, after the others; what changed is told last (raise-epoch.ts). */
function writeRow(row: AlongsideRow): CheckedAsk[] {
  if ('forget' in row) return forgetRows(row.table, row.forget.beforeMs);
  if ('carry' in row) return carryEntries(row.carry.account, row.carry.beforeMs);
  if (row.table === 'answers' || row.table === 'changes') return [];
  return alongsideStatements(row).map(({ text, values, refusal }) =>
    refusal === undefined ? { text, values } : { text, values, check: ({ count }) => assert(count > 0, refusal) },
  );
}
