// Usage added up from the daily totals: a bounded run of them per statement.

import { DAY_MS } from '../base/clock.ts';
import { NO_TAG_SET, OTHER_VALUE } from '../base/tag-set-numbers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
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
import { type DaysOfTable, dailyTotals, divideDays, type TotalsColumn, type TotalsTable } from './rolled-totals.ts';
import { Bindings, LAST, numbers, type SqlReader } from './sql-reader.ts';
import { documents, readStored } from './stored-documents.ts';
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
  tag: ['account_id', 'tag_set'],
  all: ['account_id', 'key_id', 'model'],
};

type Question = TopQuestion & { columns: readonly Column[]; tagName?: string | null };

// Counts stay below 2^53, where floating-point numbers are exact; sums of amounts may not, and are returned as texts.
const asNumber = (name: string) => `CAST(SUM(${name}) AS double precision) AS ${name}`;
const asText = (name: string) => `CAST(SUM(${name}) AS text) AS ${name}`;

const COUNTS = [
  'messages',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'costed_messages',
];
const AMOUNTS = ['cost', 'written_off', 'provider_cost', 'costed_revenue'];

/** The sums of a TotalsRow over rows of daily_totals, or over PARTS. */
export const SUMS = sumsOf('COUNT(*)');
const SUMS_OF_PARTS = sumsOf('SUM(count)');
const PARTS = ['COUNT(*) AS count', ...[...COUNTS, ...AMOUNTS].map((name) => `SUM(${name}) AS ${name}`)].join(', ');

function sumsOf(count: string): string {
  return [`CAST(${count} AS double precision) AS count`, ...COUNTS.map(asNumber), ...AMOUNTS.map(asText)].join(', ');
}

/** A group of a run; columns that it is not grouped by are missing. */
export interface TotalsRow {
  day_ms?: number;
  account_id?: number;
  key_id?: number;
  model?: string;
  provider?: string | null;
  group_name?: string | null;
  person_id?: number | null;
  tag_set?: number;
  /** The set of tags, as JSON; null: none, or one that is not stored. */
  tags?: string | null;
  /** The value of the tag. */
  tag?: string | null;
  session?: string | null;
  agent?: string | null;
  /** Number of daily totals in it. */
  count: number;
  messages: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  costed_messages: number;
  cost: string;
  written_off: string;
  provider_cost: string;
  costed_revenue: string;
}

export function readTotal(row: Omit<TotalsRow, 'count'>): UsageTotal {
  return {
    dayMs: row.day_ms ?? null,
    account: row.account_id ?? null,
    key: row.key_id ?? null,
    model: row.model ?? null,
    provider: row.provider || null,
    group: row.group_name || null,
    person: row.person_id || null,
    tag: row.tag ?? null,
    session: row.session ?? null,
    agent: row.agent ?? null,
    messages: row.messages,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    costedMessages: row.costed_messages,
    cost: BigInt(row.cost),
    writtenOff: BigInt(row.written_off),
    providerCost: BigInt(row.provider_cost),
    costedRevenue: BigInt(row.costed_revenue),
  };
}

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

/** Rows of one report and of one statement; time and rows after which top usage ends. */
interface TotalsLimits {
  rowsMax: number;
  runRows?: number;
  topMsMax: number;
  topRowsLeast: number;
}

export function totalsReads(
  on: SqlReader,
  {
    rowsMax = bounds.totalsRowsMax,
    runRows,
    topMsMax = bounds.topReadMsMax,
    topRowsLeast = bounds.topRowsLeast,
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
    const ofOne = { runRows: runRows ?? (isTagged(question) ? on.taggedRunRows : on.totalsRunRows), left };
    const owners = ownersOf(await scopeOf(filter));
    const firstMs = startOfDay(Math.max(question.sinceMs ?? 0, cut?.sinceMs ?? 0));
    const parts = await divideDays(on, columnsRead(question, owners[0] ?? null), firstMs, question.untilMs ?? LAST);
    for (const part of cut === null ? parts : newestFirst(parts)) {
      const isLate = cut !== null && bound - left.rows >= topRowsLeast && performance.now() - startedAtMs >= cut.msMax;
      // Coarser totals are few, and are read in any case.
      if (isLate && part.table === dailyTotals) {
        cut.sinceMs = part.lastMs + 1;
        return;
      }
      for (const owner of owners) yield* readRuns(on, owner, question, part, ofOne);
    }
  };
  const readDays: DayReads['readDays'] = (question, groupings) =>
    readScope(question, { ...question, columns: columnsOf(groupings) });
  const topDays: DayReads['topDays'] = (question) => {
    const cut: Cut = { sinceMs: 0, msMax: topMsMax };
    const read = (columns: readonly Column[]) => readScope(question, { ...question, columns }, cut);
    // These lists are of the same days as the keys, which have the most rows.
    const readAfterKeys = async function* (columns: readonly Column[]) {
      cut.msMax = Number.POSITIVE_INFINITY;
      yield* read(columns);
    };
    const { all, key, account, model } = groupColumns;
    const apart = { key: read(key), account: readAfterKeys(account), model: readAfterKeys(model) };
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
    async firstDay(owner) {
      const after = orderOf(dailyTotals, owner).order.map((column) => BEFORE_FIRST[column]);
      const first = await lastOfRun(on, owner, { table: dailyTotals, after, upTo: [LAST] }, 1);
      return first === null ? null : (first.day_ms as number);
    },
    readDays,
    topDays,
  };
}

/** Parts of the daily totals are divided: a day, then twice as many each time. */
function newestFirst(parts: readonly DaysOfTable[]): DaysOfTable[] {
  const divided: DaysOfTable[] = [];
  for (const { table, firstMs, lastMs } of parts.toReversed()) {
    let days = 1;
    let endMs = lastMs;
    while (table === dailyTotals) {
      const startMs = startOfDay(Math.min(endMs, Date.now())) - (days - 1) * DAY_MS;
      if (startMs <= firstMs) break;
      divided.push({ table, firstMs: startMs, lastMs: endMs });
      endMs = startMs - 1;
      days *= 2;
    }
    divided.push({ table, firstMs, lastMs: endMs });
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
};

/** The last row of a run is looked up first: summing a range is several times as fast as summing a number of rows. */
async function* readRuns(
  on: SqlReader,
  owner: ScopeOwner,
  question: Question,
  { table, firstMs, lastMs }: DaysOfTable,
  { runRows, left }: { runRows: number; left: { rows: number } },
): AsyncGenerator<UsageTotal[]> {
  const { order } = orderOf(table, owner);
  const beforeFirst: Record<Column, number | string> = { ...BEFORE_FIRST, day_ms: firstMs - 1 };
  const sets: TagSets = new Map();
  let after: (number | string)[] = order.map((column) => beforeFirst[column]);
  const end = [lastMs];
  for (;;) {
    const last = await lastOfRun(on, owner, { table, after, upTo: end }, runRows);
    const upTo = last === null ? end : order.map((column) => last[column]);
    const rows = await sumRun(on, owner, { table, after, upTo }, question);
    left.rows -= last === null ? rows.reduce((sum, { count }) => sum + count, 0) : runRows;
    if (left.rows < 0) throw tooManyTotals();
    if (isTagged(question)) await findSets(on, rows, sets);
    yield rows.flatMap((row) => readTagged(row, question, sets));
    if (last === null) return;
    after = upTo;
    await on.rest();
  }
}

interface Run {
  table: TotalsTable;
  after: readonly (number | string)[];
  upTo: readonly (number | string)[];
}

type Place = Record<Column, number | string>;

async function lastOfRun(on: SqlReader, owner: ScopeOwner, run: Run, runRows: number): Promise<Place | null> {
  const bindings = new Bindings();
  const rows = totalsRange(on, bindings, owner, run);
  const { order } = orderOf(run.table, owner);
  const text = `SELECT ${shown(on, order)} ${rows} LIMIT 1 OFFSET ${bindings.add(runRows - 1)}`;
  const [last] = await on.read<Place>(text, ...bindings.values);
  return last ?? null;
}

function sumRun(on: SqlReader, owner: ScopeOwner, run: Run, question: Question): Promise<TotalsRow[]> {
  const { columns, model, group = null } = question;
  const bindings = new Bindings();
  const rows = totalsRange(on, bindings, owner, run, true);
  // As an expression: with a constant column inside the order of its index, SQLite sorts the run.
  const ofModel = model === null ? '' : ` AND COALESCE(r.model, '') = ${bindings.add(model)}`;
  const by = isTagged(question) ? [...new Set([...columns, 'account_id', 'tag_set'] as const)] : columns;
  const ofGroup = group === null ? '' : ` AND COALESCE(r.group_name, '') = ${bindings.add(group)}`;
  const ofRun = `${rows}${ofModel}${ofGroup}`;
  const parts = partsOf(on, orderOf(run.table, owner).order, by);
  const sums =
    parts === null
      ? `SELECT ${shown(on, by)}, ${SUMS} ${ofRun} GROUP BY ${listed(by)}`
      : `SELECT ${shown(on, by)}, ${SUMS_OF_PARTS} FROM (SELECT ${parts.shown}, ${PARTS} ${ofRun} GROUP BY ${parts.by}) r
         GROUP BY ${listed(by)}`;
  return on.read<TotalsRow>(sums, ...bindings.values);
}

function isTagged({ columns, tag = null }: Question): boolean {
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
  const ofOwner = by.filter((column) => !order.includes(column)).map((column) => `, MAX(r.${column}) AS ${column}`);
  return { by: listed(first), shown: `${listed(first)}${ofOwner.join('')}` };
}

function listed(columns: readonly Column[]): string {
  return columns.map((column) => `r.${column}`).join(', ');
}

/** Sets of tags by account and number, which runs repeat; null: it is not stored. */
type TagSets = Map<string, StoredTags | null>;

type StoredTags = Readonly<Record<string, string>>;

function setName({ account_id, tag_set }: TotalsRow): string {
  return `${account_id} ${tag_set}`;
}

/** Reads the sets of rows that are not known yet. A set is the same in every month. */
async function findSets(on: SqlReader, rows: readonly TotalsRow[], sets: TagSets): Promise<void> {
  const unknown = new Map<string, [account: number, tagSet: number]>();
  for (const row of rows) {
    const name = setName(row);
    if (!sets.has(name)) unknown.set(name, [row.account_id ?? 0, row.tag_set ?? NO_TAG_SET]);
  }
  for (const name of unknown.keys()) sets.set(name, null);
  const found = await on.readEach<{ account_id: number; tag_set: number; tags: string }>(
    [...unknown.values()],
    ([account = '', tagSet = '']) =>
      `SELECT ${on.number('s.account_id')} AS account_id, ${on.number('s.id')} AS tag_set, s.tags FROM tag_sets s
       WHERE s.account_id = ${account} AND s.id = ${tagSet} ORDER BY s.month_ms LIMIT 1`,
  );
  for (const { tags, ...row } of found) sets.set(setName(row as TotalsRow), readStored(documents.tagSet, tags));
}

/** Nothing if the question asks for another tag. */
function readTagged(row: TotalsRow, question: Question, sets: TagSets): UsageTotal[] {
  return isTagged(question) ? readWithTags(row, question, sets.get(setName(row)) ?? null) : [readTotal(row)];
}

/** The tags of the group `g`, whose numbers may be floating-point ones. A set is the same in every month. */
export const TAGS = `SELECT s.tags FROM tag_sets s
  WHERE s.account_id = CAST(g.account_id AS bigint) AND s.id = CAST(g.tag_set AS bigint) LIMIT 1`;

/** Sums by this tag, if any, of rows that have the text of their tags. */
export function readByTag(rows: readonly TotalsRow[], tagName: string | null): UsageTotal[] {
  if (tagName === null) return rows.map(readTotal);
  const sets = new Map<string, StoredTags>();
  return rows.flatMap((row) => {
    const { tags: text = null } = row;
    const tags = text === null ? null : (sets.get(text) ?? readStored(documents.tagSet, text));
    if (text !== null && tags !== null) sets.set(text, tags);
    return readWithTags(row, { tagName }, tags);
  });
}

/** A set that is not stored (null) is one beyond their number. */
function readWithTags(
  row: TotalsRow,
  { tagName = null, tag = null }: Pick<Question, 'tagName'> & Partial<Pick<Question, 'tag'>>,
  tags: StoredTags | null,
): UsageTotal[] {
  const valueNamed = (name: string) => {
    if (tags === null) return row.tag_set === NO_TAG_SET ? null : OTHER_VALUE;
    return Object.hasOwn(tags, name) ? (tags[name] ?? null) : null;
  };
  if (tag !== null && valueNamed(tag.name) !== tag.value) return [];
  return [readTotal({ ...row, tag: tagName === null ? null : valueNamed(tagName) })];
}

function totalsRange(
  on: SqlReader,
  bindings: Bindings,
  owner: ScopeOwner,
  { table, after, upTo }: Run,
  isSum = false,
): string {
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

const isText = (column: Column) => column === 'model' || column === 'provider' || column === 'group_name';

/** Columns of totals, integers as numbers. */
export function shown(on: Pick<SqlReader, 'number'>, columns: readonly Column[]): string {
  return columns.map((column) => (isText(column) ? `r.${column}` : numbers(on, column))).join(', ');
}

function startOfDay(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

export function tooManyTotals(): TurnpikeError {
  return new TurnpikeError(
    'invalid_request',
    'Too many days and keys to add up at once: request fewer days (since, until), or one account.',
  );
}
