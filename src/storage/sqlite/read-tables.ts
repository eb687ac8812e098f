// Reads whole tables of a database in pieces of bounded size, for whoever copies them into another: numbers exactly, columns as
// the table has them.

import type { Database } from 'bun:sqlite';
import { bounds } from '../../config.ts';
import {
  type MovedColumn,
  type MovedRow,
  type MovedSource,
  type MovedTable,
  sumTableText,
  type TableSums,
} from '../moved-tables.ts';
import { openForReading } from './open-database.ts';

/** Reads the database at `path` until it is disposed of. */
export function openTables(path: string): MovedSource & Disposable {
  const database = openForReading(path, { exact: true });
  database.run('BEGIN'); // what is read first says as of when
  return { ...tableReads(database), [Symbol.dispose]: () => database.close() };
}

/** Over a connection of the caller's, in a transaction where something else may write. */
export function tableReads(database: Database): MovedSource {
  const columns = (table: MovedTable): MovedColumn[] => {
    const rows = database.query(`SELECT name, type FROM pragma_table_info('${table}') ORDER BY cid`).all();
    return (rows as { name: string; type: string }[]).map(({ name, type }) => ({ name, isText: type === 'TEXT' }));
  };
  return {
    columns,
    pieces: (table) => readPieces(database, table),
    sums(table) {
      const text = sumTableText(table, columns(table), (column) => `LENGTH(CAST(${column} AS BLOB))`);
      return database.query(text).get() as TableSums;
    },
  };
}

function* readPieces(database: Database, table: MovedTable): Generator<MovedRow[]> {
  let rows: MovedRow[] = [];
  let characters = 0;
  const read = database.prepare<MovedRow, []>(`SELECT * FROM ${table}`).safeIntegers(true);
  for (const row of read.iterate()) {
    rows.push(row);
    characters += charactersOf(row);
    if (rows.length < bounds.movedRowsAtOnce && characters < bounds.movedCharactersAtOnce) continue;
    yield rows;
    rows = [];
    characters = 0;
  }
  if (rows.length > 0) yield rows;
}

function charactersOf(row: MovedRow): number {
  let characters = 0;
  for (const name in row) {
    const cell = row[name];
    if (typeof cell === 'string') characters += cell.length;
  }
  return characters;
}
