// Rows with stored documents, of which some cannot be read: those are reported and passed over, so that they stop no other.

import { bounds } from '../config/config.ts';
import { DocumentUnreadable } from './document-shape.ts';
import type { SqlReader } from './sql-reader.ts';

type Reporter = Pick<SqlReader, 'onUnreadable'>;
type KeyOf<Row> = (row: Row) => string | number;

export function readRows<Row, Value>(
  on: Reporter,
  rows: readonly Row[],
  keyOf: KeyOf<Row>,
  read: (row: Row) => Value,
): Value[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)];
    } catch (failure) {
      if (!(failure instanceof DocumentUnreadable)) throw failure;
      on.onUnreadable(String(keyOf(row)), failure.message);
      return [];
    }
  });
}

/** A page of `limit` rows: one with fewer is the last. `ask` leaves out its first rows. */
export async function readPage<Row, Value>(
  on: Reporter,
  limit: number,
  ask: (skipped: number) => Promise<Row[]>,
  keyOf: KeyOf<Row>,
  read: (row: Row) => Value,
): Promise<Value[]> {
  const values: Value[] = [];
  for (let asked = 0; ; asked += limit) {
    const rows = await ask(asked);
    values.push(...readRows(on, rows, keyOf, read));
    if (values.length >= limit || rows.length < limit || asked >= bounds.unreadableRowsPassedMax)
      return values.slice(0, limit);
  }
}
