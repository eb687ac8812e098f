// Usage added up from the daily totals: a bounded run of them per statement.

import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import {
  gatherTop,
  gatherTotals,
  type TopParts,
  type TopQuestion,
  type TotalsGrouping,
  type TotalsQuestion,
  type UsageStore,
  type UsageTotal,
} from '../reports/reports.ts';
import {
  type DaysOfTable,
  dailyTotals,
  divideDays,
  setTotals,
  type TotalsColumn,
  totalsOfUnits,
} from './rolled-totals.ts';
import { LAST, type SqlReader } from './sql-reader.ts';
import { accountsOfTag } from './totals-rows.ts';
import {
  firstDayOf,
  hasUnits,
  isTagged,
  type RunQuestion,
  sumParts,
  sumTagValues,
  sumUnitTotals,
  type TagAsked,
} from './totals-runs.ts';
import { ownersOf, type ScopeFilter, type ScopeOwner, usageScopes } from './usage-reads.ts';

type Column = TotalsColumn;

/** Columns of each grouping; `all` is everything except the day. */
export const groupColumns: Readonly<Record<TotalsGrouping | 'all', readonly Column[]>> = {
  day: ['day_ms'],
  model: ['model'],
  key: ['account_id', 'key_id'],
  account: ['account_id'],
  provider: ['provider'],
  group: ['group_name'],
  person: ['person_id'],
  tag: ['tag_set'], // a set belongs to an account
  all: ['account_id', 'key_id', 'model'],
};

type Question = TopQuestion & RunQuestion;

export interface DayReads {
  /** The first day with totals of the owner; null without one. */
  firstDay(owner: ScopeOwner): Promise<number | null>;
  /** Totals of whole days for the lists of what used most, the newest first, within a time. */
  topDays(question: TopQuestion): TopDays;
  /** Totals of whole days by group, in runs. */
  readDays(
    question: TopQuestion & Pick<TotalsQuestion, 'tagName'>,
    groupings: readonly TotalsGrouping[],
  ): AsyncIterable<UsageTotal[]>;
}

/** Totals for all lists, or apart: each list is in a table that is smaller than one for all. */
export interface TopDays {
  runs: AsyncIterable<UsageTotal[]> | UsageTotal[][];
  apart: TopParts | null;
  /** Once all were read. Earlier days are not counted; 0 if all are. */
  countedSinceMs(): number;
}

/** Where a report ends that reads its newest days first: after the part during which its time is over, and enough rows were read. */
interface Cut {
  sinceMs: number;
  msMax: number;
}

/** Rows of one report and of one statement; time and rows after which top usage ends; accounts of a tag that are read one by one. */
interface TotalsLimits {
  rowsMax: number;
  runRows?: number;
  unitRowsMax: number;
  topMsMax: number;
  topRowsLeast: number;
  tagAccountsMax: number;
}

export function totalsReads(
  on: SqlReader,
  {
    rowsMax = bounds.totalsRowsMax,
    runRows,
    unitRowsMax = bounds.unitTotalsRowsMax,
    topMsMax = bounds.topReadMsMax,
    topRowsLeast = bounds.topRowsLeast,
    tagAccountsMax = bounds.tagAccountsReadMax,
  }: Partial<TotalsLimits> = {},
): Pick<UsageStore, 'totalUsage' | 'topUsage'> & DayReads {
  const scopeOf = usageScopes(on);
  const readScope = async function* (
    filter: ScopeFilter,
    question: Question,
    cut: Cut | null = null,
  ): AsyncGenerator<UsageTotal[]> {
    const startedAtMs = performance.now();
    const bound = cut === null ? rowsMax : Number.MAX_SAFE_INTEGER;
    const left = { rows: bound };
    const usualRows = question.columns.includes('tag_set') ? on.taggedRunRows : on.totalsRunRows;
    const ofOne = { runRows: runRows ?? usualRows, left };
    const owners = await withTag(on, ownersOf(await scopeOf(filter)), question.tag, tagAccountsMax);
    const ofTag = valuesAsked(question);
    const firstMs = startOfDay(Math.max(question.sinceMs ?? 0, cut?.sinceMs ?? 0));
    const first = owners[0] ?? null;
    const lastMs = question.untilMs ?? LAST;
    const parts = await divideDays(on, columnsRead(question, first), first?.column ?? null, firstMs, lastMs);
    for (const some of cut === null ? [parts] : newestFirst(parts)) {
      const isLate = cut !== null && bound - left.rows >= topRowsLeast && performance.now() - startedAtMs >= cut.msMax;
      if (isLate && some[0]?.table === dailyTotals) {
        cut.sinceMs = some[0].lastMs + 1;
        break;
      }
      const ofOwners = some.flatMap((part) => owners.map((owner) => [owner, part] as const));
      const [ofValues, others] =
        ofTag === null ? [[], ofOwners] : divide(ofOwners, ([, { table }]) => table === setTotals);
      yield* sumParts(on, question, others, ofOne);
      if (ofTag !== null) yield* sumTagValues(on, question.columns, ofTag, ofValues, ofOne);
    }
    const days = await daysOfUnits(on, question, first, [Math.max(firstMs, cut?.sinceMs ?? 0), lastMs]);
    yield* sumUnitTotals(on, question, owners, days, { ...ofOne, left: { rows: unitRowsMax } });
  };
  const readDays: DayReads['readDays'] = (question, groupings) =>
    readScope(question, { ...question, columns: columnsOf(groupings) });
  const topDays: DayReads['topDays'] = (question) => {
    const cut: Cut = { sinceMs: 0, msMax: topMsMax };
    const read = (columns: readonly Column[]) => readScope(question, { ...question, columns }, cut);
    // Models are of the same days as the keys, which have the most rows.
    const readAfterKeys = async function* (columns: readonly Column[]) {
      cut.msMax = Number.POSITIVE_INFINITY;
      yield* read(columns);
    };
    const { all, key, model } = groupColumns;
    const apart = { key: read(key), model: readAfterKeys(model) };
    const lists = isApart(question) ? { runs: [], apart } : { runs: read(all), apart: null };
    return { ...lists, countedSinceMs: () => cut.sinceMs };
  };
  return {
    totalUsage: (question) =>
      gatherTotals(readScope(question, { ...question, columns: columnsOf(groupingsOf(question)) }), question),
    async topUsage(question) {
      const { runs, apart, countedSinceMs } = topDays(question);
      return { ...(await gatherTop(runs, question, apart)), countedSinceMs: countedSinceMs() };
    },
    firstDay: (owner) => firstDayOf(on, owner),
    readDays,
    topDays,
  };
}

/**
 * Parts in the order in which a report reads them that may end before the last one. Those of the daily totals are divided: a day, then
 * twice as many each time. Coarser totals are few, are read in any case, and together.
 */
function newestFirst(parts: readonly DaysOfTable[]): DaysOfTable[][] {
  const divided: DaysOfTable[][] = [];
  for (const { table, firstMs, lastMs } of parts.toReversed()) {
    let days = 1;
    let endMs = lastMs;
    while (table === dailyTotals) {
      const startMs = startOfDay(Math.min(endMs, Date.now())) - (days - 1) * DAY_MS;
      if (startMs <= firstMs) break;
      divided.push([{ table, firstMs: startMs, lastMs: endMs }]);
      endMs = startMs - 1;
      days *= 2;
    }
    const before = divided.at(-1);
    const part = { table, firstMs, lastMs: endMs };
    if (table !== dailyTotals && before !== undefined && before[0]?.table !== dailyTotals) before.push(part);
    else divided.push([part]);
  }
  return divided;
}

/** Whether the lists of what used most are read apart: a filter would need a table that has the columns of all. */
export function isApart({ model, group = null, tag = null }: TopQuestion): boolean {
  return model === null && group === null && tag === null;
}

export function groupingsOf({ groupBy, thenBy = [] }: Pick<TotalsQuestion, 'groupBy' | 'thenBy'>): TotalsGrouping[] {
  return [groupBy, ...thenBy];
}

function columnsOf(groupings: readonly TotalsGrouping[]): Column[] {
  return [...new Set(groupings.flatMap((grouping) => groupColumns[grouping]))];
}

/** The tag whose values are all that a question needs of sets of tags, and the value that it asks for; null: of no tag alone. */
function valuesAsked({ columns, model, group = null, tag = null, tagName = null }: Question): TagAsked | null {
  const name = tag?.name ?? tagName;
  const isOfOne = tagName === null || tagName === name;
  const isOfValues = columns.every((column) => ['day_ms', 'account_id', 'tag_set'].includes(column));
  if (name === null || !isOfOne || !isOfValues || model !== null || group !== null) return null;
  return { name, value: tag?.value ?? null };
}

/** The owners whose totals can have the tag. */
async function withTag(
  on: SqlReader,
  owners: readonly ScopeOwner[],
  tag: TopQuestion['tag'],
  accountsMax: number,
): Promise<readonly ScopeOwner[]> {
  if (tag == null || owners[0] !== null) return owners;
  const accounts = await accountsOfTag(on, tag, accountsMax);
  return accounts?.map((id) => ({ column: 'account_id', id })) ?? owners;
}

function divide<Value>(values: readonly Value[], isFirst: (value: Value) => boolean): [Value[], Value[]] {
  return [values.filter(isFirst), values.filter((value) => !isFirst(value))];
}

/** All columns that a question needs of a table. */
function columnsRead(question: Question, owner: ScopeOwner): ReadonlySet<string> {
  const { columns, model, group = null } = question;
  return new Set([
    ...columns,
    ...(isTagged(question) ? ['account_id', 'tag_set'] : []),
    ...(model === null ? [] : ['model']),
    ...(group === null ? [] : ['group_name']),
    ...(owner === null ? [] : [owner.column]),
  ]);
}

/** None if no message of these days, both inclusive, has units. */
async function daysOfUnits(
  on: SqlReader,
  question: Question,
  owner: ScopeOwner,
  [firstMs, lastMs]: readonly [firstMs: number, lastMs: number],
): Promise<DaysOfTable[]> {
  if (!(await hasUnits(on, firstMs, lastMs))) return [];
  const columns = columnsRead({ ...question, columns: [...question.columns, 'unit'] }, owner);
  return divideDays(on, columns, owner?.column ?? null, firstMs, lastMs, totalsOfUnits);
}

function startOfDay(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}
