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
  | 'tag_set'
  | 'tag_name'
  | 'tag'
  | 'unit';

export interface TotalsTable {
  name:
    | 'daily_totals'
    | 'unit_totals'
    | 'untagged_totals'
    | 'tag_totals'
    | 'tag_value_totals'
    | 'model_totals'
    | 'account_totals'
    | 'key_totals'
    | 'model_unit_totals'
    | `${'key' | 'untagged' | 'total' | 'unit'}_${'weeks' | 'four_weeks'}`;
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

export const unitTotals: TotalsTable = {
  name: 'unit_totals',
  columns: [...dailyTotals.columns, 'unit'],
  indexes: { account_id: 'unit_totals_of_account', key_id: 'unit_totals_of_key' },
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

const named = (name: TotalsTable['name']) => coarserTotals.find((table) => table.name === name) as TotalsTable;

/** Instead of the totals of sets, for reports by the value of one tag. Sets that are not stored have no name. */
export const tagValueTotals: TotalsTable = {
  name: 'tag_value_totals',
  isByTrigger: true,
  columns: ['day_ms', 'account_id', 'tag_name', 'tag'],
  indexes: { account_id: 'tag_value_totals_of_account' },
};
export const setTotals = named('tag_totals');
/** Totals that those of the values of tags divide. */
export const accountTotals = named('account_totals');

interface SpanTotals extends TotalsTable {
  of: TotalsTable;
  days: number;
}

/** Totals of whole spans, the longest first. Their `day_ms` is the first day. */
export const spanTotals: readonly SpanTotals[] = [
  ['key', named('key_totals')] as const,
  ['untagged', named('untagged_totals')] as const,
  ['total', dailyTotals] as const,
].flatMap(([prefix, of]) =>
  [{ length: 'four_weeks', days: 28 } as const, { length: 'weeks', days: 7 } as const].map(({ length, days }) => {
    const name = `${prefix}_${length}` as const;
    // A key has few totals of a day, but is one of many.
    const ofKey = prefix === 'key' ? { key_id: `${name}_of_key` } : {};
    return { name, of, days, columns: of.columns, indexes: { account_id: `${name}_of_account`, ...ofKey } };
  }),
);

/** Daily totals, and the coarser ones that they are rolled up to. */
export interface RolledTotals {
  daily: TotalsTable;
  /** The smallest first. */
  coarser: readonly TotalsTable[];
  /** The longest first. */
  spans: readonly SpanTotals[];
}

export const totalsOfMessages: RolledTotals = { daily: dailyTotals, coarser: coarserTotals, spans: spanTotals };

/** Few messages have units: there are coarser totals only for what every report needs. */
export const totalsOfUnits: RolledTotals = {
  daily: unitTotals,
  coarser: [{ name: 'model_unit_totals', columns: ['day_ms', 'model', 'provider', 'group_name', 'unit'], indexes: {} }],
  spans: [
    { name: 'unit_four_weeks' as const, days: 28 },
    { name: 'unit_weeks' as const, days: 7 },
  ].map(({ name, days }) => ({
    ...{ name, days, of: unitTotals, columns: unitTotals.columns },
    indexes: { account_id: `${name}_of_account` },
  })),
};

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
  owner: keyof TotalsTable['indexes'] | null,
  firstMs: number,
  lastMs: number,
  { daily, coarser: coarserOnes, spans: spansOf }: RolledTotals = totalsOfMessages,
): Promise<DaysOfTable[]> {
  const coarser = coarserOnes.find((table) => [...columns].every((one) => table.columns.some((has) => has === one)));
  const days = coarser === undefined ? [] : await readRolledDays(on, firstMs, lastMs);
  const parts: DaysOfTable[] = [];
  let atMs = firstMs;
  for (const dayMs of days) {
    const last = parts.at(-1);
    if (dayMs > atMs) parts.push({ table: daily, firstMs: atMs, lastMs: dayMs - 1 });
    if (coarser !== undefined && last?.table === coarser && dayMs === atMs) last.lastMs = dayMs;
    else if (coarser !== undefined) parts.push({ table: coarser, firstMs: dayMs, lastMs: dayMs });
    atMs = dayMs + DAY_MS;
  }
  if (atMs <= lastMs) parts.push({ table: daily, firstMs: atMs, lastMs });
  const lengths = spansOf.filter(
    ({ of, indexes }) => of === (coarser ?? daily) && (owner === null || indexes[owner] !== undefined),
  );
  if (columns.has('day_ms') || lengths.length === 0) return parts;
  const spans = await readRolledSpans(on, firstMs, lastMs);
  return parts.flatMap((part) => (part.table === lengths[0]?.of ? withSpans(part, spans, lengths) : [part]));
}

interface RolledSpan {
  days: number;
  day_ms: number;
}

/** Replaces days by the spans that they consist of. */
function withSpans(part: DaysOfTable, spans: readonly RolledSpan[], tables: readonly SpanTotals[]): DaysOfTable[] {
  const divided: DaysOfTable[] = [];
  let atMs = part.firstMs;
  for (const { days, day_ms: startMs } of spans) {
    const endMs = startMs + days * DAY_MS;
    const table = tables.find((one) => one.days === days);
    if (table === undefined || startMs < atMs || endMs - 1 > part.lastMs + DAY_MS - 1) continue;
    if (startMs > atMs) divided.push({ table: part.table, firstMs: atMs, lastMs: startMs - 1 });
    const last = divided.at(-1);
    if (last?.table === table) last.lastMs = startMs;
    else divided.push({ table, firstMs: startMs, lastMs: startMs });
    atMs = endMs;
  }
  if (atMs <= part.lastMs) divided.push({ table: part.table, firstMs: atMs, lastMs: part.lastMs });
  return divided;
}

/** In the order of their starts, longer ones first. */
function readRolledSpans(on: SqlReader, firstMs: number, lastMs: number): Promise<RolledSpan[]> {
  return on
    .read<RolledSpan>(
      `SELECT ${on.number('r.days')} AS days, ${on.number('r.day_ms')} AS day_ms FROM rolled_spans r
     WHERE r.days IN (7, 28) AND r.day_ms >= $1 AND r.day_ms <= $2 LIMIT $3`,
      firstMs,
      lastMs,
      bounds.rolledDaysReadMax,
    )
    .then((spans) => spans.sort((one, other) => one.day_ms - other.day_ms || other.days - one.days));
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
