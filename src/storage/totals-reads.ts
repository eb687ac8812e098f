// Usage added up from the daily totals: a bounded run of them per statement.

import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  gatherTop,
  gatherTotals,
  type TopQuestion,
  type TotalsGrouping,
  type UsageStore,
  type UsageTotal,
} from '../reports/reports.ts';
import { Bindings, LAST, numbers, type SqlReader } from './sql-reader.ts';
import { ownersOf, type ScopeFilter, type UsageOwner, usageScopes } from './usage-reads.ts';

type Column = 'day_ms' | 'account_id' | 'key_id' | 'model';

/** Columns of each grouping; `all` is everything except the day. */
export const groupColumns: Readonly<Record<TotalsGrouping | 'all', readonly Column[]>> = {
  day: ['day_ms'],
  model: ['model'],
  key: ['account_id', 'key_id'],
  account: ['account_id'],
  all: ['account_id', 'key_id', 'model'],
};

type Question = TopQuestion & { columns: readonly Column[] };

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
  readDays(question: TopQuestion, groupBy: TotalsGrouping): AsyncIterable<UsageTotal[]>;
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
      gatherTotals(readScope(question, { ...question, columns: groupColumns[question.groupBy] }), question),
    topUsage: (question) => gatherTop(readScope(question, { ...question, columns: groupColumns.all }), question),
    readDays: (question, groupBy) => readScope(question, { ...question, columns: groupColumns[groupBy] }),
  };
}

/** The ways to read the table. The first columns of the primary key and the indexes that are not the owner's. */
const ORDERS = {
  all: { index: null, order: ['day_ms', 'account_id', 'key_id', 'model'] },
  account_id: { index: 'totals_of_account', order: ['day_ms', 'key_id', 'model'] },
  key_id: { index: 'totals_of_key', order: ['day_ms', 'model'] },
} as const;

/** The last row of a run is looked up first: summing a range is several times as fast as summing a number of rows. */
async function* readRuns(
  on: SqlReader,
  owner: UsageOwner,
  question: Question,
  { runRows, left }: { runRows: number; left: { rows: number } },
): AsyncGenerator<UsageTotal[]> {
  const { order } = ORDERS[owner?.column ?? 'all'];
  const beforeFirst = { day_ms: startOfDay(question.sinceMs ?? 0) - 1, account_id: 0, key_id: 0, model: '' };
  let after: (number | string)[] = order.map((column) => beforeFirst[column]);
  const end = [question.untilMs ?? LAST];
  for (;;) {
    const last = await lastOfRun(on, owner, { after, upTo: end }, runRows);
    const upTo = last === null ? end : order.map((column) => last[column]);
    const rows = await sumRun(on, owner, { after, upTo }, question);
    left.rows -= last === null ? rows.reduce((sum, { count }) => sum + count, 0) : runRows;
    if (left.rows < 0) throw tooManyTotals();
    yield rows.map(readTotal);
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

async function lastOfRun(on: SqlReader, owner: UsageOwner, run: Run, runRows: number): Promise<Place | null> {
  const bindings = new Bindings();
  const rows = totalsRange(on, bindings, owner, run);
  const { order } = ORDERS[owner?.column ?? 'all'];
  const text = `SELECT ${shown(on, order)} ${rows} LIMIT 1 OFFSET ${bindings.add(runRows - 1)}`;
  const [last] = await on.read<Place>(text, ...bindings.values);
  return last ?? null;
}

function sumRun(on: SqlReader, owner: UsageOwner, run: Run, { columns, model }: Question): Promise<TotalsRow[]> {
  const bindings = new Bindings();
  const rows = totalsRange(on, bindings, owner, run);
  const ofModel = model === null ? '' : `WHERE r.model = ${bindings.add(model)}`; // the model has no index
  return on.read<TotalsRow>(
    `SELECT ${shown(on, columns)}, ${SUMS} FROM (SELECT r.* ${rows}) r ${ofModel}
     GROUP BY ${columns.map((column) => `r.${column}`).join(', ')}`,
    ...bindings.values,
  );
}

function totalsRange(on: SqlReader, bindings: Bindings, owner: UsageOwner, { after, upTo }: Run): string {
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
  return columns.map((column) => (column === 'model' ? 'r.model' : numbers(on, column))).join(', ');
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
