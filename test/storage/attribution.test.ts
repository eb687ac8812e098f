// Records and totals of before version 20, which have no provider, person and tags in the totals, and of before version 26, which have
// no group in them; refusals of before version 29, which have no scope.

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
async function continueFrom(bench: Workbench, version: number, migrate: () => Promise<void>): Promise<void> {
  const former = await bench.begin(30);
  await bench.settle(former, 30);
  await migrate();
  const tagSet = version > 20 ? 0 : null;
  expect(await bench.stores.usage.getUsage(former)).toMatchObject({
    provider: 'sandbox',
    group: 'default',
    tagSet,
    tags: {},
    session: null,
    person: null,
  });
  const later = await bench.begin(50);
  await bench.settle(later, 20, { tags: { team: 'search' }, tagSet: 7, session: 's' });
  await bench.ask({ kind: 'refund', requestId: former, amount: 10, note: null });
  expect(await bench.stores.usage.getUsage(former)).toMatchObject({ cost: 20, tagSet, totalsLackGroup: true });
  const by = async (groupBy: 'provider' | 'group') => {
    const { rows, whole } = await bench.stores.usage.totalUsage({ ...PAGE, groupBy });
    expect(whole).toMatchObject({ messages: 2, cost: 40n });
    return rows.map((row) => [row[groupBy], row.messages, row.cost]);
  };
  expect(await by('group')).toEqual([
    [null, 1, 20n],
    ['default', 1, 20n],
  ]);
  if (version === 20)
    expect(await by('provider')).toEqual([
      [null, 1, 20n],
      ['sandbox', 1, 20n],
    ]);
  else expect(await by('provider')).toEqual([['sandbox', 2, 40n]]);
}

/** Counts a refusal before and after the migration. */
async function refuseAround({ stores, account, key }: Workbench, migrate: () => Promise<void>): Promise<void> {
  const { traffic } = stores;
  const row = { atMs: 60_000, account, key, code: 'insufficient_user_quota', status: 400, count: 1, lastAtMs: 60_001 };
  const message = 'The quota of this key is too low: the missing amount is held by messages in progress.';
  const scopes = async () =>
    (await traffic.listFrequentRefusals({ sinceMs: 0, least: 1, limit: 9 })).map((one) => one.scope);
  await traffic.addRefusals([{ ...row, message, scope: 'account' }]);
  expect(await scopes()).toEqual(['account']);
  await migrate();
  expect(await scopes()).toEqual(['key_held']); // as its words say
  await traffic.addRefusals([{ ...row, atMs: 120_000, lastAtMs: 120_001, message, scope: 'key' }]);
  expect(await scopes()).toEqual(['key']);
}

test('refusals of before version 29 have the scope that their messages tell, on SQLite', async () => {
  let opened: OpenedSqlite | undefined;
  await using bench = await openWorkbench((clock) => (opened = openSqlite(clock)), 1_000);
  const { database, path } = opened as unknown as OpenedSqlite;
  await refuseAround(bench, async () => {
    database.run(tablesBefore(29).sqlite);
    openForWriting(path).close();
  });
});

test.skipIf(cannotStartPostgres)(
  'refusals of before version 29 have the scope that their messages tell, on PostgreSQL',
  async () => {
    let opened: OpenedPostgres | undefined;
    await using bench = await openWorkbench(async (clock) => (opened = await openPostgres(clock)), 1_000);
    await refuseAround(bench, async () => {
      const { url } = opened as unknown as OpenedPostgres;
      await runOn(url, tablesBefore(29).postgres);
      await prepareDatabase(url);
    });
  },
);

for (const version of [20, 26]) {
  test(`totals of records of before version ${version} stay as they are, also after a refund, on SQLite`, async () => {
    let opened: OpenedSqlite | undefined;
    await using bench = await openWorkbench((clock) => (opened = openSqlite(clock)), 1_000);
    const { database, path, sums } = opened as unknown as OpenedSqlite;
    await continueFrom(bench, version, async () => {
      database.run(tablesBefore(version).sqlite);
      openForWriting(path).close();
    });
    expect(checkLedger(sums()).faults).toEqual([]);
    for (const [column, value] of [
      ['provider', 'sandbox'],
      ['group_name', 'default'],
    ]) {
      database.run(`UPDATE usage_records SET ${column} = 'other' WHERE tag_set = 7`);
      expect(checkLedger(sums()).faults).toHaveLength(2); // the totals of either
      database.run(`UPDATE usage_records SET ${column} = '${value}' WHERE tag_set = 7`);
    }
    database.run("UPDATE usage_records SET group_name = 'other' WHERE group_in_totals IS NULL");
    expect(checkLedger(sums()).faults).toEqual([]); // no total says which
  });

  test.skipIf(cannotStartPostgres)(
    `totals of records of before version ${version} stay as they are, also after a refund, on PostgreSQL`,
    async () => {
      let opened: OpenedPostgres | undefined;
      await using bench = await openWorkbench(async (clock) => (opened = await openPostgres(clock)), 1_000);
      await continueFrom(bench, version, async () => {
        const { url } = opened as unknown as OpenedPostgres;
        await runOn(url, tablesBefore(version).postgres);
        await prepareDatabase(url);
      });
    },
  );
}
