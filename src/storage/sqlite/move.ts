// The source side of a move: reads whole tables in bounded pieces, and marks a database that was moved. The mark refuses every later
// open for writing; triggers refuse the lease of an older release that does not know the mark.

import { Database } from 'bun:sqlite';
import { bounds } from '../../config/config.ts';
import {
  describeMark,
  type MovedColumn,
  type MovedRow,
  type MovedSource,
  type MovedTable,
  type MoveMark,
  moveNames,
  sumTableText,
  type TableSums,
} from '../move.ts';
import { documents, readStored } from '../stored-documents.ts';
import { openForReading } from './open-database.ts';

/** Opens a snapshot of the database at `path` until it is disposed of. */
export function openTables(path: string): MovedSource & Disposable {
  const database = openForReading(path, { exact: true });
  database.run('BEGIN'); // the first read starts the snapshot
  return { ...tableReads(database), [Symbol.dispose]: () => database.close() };
}

/** Over an open connection, in a transaction if other connections may write. */
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

const BUSY_MS = 10_000;
const TRIGGERS = ['INSERT', 'UPDATE'].map((event) => ({ name: `moved_before_${event.toLowerCase()}`, event }));

/** Null if the database was not moved or has no tables. */
export function readMoveMark(path: string): MoveMark | null {
  using database = new Database(path, { readonly: true });
  database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
  return findMark(database);
}

/** Throws an Error for the operator if the database was moved. */
export function refuseMoved(database: Database): void {
  const mark = findMark(database);
  if (mark !== null) throw new Error(describeMark(mark));
}

/** Durable when it returns. */
export function writeMoveMark(path: string, mark: MoveMark): void {
  write(path, (database) => {
    database
      .query(
        'INSERT INTO installation (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      )
      .run(moveNames.to, JSON.stringify(mark));
    for (const { name, event } of TRIGGERS)
      database.run(
        `CREATE TRIGGER IF NOT EXISTS ${name} BEFORE ${event} ON leases
         BEGIN SELECT RAISE(ABORT, 'this installation was moved to another database'); END`,
      );
  });
}

export function removeMoveMark(path: string): void {
  write(path, (database) => {
    database.query('DELETE FROM installation WHERE name = ?').run(moveNames.to);
    for (const { name } of TRIGGERS) database.run(`DROP TRIGGER IF EXISTS ${name}`);
  });
}

function findMark(database: Database): MoveMark | null {
  const isMade = database.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'installation'").get();
  if (isMade === null) return null;
  const row = database.query('SELECT value FROM installation WHERE name = ?').get(moveNames.to);
  return row === null ? null : readStored(documents.moveMark, (row as { value: string }).value);
}

function write(path: string, change: (database: Database) => void): void {
  using database = new Database(path, { readwrite: true, create: false });
  database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
  database.run('PRAGMA synchronous = FULL');
  database.transaction(() => change(database)).immediate();
}
