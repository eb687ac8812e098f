// A summary of a database for the operator: counts and names from one snapshot, without statements that are slow
// with many records.

import { integerOf } from '../../base/checked-number.ts';
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
import { storedColumns, summedColumns } from '../stored-columns.ts';
import { type HoldsTable, readHold } from '../stored-hold.ts';
import { readLeaseRow } from '../tables.ts';
import { findUnreadable, type StoredText } from '../unreadable-rows.ts';
import { type Reader, readSnapshot } from './read-pool.ts';

const texts = surveyTexts({
  text: (alias, name) => `(${alias}.document::json ->> '${name}')`,
  listed: (alias, name, as) => `json_array_elements_text(${alias}.document::json -> '${name}') ${as} (value)`,
});

/** Surveys the database, whether nodes are running on it or not. Throws the driver's error. */
export async function surveyStore(url: string, nowMs: number, statementMsMax?: number): Promise<StoreSurvey> {
  const lostGroups = await readLostGroups(url, statementMsMax);
  const look = async ({ read }: Reader) => {
    const rows: SurveyRows = {
      installation: await read(INSTALLATION),
      counts: await read(texts.counts, nowMs),
      lostGroups,
      documents: await read(texts.documents),
    };
    return describeSurvey(rows);
  };
  return readSnapshot(url, look, statementMsMax);
}

/** None if a document cannot be read, which is reported on its own: one such document fails the whole statement. */
async function readLostGroups(url: string, statementMsMax?: number): Promise<SurveyRows['lostGroups']> {
  try {
    return await readSnapshot(url, ({ read }) => read(texts.lostGroups), statementMsMax);
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
  for (const { table, key, column, read } of summedColumns) {
    const keys: string[] = [];
    const text = `SELECT CAST(${key} AS text) AS key, ${column} AS stored FROM ${table} WHERE ${column} IS NOT NULL`;
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
  const look = async ({ read }: Reader) => {
    const [clock] = await read<{ now_ms: number }>(CLOCK);
    const holds = await read<HoldsTable>(HOLDS);
    const [settings] = await read<{ document: string }>(SETTINGS);
    const leases = await read<Parameters<typeof readLeaseRow>[0]>(LEASES);
    return {
      nowMs: integerOf(clock?.now_ms),
      settings: settings?.document ?? null,
      holds: holds.map((row) =>
        readHold({
          ...row,
          account_id: integerOf(row.account_id),
          key_id: integerOf(row.key_id),
          amount: integerOf(row.amount),
        }),
      ),
      leases: leases.map((row) =>
        readLeaseRow({ ...row, epoch: integerOf(row.epoch), expires_at_ms: integerOf(row.expires_at_ms) }),
      ),
    };
  };
  return readSnapshot(url, look, statementMsMax);
}

const CLOCK = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms';

/** Sums up what a reader sees, which must be one snapshot. */
export async function sumReader(reader: Reader, unsummed: Unsummed = new Map()): Promise<LedgerSums> {
  const texts = sumsWithout(unsummed);
  const all = <Row>(text: string, values: readonly (bigint | string)[] = []) =>
    reader.read<Row>(text, ...values.map((value) => (typeof value === 'bigint' ? integerOf(value) : value)));
  const kept = readRetentionTimes(await all(KEPT_TIMES));
  const values = sumValues(kept);
  const rows: SumRows = {
    accounts: await all(texts.accounts),
    keys: await all(sumTexts.keys),
    counts: await all(sumTexts.counts),
    unbalanced: await all(sumTexts.unbalanced, values.unbalanced),
    strangeEntries: await all(sumTexts.strangeEntries, values.strangeEntries),
    carried: await all(sumTexts.carried),
    unequalTotals: await all(sumTexts.unequalTotals, values.unequalTotals),
    withoutMeters: await all(sumTexts.withoutMeters),
    wrongMonths: await all(WRONG_MONTHS, values.wrongMonths),
    holds: await all(sumTexts.holds),
    strangeHolds: await all(texts.strangeHolds),
    miscounted: await all(texts.miscounted),
  };
  const sums = describeSums(rows, kept);
  const misplaced = await all<{ request_id: string }>(MISPLACED_RECORDS);
  const faults = misplaced.map(
    (row) => `${row.request_id}: its usage record is stored twice, or under the wrong month`,
  );
  return { ...sums, strangeEntries: [...sums.strangeEntries, ...faults] };
}

const WRONG_MONTHS = wrongMonthsText(
  "extract(epoch FROM date_trunc('month', to_timestamp(day * 86400) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::bigint * 1000",
);

/** The statements that take JSON apart, which is NULL where the sums cannot take it. */
function sumsWithout(unsummed: Unsummed) {
  const json = (place: string, key: string, column: string) => {
    const keys = (unsummed.get(place) ?? []).map((text) => `'${text.replaceAll("'", "''")}'`);
    return keys.length === 0
      ? `${column}::json`
      : `(CASE WHEN CAST(${key} AS text) IN (${keys.join(', ')}) THEN NULL ELSE ${column}::json END)`;
  };
  const hold = json('holds.document', 'request_id', 'document');
  const rates = json('key_meters.rates', 'k.id', 'k.rates');
  return {
    accounts: accountsText(
      `(${hold} ->> 'fromPlan')::bigint`,
      `(${json('account_meters.plan', 'm.id', 'm.plan')} ->> 'held')::bigint`,
    ),
    // Columns that duplicate members of the document must equal them.
    strangeHolds: `
  SELECT h.request_id FROM (SELECT *, ${hold} AS hold FROM holds) h
  LEFT JOIN account_meters m ON m.id = h.account_id
  LEFT JOIN key_meters k ON k.id = h.key_id AND k.account_id = h.account_id
  LEFT JOIN usage_records r ON r.request_id = h.request_id
  WHERE m.id IS NULL OR k.id IS NULL OR r.request_id IS NOT NULL
    OR h.hold ->> 'requestId' IS DISTINCT FROM h.request_id
    OR (h.hold ->> 'account')::numeric IS DISTINCT FROM h.account_id
    OR (h.hold ->> 'key')::numeric IS DISTINCT FROM h.key_id
    OR (h.hold ->> 'amount')::numeric IS DISTINCT FROM h.amount
    OR h.hold #>> '{owner,node}' IS DISTINCT FROM h.node
    OR (h.hold #>> '{owner,epoch}')::numeric IS DISTINCT FROM h.epoch
    OR h.hold ->> 'claim' IS DISTINCT FROM h.claim
  LIMIT ${FAULTS_MAX}`,
    miscounted: `
  WITH present AS (
    SELECT account_id, key_id, ${hold} ->> 'group' AS group_name FROM holds
    WHERE NOT (${hold} ->> 'left')::boolean),
  in_groups AS (
    SELECT m.id, g.key AS group_name, (g.value ->> 'running')::bigint AS running
    FROM account_meters m CROSS JOIN LATERAL json_each(${json('account_meters.group_rates', 'm.id', 'm.group_rates')}) g)
  SELECT 'acct' AS kind, g.id, g.running, COUNT(p.account_id) AS open FROM in_groups g
  LEFT JOIN present p ON p.account_id = g.id AND p.group_name = g.group_name
  GROUP BY g.id, g.group_name, g.running HAVING g.running IS DISTINCT FROM COUNT(p.account_id)
  UNION ALL
  SELECT 'key', k.id, (${rates} ->> 'running')::bigint, COUNT(p.key_id) FROM key_meters k
  LEFT JOIN present p ON p.key_id = k.id
  GROUP BY k.id HAVING (${rates} ->> 'running')::bigint IS DISTINCT FROM COUNT(p.key_id)
  LIMIT ${FAULTS_MAX}`,
  };
}

// The id index covers one month, so only the ledger keeps an id from existing in two.
const MISPLACED_RECORDS = `
  SELECT r.request_id FROM usage_records r GROUP BY r.request_id HAVING COUNT(*) > 1
  UNION
  SELECT r.request_id FROM usage_records r
  WHERE r.month <> to_char(to_timestamp(r.at_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMM')::integer
  LIMIT ${FAULTS_MAX}`;
