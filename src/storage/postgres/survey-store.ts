// A summary of a database for the operator: counts and names from one snapshot, without statements that are slow
// with many records.

import { integerOf } from '../../base/checked-number.ts';
import type { LedgerSums } from '../../ledger/ledger.ts';
import {
  describeSums,
  FAULTS_MAX,
  KEPT_TIMES,
  readRetentionTimes,
  type SumSyntax,
  sumStatements,
} from '../ledger-sums.ts';
import {
  describeNodes,
  describeSurvey,
  type HoldsOfNodes,
  nodeStatements,
  PROOF,
  type Statements,
  type StoreSurvey,
  type SurveyRows,
  surveyStatements,
} from '../store-survey.ts';
import { storedColumns, summedColumns } from '../stored-columns.ts';
import { findUnreadable, type StoredText } from '../unreadable-rows.ts';
import { type Reader, readSnapshot } from './read-pool.ts';
import { unitsOf } from './reader.ts';

const surveySyntax = {
  document: 'a.document::json',
  groups: "json_array_elements_text(a.document::json -> 'groups') g (value)",
};

async function readAll<Rows>({ read }: Reader, statements: Statements<Rows>): Promise<Rows> {
  const rows: [keyof Rows, unknown][] = [];
  for (const name of Object.keys(statements) as (keyof Rows)[]) {
    const [text, ...values] = statements[name];
    rows.push([name, await read(text, ...values)]);
  }
  return Object.fromEntries(rows) as Rows;
}

/** Surveys the database, whether nodes are running on it or not. Throws the driver's error. */
export async function surveyStore(url: string, nowMs: number, statementMsMax?: number): Promise<StoreSurvey> {
  const { lostGroups, ...statements } = surveyStatements(surveySyntax, nowMs);
  const lost = await readLostGroups(url, lostGroups[0], statementMsMax);
  const read = (reader: Reader) => readAll<Omit<SurveyRows, 'lostGroups'>>(reader, statements);
  return describeSurvey({ ...(await readSnapshot(url, read, statementMsMax)), lostGroups: lost });
}

/** None if a document cannot be read, which is reported on its own: one such document fails the whole statement. */
async function readLostGroups(url: string, text: string, statementMsMax?: number): Promise<SurveyRows['lostGroups']> {
  try {
    return await readSnapshot(url, ({ read }) => read(text), statementMsMax);
  } catch (failure) {
    if (isOfData(failure)) return [];
    throw failure;
  }
}

/** SQLSTATE class 22: a value cannot be read as what the statement takes it for. */
function isOfData(failure: unknown): boolean {
  return /^22[0-9A-Z]{3}$/.test(String((failure as { errno?: unknown }).errno));
}

/**
 * The proof of the database's installation secret, for any version of its tables; null without one. Throws the
 * driver's error.
 */
export function readProof(url: string): Promise<string | null> {
  return readSnapshot(url, async ({ read }) => {
    const [row] = await read<{ value: string }>(PROOF);
    return row?.value ?? null;
  });
}

/**
 * Sums up the database, whether nodes are running on it or not. Throws the driver's error. Rows that cannot be read are left out: they are
 * reported on their own.
 */
export async function sumLedger(url: string, statementMsMax?: number): Promise<LedgerSums> {
  try {
    return await readSnapshot(url, (reader) => sumReader(reader), statementMsMax);
  } catch (failure) {
    if (!isOfData(failure)) throw failure;
    return readSnapshot(url, async (reader) => sumReader(reader, await findUnsummed(reader)), statementMsMax);
  }
}

/** Keys of rows whose JSON the sums cannot take, by "table.column". */
type Unsummed = ReadonlyMap<string, readonly string[]>;

async function findUnsummed(reader: Reader): Promise<Unsummed> {
  const unsummed = new Map<string, string[]>();
  for (const { table, key, column, where, read } of summedColumns) {
    const keys: string[] = [];
    const text = `SELECT CAST(${key} AS text) AS key, ${column} AS stored FROM ${table} WHERE ${where ?? `${column} IS NOT NULL`}`;
    for await (const piece of readPieces(reader, text))
      for (const row of piece) if (!isReadable(read, row.stored)) keys.push(row.key);
    unsummed.set(`${table}.${column}`, keys);
  }
  return unsummed;
}

function isReadable(read: (text: string) => unknown, stored: string): boolean {
  try {
    read(stored);
    return true;
  } catch {
    return false;
  }
}

const PIECE_ROWS = 1_000;

/** In a transaction. */
async function* readPieces({ read }: Reader, text: string): AsyncGenerator<StoredText[]> {
  await read(`DECLARE pieces NO SCROLL CURSOR FOR ${text}`);
  for (;;) {
    const piece = await read<StoredText>(`FETCH ${PIECE_ROWS} FROM pieces`);
    yield piece;
    if (piece.length < PIECE_ROWS) break;
  }
  await read('CLOSE pieces');
}

/** A sentence for each stored value that this program cannot read. */
export async function findUnreadableRows(url: string, statementMsMax?: number): Promise<string[]> {
  const faults: string[] = [];
  for (const column of storedColumns) {
    const find = (reader: Reader) => findUnreadable([column], (text) => readPieces(reader, text));
    faults.push(...(await readSnapshot(url, find, statementMsMax))); // each on its own: a failure ends the transaction
  }
  return faults;
}

/** Open holds and leases, and the time, by the database's clock. */
export function readHoldsOfNodes(url: string, statementMsMax?: number): Promise<HoldsOfNodes & { nowMs: number }> {
  const look = async (reader: Reader) => {
    const [clock] = await reader.read<{ now_ms: number }>(CLOCK);
    return { ...describeNodes(await readAll(reader, nodeStatements)), nowMs: integerOf(clock?.now_ms) };
  };
  return readSnapshot(url, look, statementMsMax);
}

const CLOCK = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms';

/** Sums up what a reader sees, which must be one snapshot. */
export async function sumReader(reader: Reader, unsummed: Unsummed = new Map()): Promise<LedgerSums> {
  const kept = readRetentionTimes(await reader.read(KEPT_TIMES));
  const sums = describeSums(await readAll(reader, sumStatements(sumSyntax(unsummed), kept)), kept);
  const misplaced = await reader.read<{ request_id: string }>(MISPLACED_RECORDS);
  const faults = misplaced.map(
    (row) => `${row.request_id}: its usage record is stored twice, or under the wrong month`,
  );
  return { ...sums, strangeEntries: [...sums.strangeEntries, ...faults] };
}

function sumSyntax(unsummed: Unsummed): SumSyntax {
  return {
    json(place, key, column) {
      const keys = (unsummed.get(place) ?? []).map((text) => `'${text.replaceAll("'", "''")}'`);
      return keys.length === 0
        ? `${column}::json`
        : `(CASE WHEN CAST(${key} AS text) IN (${keys.join(', ')}) THEN NULL ELSE ${column}::json END)`;
    },
    above: (hold) => `json_array_elements_text(COALESCE(${hold} -> 'above', '[]'::json)) AS e (value)`,
    runningOfGroup: "g.value ->> 'running'",
    monthOfDay:
      "extract(epoch FROM date_trunc('month', to_timestamp(day * 86400) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::bigint * 1000",
    tags: 'jsonb_each_text(s.tags::jsonb) e (key, value)',
    unitsOf,
    strangeHold: `
    OR h.hold #>> '{owner,node}' IS DISTINCT FROM h.node
    OR (h.hold #>> '{owner,epoch}')::numeric IS DISTINCT FROM h.epoch
    OR h.hold ->> 'claim' IS DISTINCT FROM h.claim`,
  };
}

// The id index covers one month, so only the ledger keeps an id from existing in two.
const MISPLACED_RECORDS = `
  SELECT r.request_id FROM usage_records r GROUP BY r.request_id HAVING COUNT(*) > 1
  UNION
  SELECT r.request_id FROM usage_records r
  WHERE r.month <> to_char(to_timestamp(r.at_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMM')::integer
  LIMIT ${FAULTS_MAX}`;
