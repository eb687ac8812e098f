// Rows with stored documents, of which some cannot be read: those are reported and passed over, so that they stop no other.

import { bounds } from '../config/config.ts';
import { DocumentUnreadable } from './document-shape.ts';
import type { ReadValue, SqlReader } from './sql-reader.ts';
import { readStored, type StoredDocument } from './stored-documents.ts';

type Reporter = Pick<SqlReader, 'onUnreadable'>;
type KeyOf<Row> = (row: Row) => string | number;

/** One row; null without one. Rejects if it cannot be read. */
export function prepareOne<Row, Value, Values extends readonly ReadValue[]>(
  on: SqlReader,
  text: string,
  read: (row: Row) => Value,
): (...values: Values) => Promise<Value | null> {
  const ask = on.prepare<Row>(text);
  return async (...values) => {
    const [row] = await ask(...values);
    return row === undefined ? null : read(row);
  };
}

/** The document of one row; null without one. Rejects if it cannot be read. */
export function prepareDocument<Value, Values extends readonly ReadValue[]>(
  on: SqlReader,
  stored: StoredDocument<Value>,
  text: string,
): (...values: Values) => Promise<Value | null> {
  return prepareOne(on, text, ({ document }: { document: string }) => readStored(stored, document));
}

/** The number of rows of a table that match. */
export function prepareCount<Values extends readonly ReadValue[]>(on: SqlReader, table: string, where: string) {
  const ask = on.prepare<{ count: number }>(`SELECT ${on.number('count(*)')} AS count FROM ${table} WHERE ${where}`);
  return async (...values: Values) => (await ask(...values))[0]?.count ?? 0;
}

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
