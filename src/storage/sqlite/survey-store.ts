// A summary of a database for the operator: counts and names from one snapshot, without statements that are slow
// with many records.

import type { Database } from 'bun:sqlite';
import type { LedgerSums } from '../../ledger/ledger.ts';
import { describeSums, KEPT_TIMES, readRetentionTimes, type SumSyntax, sumStatements } from '../ledger-sums.ts';
import {
  describeNodes,
  describeSurvey,
  type HoldsOfNodes,
  nodeStatements,
  PROOF,
  type Statements,
  type StoreSurvey,
  surveyStatements,
} from '../store-survey.ts';
import { storedColumns } from '../stored-columns.ts';
import { findUnreadable, type StoredText } from '../unreadable-rows.ts';
import { openForReading } from './open-database.ts';
import { unitsOf } from './reader.ts';
import { prepareText } from './statements.ts';

/** NULL instead of an error for a text that is not JSON: it is reported on its own. */
const json = (column: string) => `(CASE WHEN json_valid(${column}) THEN ${column} END)`;

const surveySyntax = { document: json('a.document'), groups: `json_each(${json('a.document')}, '$.groups') g` };

const sumSyntax: SumSyntax = {
  json: (_place, _key, column) => json(column),
  above: (hold) => `json_each(${hold}, '$.above') e`,
  runningOfGroup: `${json('g.value')} ->> 'running'`,
  monthOfDay: "CAST(strftime('%s', day * 86400, 'unixepoch', 'start of month') AS INTEGER) * 1000",
  tags: `json_each(${json('s.tags')}) e`,
  unitsOf,
  strangeHold: '',
};

function readAll<Rows>(database: Database, statements: Statements<Rows>): Rows {
  const read = ([text, ...values]: Statements<Rows>[keyof Rows]) => prepareText(database, text).all(...values);
  const names = Object.keys(statements) as (keyof Rows)[];
  return Object.fromEntries(names.map((name) => [name, read(statements[name])])) as Rows;
}

/** Surveys the database at `path`, whether a server is running on it or not. Throws SQLite's errors. */
export function surveyStore(path: string, nowMs: number): StoreSurvey {
  return withReader(path, (database) => describeSurvey(readAll(database, surveyStatements(surveySyntax, nowMs))));
}

/**
 * The proof of the database's installation secret, for any version of its tables; null without one. Throws SQLite's
 * errors.
 */
export function readProof(path: string): string | null {
  return withReader(path, (database) => {
    const row = prepareText(database, PROOF).get() as { value: string } | null;
    return row?.value ?? null;
  });
}

function withReader<Value>(path: string, read: (database: Database) => Value): Value {
  const database = openForReading(path);
  try {
    return database.transaction(() => read(database))();
  } finally {
    database.close();
  }
}

/** Sums up the database at `path`, whether a server is running on it or not. */
export function sumLedger(path: string): LedgerSums {
  const database = openForReading(path, { exact: true });
  try {
    return sumDatabase(database);
  } finally {
    database.close();
  }
}

/** The same on a connection that returns integers as bigint. */
export function sumDatabase(database: Database): LedgerSums {
  return database.transaction(() => sum(database))();
}

function sum(database: Database): LedgerSums {
  const kept = readRetentionTimes(prepareText(database, KEPT_TIMES).all() as { name: string; value: string }[]);
  return describeSums(readAll(database, sumStatements(sumSyntax, kept)), kept);
}

/** A sentence for each value in the database at `path` that this program cannot read. */
export async function findUnreadableRows(path: string): Promise<string[]> {
  const database = openForReading(path);
  try {
    return await findUnreadable(storedColumns, (text) => readPieces(database, text));
  } finally {
    database.close();
  }
}

const PIECE_ROWS = 1_000;

function* readPieces(database: Database, text: string): Generator<StoredText[]> {
  let piece: StoredText[] = [];
  for (const row of database.prepare<StoredText, []>(text).iterate()) {
    if (piece.push(row) < PIECE_ROWS) continue;
    yield piece;
    piece = [];
  }
  yield piece;
}

/** Open holds and leases, as they are stored. */
export function readHoldsOfNodes(path: string): HoldsOfNodes {
  return withReader(path, (database) => describeNodes(readAll(database, nodeStatements)));
}
