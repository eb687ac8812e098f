// Records and totals of before version 20, which have no provider, person and tags in the totals.

import { expect, test } from 'bun:test';
import { checkLedger } from '../../src/ledger/ledger.ts';
import { prepareDatabase } from '../../src/storage/postgres/postgres.ts';
import { openForWriting } from '../../src/storage/sqlite/sqlite.ts';
import { openWorkbench, type Workbench } from '../money/ledger/workbench.ts';
import { cannotStartPostgres, runOn } from '../support/start-postgres.ts';
import { type OpenedPostgres, openPostgres } from './open-postgres.ts';
import { type OpenedSqlite, openSqlite } from './open-sqlite.ts';
import { tablesBefore } from './tables-before.ts';

const PAGE = { account: null, key: null, madeBy: null, model: null, sinceMs: null, untilMs: null, limit: 10 };

/** Bills a message before and after the migration, on the same day, and corrects the first. */
async function continueFrom(bench: Workbench, migrate: () => Promise<void>): Promise<void> {
  const former = await bench.begin(30);
  await bench.settle(former, 30);
  await migrate();
  expect(await bench.stores.usage.getUsage(former)).toMatchObject({
    provider: 'sandbox',
    tagSet: null,
    tags: {},
    session: null,
    person: null,
  });
  const later = await bench.begin(50);
  await bench.settle(later, 20, { tags: { team: 'search' }, tagSet: 7, session: 's' });
  await bench.ask({ kind: 'refund', requestId: former, amount: 10, note: null });
  expect(await bench.stores.usage.getUsage(former)).toMatchObject({ cost: 20, tagSet: null });
  const { rows, whole } = await bench.stores.usage.totalUsage({ ...PAGE, groupBy: 'provider' });
  expect(rows.map(({ provider, messages, cost }) => [provider, messages, cost])).toEqual([
    [null, 1, 20n],
    ['sandbox', 1, 20n],
  ]);
  expect(whole).toMatchObject({ messages: 2, cost: 40n });
}

test('totals of earlier records stay without a provider, also after a refund, on SQLite', async () => {
  let opened: OpenedSqlite | undefined;
  await using bench = await openWorkbench((clock) => (opened = openSqlite(clock)), 1_000);
  const { database, path, sums } = opened as unknown as OpenedSqlite;
  await continueFrom(bench, async () => {
    database.run(tablesBefore(20).sqlite);
    openForWriting(path).close();
  });
  expect(checkLedger(sums()).faults).toEqual([]);
  database.run("UPDATE usage_records SET provider = 'other' WHERE tag_set = 7");
  expect(checkLedger(sums()).faults).toHaveLength(2); // the totals of either provider
  database.run("UPDATE usage_records SET provider = 'sandbox' WHERE tag_set = 7");
});

test.skipIf(cannotStartPostgres)(
  'totals of earlier records stay without a provider, also after a refund, on PostgreSQL',
  async () => {
    let opened: OpenedPostgres | undefined;
    await using bench = await openWorkbench(async (clock) => (opened = await openPostgres(clock)), 1_000);
    await continueFrom(bench, async () => {
      const { url } = opened as unknown as OpenedPostgres;
      await runOn(url, tablesBefore(20).postgres);
      await prepareDatabase(url);
    });
  },
);
