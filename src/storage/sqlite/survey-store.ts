// A summary of a database for the operator: counts and names from one snapshot, without statements that are slow
// with many records.

import type { Database } from 'bun:sqlite';
import type { LedgerSums } from '../../ledger/ledger.ts';
import {
  accountsText,
  describeSums,
  FAULTS_MAX,
  HOLDS,
  type HoldsOfNodes,
  KEPT_TIMES,
  LEASES,
  readRetentionTimes,
  SETTINGS,
  type SumRows,
  sumTexts,
  sumValues,
  wrongMonthsText,
} from '../ledger-sums.ts';
import {
  describeSurvey,
  INSTALLATION,
  PROOF,
  type StoreSurvey,
  type SurveyRows,
  surveyTexts,
} from '../store-survey.ts';
import { storedColumns } from '../stored-columns.ts';
import { type HoldsTable, readHold } from '../stored-hold.ts';
import { readLeaseRow } from '../tables.ts';
import { findUnreadable, type StoredText } from '../unreadable-rows.ts';
import { openForReading } from './open-database.ts';
import { prepareText } from './statements.ts';

/** NULL instead of an error for a text that is not JSON: it is reported on its own. */
const json = (column: string) => `CASE WHEN json_valid(${column}) THEN ${column} END`;

const texts = surveyTexts({
  text: (alias, name) => `json_extract(${json(`${alias}.document`)}, '$.${name}')`,
  listed: (alias, name, as) => `json_each(${json(`${alias}.document`)}, '$.${name}') ${as}`,
});

/** Surveys the database at `path`, whether a server is running on it or not. Throws SQLite's errors. */
export function surveyStore(path: string, nowMs: number): StoreSurvey {
  return withReader(path, (database) => {
    const all = <Row>(text: string, ...values: number[]) => prepareText(database, text).all(...values) as Row[];
    const rows: SurveyRows = {
      installation: all(INSTALLATION),
      counts: all(texts.counts, nowMs),
      lostGroups: all(texts.lostGroups),
      documents: all(texts.documents),
    };
    return describeSurvey(rows);
  });
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
  const all = <Row>(text: string, values: readonly (bigint | string)[] = []) =>
    prepareText(database, text).all(...values) as Row[];
  const kept = readRetentionTimes(all(KEPT_TIMES));
  const values = sumValues(kept);
  const rows: SumRows = {
    accounts: all(ACCOUNTS),
    keys: all(sumTexts.keys),
    counts: all(sumTexts.counts),
    unbalanced: all(sumTexts.unbalanced, values.unbalanced),
    strangeEntries: all(sumTexts.strangeEntries, values.strangeEntries),
    carried: all(sumTexts.carried),
    unequalTotals: all(sumTexts.unequalTotals, values.unequalTotals),
    withoutMeters: all(sumTexts.withoutMeters),
    wrongMonths: all(WRONG_MONTHS, values.wrongMonths),
    holds: all(sumTexts.holds),
    strangeHolds: all(STRANGE_HOLDS),
    miscounted: all(MISCOUNTED),
  };
  return describeSums(rows, kept);
}

const ACCOUNTS = accountsText(
  `CAST(json_extract(${json('document')}, '$.fromPlan') AS INTEGER)`,
  `CAST(json_extract(${json('m.plan')}, '$.held') AS INTEGER)`,
);

const WRONG_MONTHS = wrongMonthsText(
  "CAST(strftime('%s', day * 86400, 'unixepoch', 'start of month') AS INTEGER) * 1000",
);

const STRANGE_HOLDS = `
  SELECT h.request_id FROM (SELECT *, ${json('document')} AS hold FROM holds) h
  LEFT JOIN account_meters m ON m.id = h.account_id
  LEFT JOIN key_meters k ON k.id = h.key_id AND k.account_id = h.account_id
  LEFT JOIN usage_records r ON r.request_id = h.request_id
  WHERE m.id IS NULL OR k.id IS NULL OR r.request_id IS NOT NULL
    OR json_extract(h.hold, '$.requestId') IS NOT h.request_id
    OR json_extract(h.hold, '$.account') IS NOT h.account_id
    OR json_extract(h.hold, '$.key') IS NOT h.key_id
    OR json_extract(h.hold, '$.amount') IS NOT h.amount
  LIMIT ${FAULTS_MAX}`;

const MISCOUNTED = `
  WITH present AS (
    SELECT account_id, key_id, json_extract(${json('document')}, '$.group') AS group_name FROM holds
    WHERE NOT json_extract(${json('document')}, '$.left')),
  in_groups AS (
    SELECT m.id, g.key AS group_name, json_extract(${json('g.value')}, '$.running') AS running
    FROM account_meters m, json_each(${json('m.group_rates')}) g)
  SELECT 'acct' AS kind, g.id, g.running, COUNT(p.account_id) AS open FROM in_groups g
  LEFT JOIN present p ON p.account_id = g.id AND p.group_name = g.group_name
  GROUP BY g.id, g.group_name HAVING g.running IS NOT COUNT(p.account_id)
  UNION ALL
  SELECT 'key', k.id, json_extract(${json('k.rates')}, '$.running'), COUNT(p.key_id) FROM key_meters k
  LEFT JOIN present p ON p.key_id = k.id
  GROUP BY k.id HAVING json_extract(${json('k.rates')}, '$.running') IS NOT COUNT(p.key_id)
  LIMIT ${FAULTS_MAX}`;

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
  return withReader(path, (database) => ({
    holds: (prepareText(database, HOLDS).all() as HoldsTable[]).map(readHold),
    leases: (prepareText(database, LEASES).all() as Parameters<typeof readLeaseRow>[0][]).map(readLeaseRow),
    settings: (prepareText(database, SETTINGS).get() as { document: string } | null)?.document ?? null,
  }));
}
