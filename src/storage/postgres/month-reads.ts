// The statement of an account's month, read by one statement.

import { integerOf } from '../../base/checked-number.ts';
import { DAY_MS } from '../../base/clock.ts';
import { bounds } from '../../config/config.ts';
import { besideUsageKinds, retainedSinceNames } from '../../ledger/ledger.ts';
import {
  type BalancePaid,
  hasCompany,
  type MonthGrouping,
  type MonthStore,
  makeAccountMonth,
  monthGroupings,
  type UsageTotal,
} from '../../reports/reports.ts';
import { type EntryTable, entryColumnsOn, readEntry } from '../page-reads.ts';
import { BALANCE_PAID, BONUS_CHANGE, CHANGE } from '../tables.ts';
import { groupColumns } from '../totals-reads.ts';
import { readByTag, readTotal, shown, TAGS, TOTAL_SUMS, type TotalsRow, UNIT_SUMS } from '../totals-rows.ts';
import { tooManyTotals } from '../totals-runs.ts';
import { asFloat, asNumbers } from './columns.ts';
import type { Reader } from './read-pool.ts';

const ENTRY_COLUMNS = entryColumnsOn({ number: asFloat });

// $1 the account, $2 and $3 the first moments of the month and of the next, $4 the most rows to add up, $5 the most entries,
// $6 the most messages whose entries are added up, $7 the accounts of the company, $8 the most of their rows to add up, $9 whether by tag.
const changedFrom = (start: string) =>
  `SELECT coalesce(SUM(c.change), 0)::text FROM month_changes c WHERE c.account_id = $1 AND c.month_ms >= ${start}`;
const KINDS = `(VALUES ${besideUsageKinds.map((kind) => `('${kind}' COLLATE "C")`).join(', ')}) k (kind)`;
const ENTRIES_BESIDE_USAGE = `FROM entries r WHERE r.kind <> 'usage'
  AND r.account_id IN ($1, $1) AND r.kind = k.kind AND r.at_ms >= $2 AND r.at_ms < $3`;
const IN_ORDER = ['r.account_id', 'r.kind', 'r.at_ms', 'r.seq'];
const sumsBy = (groupBy: MonthGrouping) => {
  const columns = groupColumns[groupBy];
  return `(SELECT json_agg(s) FROM (SELECT ${shown({ number: asFloat }, columns)}, ${TOTAL_SUMS.sums} FROM totals r
    GROUP BY ${columns.map((column) => `r.${column}`).join(', ')}) s)`;
};
const companyOf = (table: string, sums: string, further: string) => `(SELECT json_agg(t) FROM (
  SELECT g.*, CASE WHEN $9 = 1 THEN (${TAGS}) END AS tags FROM (
    SELECT ${asFloat('r.account_id')} AS account_id, ${asFloat('CASE WHEN $9 = 1 THEN r.tag_set ELSE 0 END')} AS tag_set, ${sums}
    FROM unnest($7::text::bigint[]) a (id) CROSS JOIN LATERAL (
      SELECT * FROM ${table} r
      WHERE r.account_id IN (a.id, a.id) AND r.day_ms >= $2 AND r.day_ms < $3
      ORDER BY r.account_id, r.day_ms, r.key_id, r.model LIMIT $8) r
    GROUP BY 1, 2${further}) g) t)`;
const UNIT_COLUMNS = ['day_ms', 'account_id', 'key_id', 'model', 'unit'] as const;
const UNITS = `(SELECT json_agg(u) FROM (SELECT ${shown({ number: asFloat }, UNIT_COLUMNS)}, ${UNIT_SUMS.sums} FROM (
    SELECT * FROM unit_totals r WHERE r.account_id IN ($1, $1) AND r.day_ms >= $2 AND r.day_ms < $3
    ORDER BY r.account_id, r.day_ms, r.key_id, r.model LIMIT $4) r
  GROUP BY ${UNIT_COLUMNS.map((column) => `r.${column}`).join(', ')}) u)`;
const MONTH = `
  WITH totals AS MATERIALIZED (
    SELECT * FROM daily_totals r
    WHERE r.account_id IN ($1, $1) AND r.day_ms >= $2 AND r.day_ms < $3
    ORDER BY r.account_id, r.day_ms, r.key_id, r.model LIMIT $4)
  SELECT json_build_object(
    'meters', (SELECT row_to_json(m) FROM (
      SELECT ${asNumbers('m', 'balance', 'month_start_ms', 'month_opening')} FROM account_meters m WHERE m.id = $1) m),
    'since', (SELECT value FROM installation WHERE name = '${retainedSinceNames.journal}'),
    'changed_since', (${changedFrom('$2')}),
    'changed_after', (${changedFrom('$3')}),
    'kinds', (SELECT json_agg(s) FROM (
      SELECT k.kind, e.count, e.change, e.bonus FROM ${KINDS} CROSS JOIN LATERAL (
        SELECT COUNT(*) AS count, coalesce(SUM(${CHANGE}), 0)::text AS change, coalesce(SUM(${BONUS_CHANGE}), 0)::text AS bonus FROM (
          SELECT r.* ${ENTRIES_BESIDE_USAGE} ORDER BY ${IN_ORDER.join(', ')} LIMIT $4) found) e) s),
    'entries', (SELECT coalesce(json_agg(e), '[]') FROM ${KINDS} CROSS JOIN LATERAL (
      SELECT ${ENTRY_COLUMNS} ${ENTRIES_BESIDE_USAGE} ORDER BY ${IN_ORDER.map((column) => `${column} DESC`).join(', ')} LIMIT $5) e),
    'paid', (SELECT json_agg(p) FROM (
      SELECT ${asFloat('d.day_ms')} AS day_ms, e.count, e.paid
      FROM generate_series($2::bigint, $3::bigint - 1, ${DAY_MS}) d (day_ms) CROSS JOIN LATERAL (
        SELECT COUNT(*) AS count, coalesce(SUM(f.paid), 0)::text AS paid FROM (
          SELECT ${BALANCE_PAID} AS paid FROM entries r
          WHERE r.account_id IN ($1, $1) AND r.at_ms >= d.day_ms AND r.at_ms < d.day_ms + ${DAY_MS}
          ORDER BY r.account_id, r.at_ms, r.seq LIMIT $4) f) e
      WHERE (SELECT coalesce(SUM(messages), 0) FROM totals) <= $6) p),
    'company', ${companyOf('daily_totals', TOTAL_SUMS.sums, '')},
    'company_units', ${companyOf('unit_totals', `r.unit, ${UNIT_SUMS.sums}`, ', r.unit')},
    'units', ${UNITS},
    ${monthGroupings.map((groupBy) => `'${groupBy}', ${sumsBy(groupBy)}`).join(', ')})::text AS month`;

interface MonthTable extends Record<MonthGrouping, TotalsRow[] | null> {
  meters: { balance: number; month_start_ms: number; month_opening: number } | null;
  since: string | null;
  changed_since: string;
  changed_after: string;
  kinds: { kind: (typeof besideUsageKinds)[number]; count: number; change: string; bonus: string }[];
  entries: EntryTable[];
  company: TotalsRow[] | null;
  company_units: TotalsRow[] | null;
  units: TotalsRow[] | null;
  /** null if there are too many messages. */
  paid: { day_ms: number; count: number; paid: string }[] | null;
}

export function monthReads(
  reader: Reader,
  { rowsMax, companyRowsMax } = {
    rowsMax: bounds.statementRowsMax as number,
    companyRowsMax: bounds.totalsRowsMax as number,
  },
): MonthStore {
  return {
    async readMonth(question) {
      const { account, below, tagName, sinceMs, untilMs, entriesMax, messagesMax } = question;
      const company = `{${hasCompany(question) ? [account, ...below].join(',') : ''}}`;
      const bounded = [account, sinceMs, untilMs, rowsMax + 1, entriesMax + 1, messagesMax];
      const values = [...bounded, company, companyRowsMax + 1, tagName === null ? 0 : 1];
      const [row] = await reader.read<{ month: string }>(MONTH, ...values);
      const { meters, ...month } = JSON.parse(row?.month ?? '{"meters":null}') as MonthTable;
      if (meters === null) return null;
      const parts = {
        journalSinceMs: month.since === null ? null : integerOf(month.since),
        balance: meters.balance,
        lastMonth: { startMs: meters.month_start_ms, opening: meters.month_opening },
        changedSince: BigInt(month.changed_since),
        changedAfter: BigInt(month.changed_after),
        kinds: month.kinds.map(({ kind, count, change }) => ({ kind, count, change: BigInt(change) })),
        bonus: month.kinds.reduce((sum, { bonus }) => sum + BigInt(bonus), 0n),
        entries: month.entries.map(readEntry),
        totals: {
          day: totalsOf(month.day, rowsMax),
          model: totalsOf(month.model, rowsMax),
          key: totalsOf(month.key, rowsMax),
        },
        units: totalsOf(month.units, rowsMax),
        company: [month.company, month.company_units].flatMap((rows) =>
          readByTag(boundedRows(rows, companyRowsMax), tagName),
        ),
        balancePaid: paidOf(month.paid, rowsMax),
      };
      if (parts.kinds.some(({ count }) => count > rowsMax)) throw tooManyTotals();
      return makeAccountMonth(parts, question);
    },
  };
}

function totalsOf(rows: TotalsRow[] | null, rowsMax: number): UsageTotal[] {
  return boundedRows(rows, rowsMax).map(readTotal);
}

function boundedRows(rows: TotalsRow[] | null, rowsMax: number): TotalsRow[] {
  const all = rows ?? [];
  if (all.reduce((sum, { count }) => sum + count, 0) > rowsMax) throw tooManyTotals();
  return all;
}

function paidOf(rows: MonthTable['paid'], rowsMax: number): BalancePaid {
  if (rows === null || rows.reduce((sum, { count }) => sum + count, 0) > rowsMax) return null;
  return rows.map(({ day_ms: dayMs, paid }) => ({ dayMs, paid: BigInt(paid) }));
}
