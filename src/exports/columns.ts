// The columns of a file: their names, their types and how a row becomes their values. Both formats are written from them.

import type { Nano } from '../base/money.ts';

/**
 * `amount`: nanodollars of one row, written as USD. `sum`: likewise, of many rows. `whole`: a whole number. `time`:
 * milliseconds since 1970. `flag`: true or false.
 */
export type ColumnType = 'text' | 'amount' | 'sum' | 'whole' | 'time' | 'flag';

/** null is an empty cell. */
export type CellValue = string | Nano | bigint | boolean | null;

export interface Column<Row> {
  name: string;
  type: ColumnType;
  of(row: Row): CellValue;
}

/** The columns of a file, of any rows. */
// biome-ignore lint/suspicious/noExplicitAny: each file has rows of its own
export type AnyColumn = Column<any>;

/** Makes columns of these rows, so that each function knows their type. */
export function columnsFor<Row>() {
  const make =
    (type: ColumnType) =>
    (name: string, of: (row: Row) => CellValue): Column<Row> => ({ name, type, of });
  return {
    text: make('text'),
    amount: make('amount'),
    sum: make('sum'),
    whole: make('whole'),
    time: make('time'),
    flag: make('flag'),
  };
}
