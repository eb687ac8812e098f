// Usage added up from the daily totals: a bounded run of them per statement.

import { DAY_MS } from '../base/clock.ts';
import { NO_TAG_SET, OTHER_VALUE } from '../base/tag-set-numbers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  gatherTop,
  gatherTotals,
  type TopQuestion,
  type TotalsGrouping,
  type TotalsQuestion,
  type UsageStore,
  type UsageTotal,
} from '../reports/reports.ts';
import { Bindings, LAST, numbers, type SqlReader } from './sql-reader.ts';
import { documents, readStored } from './stored-documents.ts';
import { ownersOf, type ScopeFilter, type ScopeOwner, usageScopes } from './usage-reads.ts';

type Column = 'day_ms' | 'account_id' | 'key_id' | 'model' | 'provider' | 'person_id' | 'tag_set';

/** Columns of each grouping; `all` is everything except the day. */
export const groupColumns: Readonly<Record<TotalsGrouping | 'all', readonly Column[]>> = {
  day: ['day_ms'],
  model: ['model'],
  key: ['account_id', 'key_id'],
  account: ['account_id'],
  provider: ['provider'],
  person: ['person_id'],
  tag: ['account_id', 'tag_set'],
  all: ['account_id', 'key_id', 'model'],
};

type Question = TopQuestion & { columns: readonly Column[]; tagName?: string | null };

// Counts stay below 2^53, where floating-point numbers are exact; sums of amounts may not, and are returned as texts.
const asNumber = (name: string) => `CAST(SUM(${name}) AS double precision) AS ${name}`;
const asText = (name: string) => `CAST(SUM(${name}) AS text) AS ${name}`;

/** The sums of a TotalsRow over rows of daily_totals. */
export const SUMS = [
  'CAST(COUNT(*) AS double precision) AS count',
  ...['messages', 'input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens'].map(asNumber),
  asNumber('costed_messages'),
  ...['cost', 'written_off', 'provider_cost', 'costed_revenue'].map(asText),
].join(', ');

/** A group of a run; columns that it is not grouped by are missing. */
export interface TotalsRow {
  day_ms?: number;
  account_id?: number;
  key_id?: number;
  model?: string;
  provider?: string | null;
  person_id?: number | null;
  /** The set of tags, as JSON; null: none, or an unknown one. */
  tags?: string | null;
  tag_set?: number;
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
  /** Totals of whole days by group, in runs. */
  readDays(
    question: TopQuestion & Pick<TotalsQuestion, 'tagName'>,
    groupBy: TotalsGrouping,
  ): AsyncIterable<UsageTotal[]>;
}

/** `rowsMax` bounds the rows of one report, `runRows` those of one statement. */
export function totalsReads(
  on: SqlReader,
  { rowsMax, runRows } = { rowsMax: bounds.totalsRowsMax as number, runRows: on.totalsRunRows },
): Pick<UsageStore, 'totalUsage' | 'topUsage'> & DayReads {
  const scopeOf = usageScopes(on);
  const readScope = async function* (filter: ScopeFilter, question: Question): AsyncGenerator<UsageTotal[]> {
    const left = { rows: rowsMax };
    for (const owner of ownersOf(await scopeOf(filter))) yield* readRuns(on, owner, question, { runRows, left });
  };
  return {
    totalUsage: (question) =>
      gatherTotals(readScope(question, { ...question, columns: columnsFor(question) }), question),
    topUsage: (question) => gatherTop(readScope(question, { ...question, columns: groupColumns.all }), question),
    readDays: (question, groupBy) => readScope(question, { ...question, columns: groupColumns[groupBy] }),
  };
}

const FURTHER = ['provider', 'person_id', 'tag_set'] as const;

function columnsFor({ groupBy, thenBy = null }: TotalsQuestion): Column[] {
  return [...new Set([...groupColumns[groupBy], ...(thenBy === null ? [] : groupColumns[thenBy])])];
}

/** The ways to read the table. The first columns of the primary key and the indexes that are not the owner's. */
const ORDERS = {
  all: { index: null, order: ['day_ms', 'account_id', 'key_id', 'model', ...FURTHER] },
  account_id: { index: 'totals_of_account', order: ['day_ms', 'key_id', 'model', ...FURTHER] },
  key_id: { index: 'totals_of_key', order: ['day_ms', 'model', ...FURTHER] },
} as const;

const NO_FURTHER = { provider: '', person_id: 0, tag_set: 0 };

/** The last row of a run is looked up first: summing a range is several times as fast as summing a number of rows. */
async function* readRuns(
  on: SqlReader,
  owner: ScopeOwner,
  question: Question,
  { runRows, left }: { runRows: number; left: { rows: number } },
): AsyncGenerator<UsageTotal[]> {
  const { order } = ORDERS[owner?.column ?? 'all'];
  const beforeFirst = {
    day_ms: startOfDay(question.sinceMs ?? 0) - 1,
    account_id: 0,
    key_id: 0,
    model: '',
    ...NO_FURTHER,
  };
  const parsed: ParsedTags = new Map();
  let after: (number | string)[] = order.map((column) => beforeFirst[column]);
  const end = [question.untilMs ?? LAST];
  for (;;) {
    const last = await lastOfRun(on, owner, { after, upTo: end }, runRows);
    const upTo = last === null ? end : order.map((column) => last[column]);
    const rows = await sumRun(on, owner, { after, upTo }, question);
    left.rows -= last === null ? rows.reduce((sum, { count }) => sum + count, 0) : runRows;
    if (left.rows < 0) throw tooManyTotals();
    yield rows.flatMap((row) => readTagged(row, question, parsed));
    if (last === null) return;
    after = upTo;
    await on.rest();
  }
}

interface Run {
  after: readonly (number | string)[];
  upTo: readonly (number | string)[];
}

type Place = Record<Column, number | string>;

async function lastOfRun(on: SqlReader, owner: ScopeOwner, run: Run, runRows: number): Promise<Place | null> {
  const bindings = new Bindings();
  const rows = totalsRange(on, bindings, owner, run);
  const { order } = ORDERS[owner?.column ?? 'all'];
  const text = `SELECT ${shown(on, order)} ${rows} LIMIT 1 OFFSET ${bindings.add(runRows - 1)}`;
  const [last] = await on.read<Place>(text, ...bindings.values);
  return last ?? null;
}

function sumRun(
  on: SqlReader,
  owner: ScopeOwner,
  run: Run,
  { columns, model, tag = null }: Question,
): Promise<TotalsRow[]> {
  const bindings = new Bindings();
  const rows = totalsRange(on, bindings, owner, run);
  // As an expression: with a constant column inside the order of its index, SQLite sorts the run.
  const ofModel = model === null ? '' : `WHERE COALESCE(r.model, '') = ${bindings.add(model)}`;
  const isTagged = tag !== null || columns.includes('tag_set');
  const by = isTagged ? [...new Set([...columns, 'account_id', 'tag_set'] as const)] : columns;
  const sums = `SELECT ${shown(on, by)}, ${SUMS} FROM (SELECT r.* ${rows}) r ${ofModel}
     GROUP BY ${by.map((column) => `r.${column}`).join(', ')}`;
  const text = isTagged ? `SELECT g.*, (${TAGS}) AS tags FROM (${sums}) g` : sums;
  return on.read<TotalsRow>(text, ...bindings.values);
}

/** The tags of the group `g`, whose numbers may be floating-point ones. A set is the same in every month. */
export const TAGS = `SELECT s.tags FROM tag_sets s
  WHERE s.account_id = CAST(g.account_id AS bigint) AND s.id = CAST(g.tag_set AS bigint) LIMIT 1`;

/** Sets of tags by their texts, which runs repeat. */
export type ParsedTags = Map<string, Readonly<Record<string, string>>>;

/** Nothing if the question asks for another tag. A set that is not stored is one beyond their number. */
export function readTagged(
  row: TotalsRow,
  { tagName = null, tag = null }: Pick<TotalsQuestion, 'tagName' | 'tag'>,
  parsed: ParsedTags,
): UsageTotal[] {
  if (row.tags === undefined) return [readTotal(row)];
  const tags = row.tags === null ? null : (parsed.get(row.tags) ?? readStored(documents.tagSet, row.tags));
  if (row.tags !== null && tags !== null) parsed.set(row.tags, tags);
  const valueNamed = (name: string) => {
    if (tags === null) return row.tag_set === NO_TAG_SET ? null : OTHER_VALUE;
    return Object.hasOwn(tags, name) ? (tags[name] ?? null) : null;
  };
  if (tag !== null && valueNamed(tag.name) !== tag.value) return [];
  return [readTotal({ ...row, tag: tagName === null ? null : valueNamed(tagName) })];
}

function totalsRange(on: SqlReader, bindings: Bindings, owner: ScopeOwner, { after, upTo }: Run): string {
  const bind = (value: number | string) => bindings.add(value);
  return on.range(
    {
      ...ORDERS[owner?.column ?? 'all'],
      table: 'daily_totals',
      equal: owner === null ? [] : [[owner.column, bindings.add(owner.id)]],
      direction: 'ASC',
      after: after.map(bind),
      upTo: upTo.map(bind),
    },
    bindings,
  );
}

/** Columns of totals, integers as numbers. */
export function shown(on: Pick<SqlReader, 'number'>, columns: readonly Column[]): string {
  return columns
    .map((column) => (column === 'model' || column === 'provider' ? `r.${column}` : numbers(on, column)))
    .join(', ');
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
