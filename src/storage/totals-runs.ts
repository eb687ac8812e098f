// Sums of totals between two positions of a table, in runs: each statement adds up a bounded number of rows, of one table or of several.

import { OTHER_VALUE } from '../base/tag-set-numbers.ts';
import { TurnpikeError } from '../errors.ts';
import { emptyTotal, type TopQuestion, type UsageTotal } from '../reports/reports.ts';
import {
  accountTotals,
  type DaysOfTable,
  dailyTotals,
  type TotalsColumn,
  type TotalsTable,
  tagValueTotals,
} from './rolled-totals.ts';
import { Bindings, LAST, type SqlReader } from './sql-reader.ts';
import {
  findSets,
  readTagged,
  readTotal,
  shown,
  type TagSets,
  TOTAL_SUMS,
  type TotalsRow,
  UNIT_SUMS,
} from './totals-rows.ts';
import type { ScopeOwner } from './usage-reads.ts';

type Column = TotalsColumn;

/** The columns to group by, and the filters. */
export type RunQuestion = Pick<TopQuestion, 'model' | 'group' | 'tag'> & {
  columns: readonly Column[];
  tagName?: string | null;
  /** The tag of which totals of values are read. */
  ofTag?: TagAsked;
};

/** A tag, and the only value to count; null: any, and messages without the tag. */
export interface TagAsked {
  name: string;
  value: string | null;
}

/** How the totals of an owner are read: the columns of the primary key, or of the index, that are not the owner's. */
function orderOf({ columns, indexes }: TotalsTable, owner: ScopeOwner): { index: string | null; order: Column[] } {
  const isOrdered = (column: Column) =>
    owner === null || (column !== owner.column && (owner.column === 'account_id' || column !== 'account_id'));
  return { index: owner === null ? null : (indexes[owner.column] ?? null), order: columns.filter(isOrdered) };
}

const BEFORE_FIRST: Readonly<Record<Column, number | string>> = {
  day_ms: -1,
  account_id: 0,
  key_id: 0,
  model: '',
  provider: '',
  group_name: '',
  person_id: 0,
  tag_set: 0,
  tag_name: '',
  tag: '',
  unit: '',
};

/** Rows between two positions, in the order in which the totals of the owner are read. */
interface Range {
  owner: ScopeOwner;
  table: TotalsTable;
  after: readonly (number | string)[];
  upTo: readonly (number | string)[];
}

/** Rows of one statement, and those that the report may still add up. */
export interface RunLimits {
  runRows: number;
  left: { rows: number };
}

/**
 * Ranges of fewer rows than a statement adds up are added up together. Of others, the last row of each run is looked up first: summing a
 * range is several times as fast as summing a number of rows.
 */
export async function* sumParts(
  on: SqlReader,
  question: RunQuestion,
  parts: Iterable<OwnedPart>,
  limits: RunLimits,
): AsyncGenerator<UsageTotal[]> {
  const { runRows, left } = limits;
  const sets: TagSets = new Map();
  const sum = async (ranges: readonly Range[]) => {
    const rows = await sumRanges(on, ranges, question);
    await on.rest();
    if (!isBySets(question)) return rows.map(readTotal);
    await findSets(on, rows, sets);
    return rows.flatMap((row) => readTagged(row, question, sets));
  };
  const take = (rows: number) => {
    left.rows -= rows;
    if (left.rows < 0) throw tooManyTotals();
  };
  let small: Range[] = [];
  let smallRows = 0;
  for (const [owner, { table, firstMs, lastMs }] of parts) {
    const { order } = orderOf(table, owner);
    // The day, which comes first in every order, alone: PostgreSQL then expects fewer rows, and sums by hash instead of sorting.
    let range: Range = { owner, table, after: [firstMs - 1], upTo: [lastMs] };
    const rows = await countRows(on, range, runRows);
    if (rows < runRows) {
      take(rows);
      if (smallRows + rows > runRows || small.length === RANGES_AT_ONCE) {
        yield await sum(small);
        [small, smallRows] = [[], 0];
      }
      small.push(range);
      smallRows += rows;
      continue;
    }
    for (;;) {
      const last = await lastOfRun(on, range, runRows);
      take(last === null ? await countRows(on, range, runRows) : runRows);
      const upTo = last === null ? range.upTo : order.map((column) => last[column]);
      yield await sum([{ ...range, upTo }]);
      if (last === null) break;
      range = { ...range, after: upTo };
    }
  }
  if (small.length > 0) yield await sum(small);
}

type OwnedPart = readonly [owner: ScopeOwner, part: DaysOfTable];

/** Totals of the values of a tag. What the values leave of the totals of accounts are messages without the tag. */
export async function* sumTagValues(
  on: SqlReader,
  columns: readonly Column[],
  tag: TagAsked,
  parts: readonly OwnedPart[],
  limits: RunLimits,
): AsyncGenerator<UsageTotal[]> {
  const by = columns.filter((column) => column !== 'tag_set');
  const ofTable = (table: TotalsTable) => parts.map(([owner, part]) => [owner, { ...part, table }] as const);
  const values = { columns: [...by, 'tag'] as const, ofTag: tag, model: null };
  for await (const totals of sumParts(on, values, ofTable(tagValueTotals), limits))
    yield tag.value === null ? totals.flatMap((total) => [total, takenFromRest(total)]) : totals;
  const whole = { columns: by.length === 0 ? (['account_id'] as const) : by, model: null };
  if (tag.value === null) yield* sumParts(on, whole, ofTable(accountTotals), limits);
}

/** Totals of units. If there are too many, one part says that they are unknown. */
export async function* sumUnitTotals(
  on: SqlReader,
  question: RunQuestion,
  owners: readonly ScopeOwner[],
  days: readonly DaysOfTable[],
  limits: RunLimits,
): AsyncGenerator<UsageTotal[]> {
  const parts = days.flatMap((part) => owners.map((owner) => [owner, part] as const));
  try {
    yield* sumParts(on, { ...question, columns: [...question.columns, 'unit'] }, parts, limits);
  } catch (failure) {
    if (!(failure instanceof TurnpikeError) || failure.message !== TOO_MANY) throw failure;
    yield [{ ...emptyTotal(), units: null }];
  }
}

function takenFromRest(total: UsageTotal): UsageTotal {
  return {
    ...total,
    tag: null,
    messages: -total.messages,
    inputTokens: -total.inputTokens,
    outputTokens: -total.outputTokens,
    cacheReadTokens: -total.cacheReadTokens,
    cacheWriteTokens: -total.cacheWriteTokens,
    cost: -total.cost,
    writtenOff: -total.writtenOff,
    providerCost: -total.providerCost,
    costedMessages: -total.costedMessages,
    costedRevenue: -total.costedRevenue,
  };
}

/** Different statements are few, because each is prepared. */
const RANGES_AT_ONCE = 8;

type Place = Record<Column, number | string>;

async function lastOfRun(on: SqlReader, range: Range, runRows: number): Promise<Place | null> {
  const bindings = new Bindings();
  const rows = rowsOf(on, bindings, range);
  const { order } = orderOf(range.table, range.owner);
  const text = `SELECT ${shown(on, order)} ${rows} LIMIT 1 OFFSET ${bindings.add(runRows - 1)}`;
  const [last] = await on.read<Place>(text, ...bindings.values);
  return last ?? null;
}

/** Whether messages of these days, both inclusive, have units: most installations have none. */
export async function hasUnits(on: SqlReader, firstMs: number, lastMs: number): Promise<boolean> {
  const text = 'SELECT 1 FROM unit_totals r WHERE r.day_ms >= $1 AND r.day_ms <= $2 LIMIT 1';
  return (await on.read(text, firstMs, lastMs)).length > 0;
}

/** The first day with totals of the owner; null without one. */
export async function firstDayOf(on: SqlReader, owner: ScopeOwner): Promise<number | null> {
  const after = orderOf(dailyTotals, owner).order.map((column) => BEFORE_FIRST[column]);
  const first = await lastOfRun(on, { owner, table: dailyTotals, after, upTo: [LAST] }, 1);
  return first === null ? null : (first.day_ms as number);
}

/** At most `rowsMax`. */
async function countRows(on: SqlReader, range: Range, rowsMax: number): Promise<number> {
  const bindings = new Bindings();
  const rows = rowsOf(on, bindings, range);
  const [{ rows: count } = { rows: 0 }] = await on.read<{ rows: number }>(
    `SELECT ${on.number('COUNT(*)')} AS rows FROM (SELECT 1 ${rows} LIMIT ${bindings.add(rowsMax)}) r`,
    ...bindings.values,
  );
  return count;
}

function sumRanges(on: SqlReader, ranges: readonly Range[], question: RunQuestion): Promise<TotalsRow[]> {
  const { columns } = question;
  const texts = columns.includes('unit') ? UNIT_SUMS : TOTAL_SUMS;
  const bindings = new Bindings();
  const by = isBySets(question) ? [...new Set([...columns, 'account_id', 'tag_set'] as const)] : columns;
  const members = ranges.map((range) => ({
    rows: `${rowsOf(on, bindings, range, true)}${conditionsOf(on, question, bindings)}`,
    parts: partsOf(on, orderOf(range.table, range.owner).order, by),
  }));
  const [only, ...others] = members;
  if (only?.parts === null && others.length === 0)
    return on.read<TotalsRow>(
      `SELECT ${shown(on, by)}, ${texts.sums} ${only.rows} GROUP BY ${listed(by)}`,
      ...bindings.values,
    );
  const each = members.map(({ rows, parts }) =>
    parts === null
      ? `SELECT ${listed(by)}, ${texts.rowAsPart} ${rows}`
      : `SELECT ${parts.shown}, ${texts.parts} ${rows} GROUP BY ${parts.by}`,
  );
  return on.read<TotalsRow>(
    `SELECT ${shown(on, by)}, ${texts.sumsOfParts} FROM (${each.join(' UNION ALL ')}) r GROUP BY ${listed(by)}`,
    ...bindings.values,
  );
}

/** As expressions: with a constant column inside the order of its index, SQLite sorts the run. */
function conditionsOf(on: SqlReader, question: RunQuestion, bindings: Bindings): string {
  const { model, group = null, ofTag, tag = null } = question;
  const isEqual = (column: Column, value: string | null) =>
    value === null ? '' : ` AND COALESCE(r.${column}, '') = ${bindings.add(value)}`;
  const ofName = ofTag === undefined ? '' : ` AND COALESCE(r.tag_name, '') IN (${bindings.add(ofTag.name)}, '')`;
  // Within an expression, so that the sets are looked up once, and neither database begins with them.
  const inSets =
    tag === null || isBySets(question)
      ? ''
      : ` AND CASE WHEN (r.account_id, r.tag_set) IN (SELECT s.account_id, s.id FROM tag_sets s
          WHERE ${on.jsonText('s.tags', [tag.name])} = ${bindings.add(tag.value)}) THEN 1 ELSE 0 END = 1`;
  return `${isEqual('model', model)}${isEqual('group_name', group)}${ofName}${isEqual('tag', ofTag?.value ?? null)}${inSets}`;
}

/** Whether sums are read by sets of tags. The value of those that are not stored is in no set. */
function isBySets({ columns, tag = null }: RunQuestion): boolean {
  return columns.includes('tag_set') || tag?.value === OTHER_VALUE;
}

export function isTagged({ columns, tag = null }: Pick<RunQuestion, 'columns' | 'tag'>): boolean {
  return tag !== null || columns.includes('tag_set');
}

/**
 * The first columns of the order that include those to group by, if few rows are left of a group of them: SQLite sorts what it groups,
 * which takes three times as long as to add up rows in their order. null: all columns, or those to group by.
 */
function partsOf(on: SqlReader, order: readonly Column[], by: readonly Column[]): { by: string; shown: string } | null {
  if (!on.sortsGroups) return null;
  const last = Math.max(...by.map((column) => order.indexOf(column)));
  if (last < 0 || last === order.length - 1 || last + 1 === by.length) return null;
  const first = order.slice(0, last + 1);
  // The columns of the owner have one value: in the order they would sort the run.
  const shownBy = by.map((column) => (order.includes(column) ? `r.${column}` : `MAX(r.${column}) AS ${column}`));
  return { by: listed(first), shown: shownBy.join(', ') };
}

function listed(columns: readonly Column[]): string {
  return columns.map((column) => `r.${column}`).join(', ');
}

function rowsOf(on: SqlReader, bindings: Bindings, { owner, table, after, upTo }: Range, isSum = false): string {
  const bind = (value: number | string) => bindings.add(value);
  return on.range(
    {
      ...orderOf(table, owner),
      table: table.name,
      equal: owner === null ? [] : [[owner.column, bindings.add(owner.id)]],
      direction: 'ASC',
      after: after.map(bind),
      upTo: upTo.map(bind),
      ...(isSum && { isSum }),
    },
    bindings,
  );
}

const TOO_MANY = 'Too many days and keys to add up at once: request fewer days (since, until), or one account.';

export function tooManyTotals(): TurnpikeError {
  return new TurnpikeError('invalid_request', TOO_MANY);
}
