// Rows of accounts as version 14 wrote them: no columns for windows of earlier plans, and windows without their own start.

import { expect, test } from 'bun:test';
import { prepareDatabase } from '../../src/storage/postgres/postgres.ts';
import { openForWriting } from '../../src/storage/sqlite/sqlite.ts';
import { openWorkbench, START_MS, type Workbench } from '../money/ledger/workbench.ts';
import { cannotStartPostgres, runOn } from '../support/start-postgres.ts';
import { type OpenedPostgres, openPostgres } from './open-postgres.ts';
import { type OpenedSqlite, openSqlite } from './open-sqlite.ts';
import { tablesBefore } from './tables-before.ts';

const DAY_MS = 86_400_000;
const WEEK = {
  name: 'basic',
  windows: [{ length: 'week', limit: 50 }],
  groups: null,
  anchorMs: START_MS,
  paidUntilMs: null,
  endsAtMs: null,
  overflow: true,
} as const;
/** As the earlier version wrote it. */
const EARLY_PLAN = JSON.stringify({ ...WEEK, windows: [{ ...WEEK.windows[0], used: 30, startMs: START_MS }], held: 0 });

/** Uses an account whose row `age` replaces by one of version 14, which a start then migrates. */
async function continueFrom(bench: Workbench, age: (plan: string) => Promise<void>): Promise<void> {
  const give = (plan: typeof WEEK | (Omit<typeof WEEK, 'windows'> & { windows: [{ length: 'month'; limit: 90 }] })) =>
    bench.submit({ kind: 'set-plan', account: bench.account, plan });
  const read = async () => {
    const { plan } = (await bench.stores.ledger.accountMeters(bench.account, bench.clock.nowMs())) ?? {};
    return plan?.windows.map(({ length, used, startMs }) => [length, used, startMs]);
  };
  await give(WEEK);
  bench.clock.advance(1);
  const requestId = await bench.begin(30);
  await bench.settle(requestId, 30);
  await age(EARLY_PLAN);
  expect((await bench.stores.ledger.listPlans({ after: 0, limit: 10 })).plans).toMatchObject([
    { account: bench.account, plan: { windows: [{ used: 30, anchorMs: START_MS, sinceMs: 0 }] } },
  ]);
  bench.clock.advance(DAY_MS);
  await give({ ...WEEK, windows: [{ length: 'month', limit: 90 }] });
  expect(await read()).toEqual([['month', 0, START_MS]]);
  bench.clock.advance(DAY_MS);
  await bench.ask({ kind: 'refund', requestId, amount: 10, note: null });
  await give(WEEK);
  expect(await read()).toEqual([['week', 20, START_MS]]);
  bench.clock.advance(5 * DAY_MS);
  expect(await read()).toEqual([['week', 0, START_MS + 7 * DAY_MS]]);
}

test('a plan of an earlier version keeps its use over changes of plans, on SQLite', async () => {
  let opened: OpenedSqlite | undefined;
  await using bench = await openWorkbench((clock) => (opened = openSqlite(clock)), 0);
  await continueFrom(bench, async (plan) => {
    const { database, path } = opened as OpenedSqlite;
    database.run(tablesBefore(15).sqlite);
    database.run('UPDATE account_meters SET plan = ?', [plan]);
    openForWriting(path).close();
  });
});

test.skipIf(cannotStartPostgres)(
  'a plan of an earlier version keeps its use over changes of plans, on PostgreSQL',
  async () => {
    let opened: OpenedPostgres | undefined;
    await using bench = await openWorkbench(async (clock) => (opened = await openPostgres(clock)), 0);
    await continueFrom(bench, async (plan) => {
      const { url } = opened as OpenedPostgres;
      await runOn(url, tablesBefore(15).postgres);
      await runOn(url, `UPDATE account_meters SET plan = '${plan}'`);
      await prepareDatabase(url);
    });
  },
);
