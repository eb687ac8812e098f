// Usage added up from the daily totals: a bounded run of them at a time, each in a short read of its
// own. Between two of them it rests, so that the ledger can copy its log back and begin it anew: one
// read after another would let it grow, and every commit would try to copy it in vain.

import type { Database } from 'bun:sqlite';
import { bounds } from '../../config.ts';
import { gatherTop, gatherTotals, totalsGroupings, type UsageStore, type UsageTotal } from '../../ledger/ledger.ts';
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
import { prepareText } from './statements.ts';
import { usageScopes } from './usage-scope.ts';

/** The totals of a run after `place` up to `lastDayMs`, and where the next one begins; null: there is none. */
type ReadRun = (
  asked: RunsQuestion,
  place: TotalsPlace,
  lastDayMs: number,
  of: number | null,
) => [TotalsRow[], TotalsPlace | null];

/** A way through the table: what leads to its rows ($7 is whose they are), and the order in which they come. */
const WAYS = {
  all: {
    from: 'daily_totals',
    after: '(day_ms, account_id, key_id, model) > ($1, $2, $3, $4)',
    order: 'day_ms, account_id, key_id, model',
  },
  account: {
    from: 'daily_totals INDEXED BY totals_of_account',
    after: 'account_id = $7 AND (day_ms, key_id, model) > ($1, $3, $4)',
    order: 'day_ms, key_id, model',
  },
  key: {
    from: 'daily_totals INDEXED BY totals_of_key',
    after: 'key_id = $7 AND (day_ms, model) > ($1, $4)',
    order: 'day_ms, model',
  },
};

/** `rowsMax` bounds what one report adds up, `runRows` what one statement of it does. */
export function totalsReads(
  database: Database,
  { rowsMax, runRows } = { rowsMax: bounds.totalsRowsMax as number, runRows: bounds.totalsRunRows as number },
): Pick<UsageStore, 'totalUsage' | 'topUsage'> {
  const scopeOf = usageScopes(database);
  const ofAll = runReader(database, WAYS.all, runRows);
  const ofAccount = runReader(database, WAYS.account, runRows);
  const ofKey = runReader(database, WAYS.key, runRows);
  const readScope = async function* (scope: UsageScope, question: RunsQuestion): AsyncGenerator<UsageTotal[]> {
    const reading: Reading = { runRows, rowsLeft: rowsMax, restedAtMs: performance.now() };
    if (scope.of === 'all') yield* readRuns(ofAll, question, null, reading);
    else if (scope.of === 'account') yield* readRuns(ofAccount, question, scope.account, reading);
    else for (const key of scope.keys) yield* readRuns(ofKey, question, key, reading);
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
  runRows: number;
  rowsLeft: number;
  restedAtMs: number;
}

async function* readRuns(
  readRun: ReadRun,
  question: RunsQuestion,
  of: number | null,
  reading: Reading,
): AsyncGenerator<UsageTotal[]> {
  const { sinceMs, untilMs } = question;
  let place: TotalsPlace | null = beforeDay(sinceMs ?? 0);
  while (place !== null) {
    const [rows, next]: ReturnType<ReadRun> = readRun(question, place, untilMs ?? Number.MAX_SAFE_INTEGER, of);
    reading.rowsLeft -= next === null ? rows.reduce((sum, { count }) => sum + count, 0) : reading.runRows;
    if (reading.rowsLeft < 0) throw tooMuchToAddUp();
    yield readTotals(rows);
    place = next;
    await rest(reading);
  }
}

async function rest(reading: Reading): Promise<void> {
  if (performance.now() - reading.restedAtMs < bounds.totalsStretchMs) return;
  await Bun.sleep(bounds.totalsRestMs);
  reading.restedAtMs = performance.now();
}

function runReader(database: Database, { from, after, order }: (typeof WAYS)['all'], runRows: number): ReadRun {
  const rows = `FROM ${from} WHERE ${after} AND day_ms <= $5 ORDER BY ${order}`;
  const lastOf = prepareText(database, `SELECT day_ms, account_id, key_id, model ${rows} LIMIT 1 OFFSET $6 - 1`);
  // $8 is the model, which is taken out of the run: no index leads to it.
  const prepareSums = (columns: string) =>
    prepareText(
      database,
      `SELECT ${columns}, ${SUMS} FROM (SELECT * ${rows} LIMIT $6)
       WHERE ($8 IS NULL OR model = $8) GROUP BY ${columns}`,
    );
  const groupings = [...totalsGroupings, 'all'] as const;
  const sums = new Map(groupings.map((groupBy) => [groupBy, prepareSums(groupColumns[groupBy].join(', '))]));
  // In one transaction: a row that comes between the two statements would be counted twice, or not at all.
  const read: ReadRun = ({ groupBy, model }, place, lastDayMs, of) => {
    const values = [...place, lastDayMs, runRows];
    const [last] = lastOf.values(...values, ...(of === null ? [] : [of])) as unknown as TotalsPlace[];
    return [(sums.get(groupBy)?.all(...values, of, model) ?? []) as TotalsRow[], last ?? null];
  };
  return database.transaction(read) as ReadRun;
}
