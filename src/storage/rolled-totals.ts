// Coarser totals of closed days, which are rolled up from the daily totals in the background, and totals of whole spans of them.
// Reports read them for the days in rolled_days and the spans in rolled_spans, and the daily totals of all others.

import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import type { SqlReader } from './sql-reader.ts';

export type TotalsColumn =
  | 'day_ms'
  | 'account_id'
  | 'key_id'
  | 'model'
  | 'provider'
  | 'group_name'
  | 'person_id'
  | 'tag_set';

export interface TotalsTable {
  name:
    | 'daily_totals'
    | 'untagged_totals'
    | 'tag_totals'
    | 'model_totals'
    | 'account_totals'
    | 'key_totals'
    | 'key_weeks'
    | 'key_four_weeks';
  /** A trigger adds them up from the untagged totals when their day is rolled up. */
  isByTrigger?: boolean;
  /** In the order of the primary key. */
  columns: readonly TotalsColumn[];
  indexes: Partial<Record<'account_id' | 'key_id', string>>;
}

export const dailyTotals: TotalsTable = {
  name: 'daily_totals',
  columns: ['day_ms', 'account_id', 'key_id', 'model', 'provider', 'group_name', 'person_id', 'tag_set'],
  indexes: { account_id: 'totals_of_account', key_id: 'totals_of_key' },
};

/** The smallest first. */
export const coarserTotals: readonly TotalsTable[] = [
  { name: 'model_totals', isByTrigger: true, columns: ['day_ms', 'model', 'provider', 'group_name'], indexes: {} },
  {
    name: 'account_totals',
    isByTrigger: true,
    columns: ['day_ms', 'account_id'],
    indexes: { account_id: 'account_totals_of_account' },
  },
  {
    name: 'key_totals',
    isByTrigger: true,
    columns: ['day_ms', 'account_id', 'key_id', 'person_id'],
    indexes: { account_id: 'key_totals_of_account', key_id: 'key_totals_of_key' },
  },
  {
    name: 'untagged_totals',
    columns: ['day_ms', 'account_id', 'key_id', 'model', 'provider', 'group_name', 'person_id'],
    indexes: { account_id: 'untagged_totals_of_account', key_id: 'untagged_totals_of_key' },
  },
  {
    name: 'tag_totals',
    columns: ['day_ms', 'account_id', 'tag_set'],
    indexes: { account_id: 'tag_totals_of_account' },
  },
];

const ofKeys = coarserTotals.find(({ name }) => name === 'key_totals') as TotalsTable;

/** Totals by key of whole spans, the longest first. Their `day_ms` is the first day. */
export const spanTotals: readonly (TotalsTable & { days: number })[] = [
  {
    name: 'key_four_weeks',
    days: 28,
    columns: ofKeys.columns,
    indexes: { account_id: 'key_four_weeks_of_account', key_id: 'key_four_weeks_of_key' },
  },
  {
    name: 'key_weeks',
    days: 7,
    columns: ofKeys.columns,
    indexes: { account_id: 'key_weeks_of_account', key_id: 'key_weeks_of_key' },
  },
];

/** Days of totals, both inclusive, and the table to read them from. */
export interface DaysOfTable {
  table: TotalsTable;
  firstMs: number;
  lastMs: number;
}

/** Divides the days between two by the table that has the columns: the coarser one where it is rolled up. */
export async function divideDays(
  on: SqlReader,
  columns: ReadonlySet<string>,
  firstMs: number,
  lastMs: number,
): Promise<DaysOfTable[]> {
  const coarser = coarserTotals.find((table) => [...columns].every((one) => table.columns.some((has) => has === one)));
  const days = coarser === undefined ? [] : await readRolledDays(on, firstMs, lastMs);
  const parts: DaysOfTable[] = [];
  let atMs = firstMs;
  for (const dayMs of days) {
    const last = parts.at(-1);
    if (dayMs > atMs) parts.push({ table: dailyTotals, firstMs: atMs, lastMs: dayMs - 1 });
    if (coarser !== undefined && last?.table === coarser && dayMs === atMs) last.lastMs = dayMs;
    else if (coarser !== undefined) parts.push({ table: coarser, firstMs: dayMs, lastMs: dayMs });
    atMs = dayMs + DAY_MS;
  }
  if (atMs <= lastMs) parts.push({ table: dailyTotals, firstMs: atMs, lastMs });
  return coarser === ofKeys && !columns.has('day_ms')
    ? withSpans(parts, await readRolledSpans(on, firstMs, lastMs))
    : parts;
}

/** Replaces days of keys by the spans that they consist of. */
function withSpans(parts: readonly DaysOfTable[], spans: ReadonlySet<string>): DaysOfTable[] {
  return parts.flatMap((part) => {
    if (part.table !== ofKeys) return [part];
    const divided: DaysOfTable[] = [];
    for (let atMs = part.firstMs; atMs <= part.lastMs; ) {
      const span = spanTotals.find(
        ({ days }) => spans.has(`${days} ${atMs}`) && atMs + (days - 1) * DAY_MS <= part.lastMs,
      );
      const table = span ?? ofKeys;
      const last = divided.at(-1);
      if (last?.table === table) last.lastMs = atMs;
      else divided.push({ table, firstMs: atMs, lastMs: atMs });
      atMs += (span?.days ?? 1) * DAY_MS;
    }
    return divided;
  });
}

/** Each as its length and its start. */
async function readRolledSpans(on: SqlReader, firstMs: number, lastMs: number): Promise<ReadonlySet<string>> {
  const rows = await on.read<{ days: number; day_ms: number }>(
    `SELECT ${on.number('r.days')} AS days, ${on.number('r.day_ms')} AS day_ms FROM rolled_spans r
     WHERE r.days IN (${spanTotals.map(({ days }) => days).join(', ')}) AND r.day_ms >= $1 AND r.day_ms <= $2 LIMIT $3`,
    firstMs,
    lastMs,
    bounds.rolledDaysReadMax,
  );
  return new Set(rows.map(({ days, day_ms }) => `${days} ${day_ms}`));
}

async function readRolledDays(on: SqlReader, firstMs: number, lastMs: number): Promise<number[]> {
  const rows = await on.read<{ day_ms: number }>(
    `SELECT ${on.number('r.day_ms')} AS day_ms FROM rolled_days r WHERE r.day_ms >= $1 AND r.day_ms <= $2 ORDER BY r.day_ms LIMIT $3`,
    firstMs,
    lastMs,
    bounds.rolledDaysReadMax, // of days beyond, the daily totals are read
  );
  return rows.map((row) => row.day_ms);
}

/**
 * The days before $1 that are not rolled up, the latest first, as `day_ms`: those with totals, and up to 27 without any between them,
 * which a span may have. Looks up each day once.
 */
export const DAYS_TO_ROLL_UP = `
  WITH RECURSIVE days (day_ms) AS (
    SELECT MIN(t.day_ms) FROM daily_totals t
    UNION ALL
    SELECT (SELECT CASE WHEN t.day_ms - d.day_ms <= ${28 * DAY_MS} THEN d.day_ms + ${DAY_MS} ELSE t.day_ms END
      FROM daily_totals t WHERE t.day_ms > d.day_ms ORDER BY t.day_ms LIMIT 1) FROM days d WHERE d.day_ms IS NOT NULL)
  SELECT CAST(d.day_ms AS double precision) AS day_ms FROM days d
  WHERE d.day_ms < $1 AND NOT EXISTS (SELECT 1 FROM rolled_days r WHERE r.day_ms = d.day_ms) ORDER BY d.day_ms DESC`;
