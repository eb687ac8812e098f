// A summary of a database for the operator: counts and names from one snapshot, without statements that are slow
// with many records.

import { integerOf } from '../../base/checked-number.ts';
import type { LedgerSums } from '../../ledger/ledger.ts';
import {
  accountsText,
  describeSums,
  FAULTS_MAX,
  KEPT_TIMES,
  readRetentionTimes,
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
import { type Reader, readSnapshot } from './read-pool.ts';

const member = (alias: string, name: string) => `(${alias}.document::json ->> '${name}')`;
const texts = surveyTexts({
  text: member,
  number: (alias, name) => `${member(alias, name)}::bigint`,
  listed: (alias, name, as) => `json_array_elements_text(${alias}.document::json -> '${name}') ${as} (value)`,
});

/** Surveys the database, whether nodes are running on it or not. Throws the driver's error. */
export function surveyStore(url: string, nowMs: number, statementMsMax?: number): Promise<StoreSurvey> {
  const look = async ({ read }: Reader) => {
    const rows: SurveyRows = {
      installation: await read(INSTALLATION),
      counts: await read(texts.counts, nowMs),
      lostGroups: await read(texts.lostGroups),
      documents: await read(texts.documents),
    };
    return describeSurvey(rows);
  };
  return readSnapshot(url, look, statementMsMax);
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

/** Sums up the database, whether nodes are running on it or not. Throws the driver's error. */
export function sumLedger(url: string, statementMsMax?: number): Promise<LedgerSums> {
  return readSnapshot(url, sumReader, statementMsMax);
}

/** Sums up what a reader sees, which must be one snapshot. */
export async function sumReader(reader: Reader): Promise<LedgerSums> {
  const all = <Row>(text: string, values: readonly (bigint | string)[] = []) =>
    reader.read<Row>(text, ...values.map((value) => (typeof value === 'bigint' ? integerOf(value) : value)));
  const kept = readRetentionTimes(await all(KEPT_TIMES));
  const values = sumValues(kept);
  const rows: SumRows = {
    accounts: await all(ACCOUNTS),
    keys: await all(sumTexts.keys),
    counts: await all(sumTexts.counts),
    unbalanced: await all(sumTexts.unbalanced, values.unbalanced),
    strangeEntries: await all(sumTexts.strangeEntries, values.strangeEntries),
    carried: await all(sumTexts.carried),
    unequalTotals: await all(sumTexts.unequalTotals, values.unequalTotals),
    withoutMeters: await all(sumTexts.withoutMeters),
    wrongMonths: await all(WRONG_MONTHS, values.wrongMonths),
    holds: await all(sumTexts.holds),
    strangeHolds: await all(STRANGE_HOLDS),
    miscounted: await all(MISCOUNTED),
  };
  const sums = describeSums(rows, kept);
  const misplaced = await all<{ request_id: string }>(MISPLACED_RECORDS);
  const faults = misplaced.map(
    (row) => `${row.request_id}: its usage record is stored twice, or under the wrong month`,
  );
  return { ...sums, strangeEntries: [...sums.strangeEntries, ...faults] };
}

const ACCOUNTS = accountsText("(document::json->>'fromPlan')::bigint", "(m.plan::json->>'held')::bigint");

const WRONG_MONTHS = wrongMonthsText(
  "extract(epoch FROM date_trunc('month', to_timestamp(day * 86400) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::bigint * 1000",
);

// Columns that duplicate members of the document must equal them.
const STRANGE_HOLDS = `
  SELECT h.request_id FROM (SELECT *, document::json AS hold FROM holds) h
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
  LIMIT ${FAULTS_MAX}`;

const MISCOUNTED = `
  WITH present AS (
    SELECT account_id, key_id, document::json ->> 'group' AS group_name FROM holds
    WHERE NOT (document::json ->> 'left')::boolean),
  in_groups AS (
    SELECT m.id, g.key AS group_name, (g.value ->> 'running')::bigint AS running
    FROM account_meters m CROSS JOIN LATERAL json_each(m.group_rates::json) g)
  SELECT 'acct' AS kind, g.id, g.running, COUNT(p.account_id) AS open FROM in_groups g
  LEFT JOIN present p ON p.account_id = g.id AND p.group_name = g.group_name
  GROUP BY g.id, g.group_name, g.running HAVING g.running IS DISTINCT FROM COUNT(p.account_id)
  UNION ALL
  SELECT 'key', k.id, (k.rates::json ->> 'running')::bigint, COUNT(p.key_id) FROM key_meters k
  LEFT JOIN present p ON p.key_id = k.id
  GROUP BY k.id HAVING (k.rates::json ->> 'running')::bigint IS DISTINCT FROM COUNT(p.key_id)
  LIMIT ${FAULTS_MAX}`;

// The id index covers one month, so only the ledger keeps an id from existing in two.
const MISPLACED_RECORDS = `
  SELECT r.request_id FROM usage_records r GROUP BY r.request_id HAVING COUNT(*) > 1
  UNION
  SELECT r.request_id FROM usage_records r
  WHERE r.month <> to_char(to_timestamp(r.at_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMM')::integer
  LIMIT ${FAULTS_MAX}`;
