// Usage added up from the daily totals: a bounded run of them at a time, each in a statement of its own.

import { bounds } from '../../config.ts';
import { gatherTop, gatherTotals, type TopQuestion, type UsageStore, type UsageTotal } from '../../ledger/ledger.ts';
import {
  beforeDay,
  groupColumns,
  type RunGrouping,
  readTotals,
  SUMS,
  type TotalsRow,
  tooMuchToAddUp,
} from '../totals-rows.ts';
import type { UsageScope } from '../usage-scope.ts';
import type { Reader } from './read-pool.ts';
import { asNumbers } from './row-columns.ts';
import { usageScopes } from './usage-scope.ts';

/** A row's place in the table. */
interface Place {
  day_ms: number;
  account_id: number;
  key_id: number;
  model: string;
}
type Column = keyof Place;

/** The ways through the table: the columns of an index, in its order. Those before the day say whose totals they are. */
const WAYS = {
  all: ['day_ms', 'account_id', 'key_id', 'model'],
  account: ['account_id', 'day_ms', 'key_id', 'model'],
  key: ['key_id', 'day_ms', 'model'],
} as const satisfies Record<string, readonly Column[]>;

/** `groupBy` says by what its runs are added up. */
type RunsQuestion = TopQuestion & { groupBy: RunGrouping };

/** A group of a run, how many totals the whole run has, and the place of the last of them. */
type RunRow = TotalsRow & { run_rows: number } & { [Name in Column as `last_${Name}`]: Place[Name] };

/** `rowsMax` bounds what one report adds up, `runRows` what one statement of it does. */
export function totalsReads(
  reader: Reader,
  { rowsMax, runRows } = { rowsMax: bounds.totalsRowsMax as number, runRows: bounds.totalsRunRows as number },
): Pick<UsageStore, 'totalUsage' | 'topUsage'> {
  const scopeOf = usageScopes(reader);
  const readScope = async function* (scope: UsageScope, question: RunsQuestion): AsyncGenerator<UsageTotal[]> {
    const reading: Reading = { reader, question, runRows, rowsLeft: rowsMax };
    if (scope.of === 'all') yield* readRuns(reading, WAYS.all, {});
    else if (scope.of === 'account') yield* readRuns(reading, WAYS.account, { account_id: scope.account });
    else for (const key of scope.keys) yield* readRuns(reading, WAYS.key, { key_id: key });
  };
  return {
    async totalUsage(question) {
      return gatherTotals(readScope(await scopeOf(question), question), question);
    },
    async topUsage(question) {
      return gatherTop(readScope(await scopeOf(question), { ...question, groupBy: 'all' }), question);
    },
  };
}

interface Reading {
  reader: Reader;
  question: RunsQuestion;
  runRows: number;
  rowsLeft: number;
}

async function* readRuns(reading: Reading, way: readonly Column[], of: Partial<Place>): AsyncGenerator<UsageTotal[]> {
  const { question, runRows } = reading;
  const text = runText(way, question);
  const [day, account, key, model] = beforeDay(question.sinceMs ?? 0);
  let place: Place | null = { day_ms: day, account_id: account, key_id: key, model, ...of };
  while (place !== null) {
    const start: Place = place;
    const values = way.map((column) => start[column]);
    const rows = await reading.reader.read<RunRow>(
      text,
      ...values,
      question.untilMs ?? Number.MAX_SAFE_INTEGER,
      runRows,
      ...(question.model === null ? [] : [question.model]),
    );
    const count = rows[0]?.run_rows ?? 0;
    reading.rowsLeft -= count;
    if (reading.rowsLeft < 0) throw tooMuchToAddUp();
    yield readTotals(rows);
    place = count < runRows ? null : lastOf(rows[0]);
  }
}

/** The values are those of the place, in the way's order, the last day, the most rows, and the model where it is of one. */
function runText(way: readonly Column[], { groupBy, model }: RunsQuestion): string {
  const grouped = groupColumns[groupBy];
  const columns = way.map((column) => `r.${column}`);
  const values = way.map((_, at) => `$${at + 1}`);
  const upToDay = way.indexOf('day_ms');
  const lastDay = [...values.slice(0, upToDay), `$${way.length + 1}`];
  const groups = grouped.map((column) => `t.${column}`).join(', ');
  const given = grouped.map((column) => (column === 'model' ? 't.model' : asNumbers('t', column))).join(', ');
  return `
    WITH run AS MATERIALIZED (
      SELECT * FROM daily_totals r
      WHERE ROW(${columns.join(', ')}) > ROW(${values.join(', ')})
        AND ROW(${columns.slice(0, upToDay + 1).join(', ')}) <= ROW(${lastDay.join(', ')})
      ORDER BY ${columns.join(', ')} LIMIT $${way.length + 2}),
    last AS (
      SELECT r.day_ms, r.account_id, r.key_id, r.model FROM run r
      ORDER BY ${columns.map((column) => `${column} DESC`).join(', ')} LIMIT 1),
    size AS (SELECT COUNT(*)::float8 AS rows FROM run r)
    SELECT ${given}, ${SUMS},
      l.day_ms::float8 AS last_day_ms, l.account_id::float8 AS last_account_id, l.key_id::float8 AS last_key_id,
      l.model AS last_model, s.rows AS run_rows
    FROM last l CROSS JOIN size s LEFT JOIN run t ON ${model === null ? 'true' : `t.model = $${way.length + 3}`}
    GROUP BY ${groups}, l.day_ms, l.account_id, l.key_id, l.model, s.rows`;
}

function lastOf(row: RunRow | undefined): Place | null {
  if (row === undefined) return null;
  return {
    day_ms: row.last_day_ms,
    account_id: row.last_account_id,
    key_id: row.last_key_id,
    model: row.last_model,
  };
}
