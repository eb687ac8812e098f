// Usage added up from the daily totals: a bounded run of them at a time, each in a statement of its own.

import { DAY_MS } from '../../base/clock.ts';
import { bounds } from '../../config.ts';
import { gatherTop, gatherTotals, type UsageStore, type UsageTotal } from '../../ledger/ledger.ts';
import {
  beforeDay,
  groupColumns,
  type RunsQuestion,
  readTotals,
  SUMS,
  type TotalsPlace,
  type TotalsRow,
  tooMuchToAddUp,
} from '../totals-rows.ts';
import type { UsageScope } from '../usage-scope.ts';
import type { Reader } from './read-pool.ts';
import { asNumbers } from './row-columns.ts';
import { usageScopes } from './usage-scope.ts';

/** A row's place in the table. */
type Place = Readonly<Record<Column, number | string>>;
type Column = 'day_ms' | 'account_id' | 'key_id' | 'model';

/** The ways through the table: the columns of an index, in its order. Those before the day say whose totals they are. */
const WAYS = {
  all: ['day_ms', 'account_id', 'key_id', 'model'],
  account: ['account_id', 'day_ms', 'key_id', 'model'],
  key: ['key_id', 'day_ms', 'model'],
} as const satisfies Record<string, readonly Column[]>;

/** `rowsMax` bounds what one report adds up, `runRows` what one statement of it does. */
export function totalsReads(
  reader: Reader,
  { rowsMax, runRows } = { rowsMax: bounds.totalsRowsMax as number, runRows: bounds.totalsRunRowsOfServer as number },
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

/** The last of a run is looked up first: to add up a range is several times as fast as to add up so many rows. */
async function* readRuns(reading: Reading, way: readonly Column[], of: Partial<Place>): AsyncGenerator<UsageTotal[]> {
  const { reader, question, runRows } = reading;
  const texts = textsOf(way, question);
  const { sinceMs, untilMs } = question;
  const end = placeOf(way, beforeDay(untilMs === null ? Number.MAX_SAFE_INTEGER : untilMs + DAY_MS), of);
  let place = placeOf(way, beforeDay(sinceMs ?? 0), of);
  for (;;) {
    const [last] = await reader.read<Place>(texts.last, ...place, ...end, runRows - 1);
    reading.rowsLeft -= last === undefined ? 0 : runRows;
    if (reading.rowsLeft < 0) throw tooMuchToAddUp();
    const upTo = last === undefined ? end : way.map((column) => last[column]);
    const rows = await reader.read<TotalsRow>(
      texts.sums,
      ...place,
      ...upTo,
      ...(question.model === null ? [] : [question.model]),
    );
    if (last === undefined) reading.rowsLeft -= rows.reduce((sum, { count }) => sum + count, 0);
    if (reading.rowsLeft < 0) throw tooMuchToAddUp();
    yield readTotals(rows);
    if (last === undefined) return;
    place = upTo;
  }
}

/** In the way's order. */
function placeOf(
  way: readonly Column[],
  [day, account, key, model]: TotalsPlace,
  of: Partial<Place>,
): (number | string)[] {
  const place: Place = { day_ms: day, account_id: account, key_id: key, model, ...of };
  return way.map((column) => place[column]);
}

/** The values of both are those of the place before, and of the end, in the way's order; then which row, or the model where it is of one. */
function textsOf(way: readonly Column[], { groupBy, model }: RunsQuestion): { last: string; sums: string } {
  const columns = way.map((column) => `r.${column}`);
  const values = (from: number) => way.map((_, at) => `$${from + at}`).join(', ');
  const next = `$${2 * way.length + 1}`;
  const row = `ROW(${columns.join(', ')})`;
  const within = `FROM daily_totals r
    WHERE ${row} > ROW(${values(1)}) AND ${row} <= ROW(${values(way.length + 1)})`;
  const groups = groupColumns[groupBy];
  return {
    last: `SELECT ${shown(way)} ${within} ORDER BY ${columns.join(', ')} OFFSET ${next} LIMIT 1`,
    // In the way's order, although nobody asks for it: so it goes by that index, whatever the table was like when it was planned.
    sums: `SELECT ${shown(groups)}, ${SUMS} FROM (SELECT r.* ${within} ORDER BY ${columns.join(', ')}) r
      ${model === null ? '' : `WHERE r.model = ${next}`} GROUP BY ${groups.map((column) => `r.${column}`).join(', ')}`,
  };
}

function shown(columns: readonly string[]): string {
  return columns.map((column) => (column === 'model' ? 'r.model' : asNumbers('r', column))).join(', ');
}
