// Lists: newest first, in pages, filtered; oldest first if ordered by creation.

import { expect, test } from 'bun:test';
import type { UsagePage } from '../../../src/reports/reports.ts';
import { type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';
import { allUsage } from '../../support/everything.ts';
import { accountTreeTests } from './account-tree.ts';

export function readConformance(open: OpenStores): void {
  usageTests(open);
  entryTests(open);
  accountTests(open);
  accountTreeTests(open);
}

/** Messages of two keys in turn, one per minute: req_1, req_2, and so on. */
async function useTwoKeys(bench: Workbench, count: number): Promise<number> {
  const other = await bench.addKey();
  for (let turn = 0; turn < count; turn++) {
    const key = turn % 2 === 0 ? bench.key : other;
    const requestId = await bench.begin(10, { key });
    await bench.settle(requestId, 1, { key });
    bench.clock.advance(60_000);
  }
  return other;
}

function usageTests(open: OpenStores): void {
  const list = async (bench: Workbench, facts: Partial<UsagePage>) =>
    (await bench.stores.usage.listUsage({ ...allUsage, ...facts })).map(({ requestId }) => requestId);

  test('usage by account, key and time, newest first', async () => {
    await using bench = await openWorkbench(open, 100);
    const other = await useTwoKeys(bench, 5);
    expect(await list(bench, {})).toEqual(['req_5', 'req_4', 'req_3', 'req_2', 'req_1']);
    expect(await list(bench, { account: bench.account, limit: 2 })).toEqual(['req_5', 'req_4']);
    expect(await list(bench, { account: 7 })).toEqual([]);
    expect(await list(bench, { key: other })).toEqual(['req_4', 'req_2']);
    expect(await list(bench, { account: bench.account, key: other })).toEqual(['req_4', 'req_2']);
    expect(await list(bench, { account: 7, key: other })).toEqual([]);
    const times = { sinceMs: START_MS + 60_000, untilMs: START_MS + 180_000 };
    expect(await list(bench, times)).toEqual(['req_4', 'req_3', 'req_2']);
    expect(await list(bench, { ...times, key: other })).toEqual(['req_4', 'req_2']);
    expect(await bench.stores.usage.getUsage('req_9')).toBeNull();
  });

  test('usage in complete pages, also after the clock was set back', async () => {
    await using bench = await openWorkbench(open, 100);
    await useTwoKeys(bench, 3);
    bench.clock.advance(-90_000);
    await useTwoKeys(bench, 3);
    const whole = await bench.stores.usage.listUsage(allUsage);
    const times = whole.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((one, other) => other - one));
    for (const facts of [{}, { account: bench.account }]) {
      const paged: string[] = [];
      let before: number | null = null;
      for (let page = 0; page < 6; page++) {
        const records = await bench.stores.usage.listUsage({ ...allUsage, ...facts, before, limit: 1 });
        paged.push(...records.map(({ requestId }) => requestId));
        before = records.at(-1)?.seq ?? null;
      }
      expect(paged).toEqual(whole.map(({ requestId }) => requestId));
    }
  });
}

function entryTests(open: OpenStores): void {
  test('entries of one account, newest first, in pages and since a time', async () => {
    await using bench = await openWorkbench(open, 1);
    for (let turn = 2; turn <= 5; turn++) {
      bench.clock.advance(1000);
      await bench.credit(turn, { note: `note ${turn}`, reference: `reference ${turn}` });
    }
    await bench.credit(9, { account: await bench.addAccount(0) });
    const page = { account: bench.account, sinceMs: null, untilMs: null, before: null, limit: 2 };
    const newest = await bench.stores.ledger.listEntries(page);
    expect(newest).toMatchObject([
      { amount: 5, note: 'note 5', reference: 'reference 5', atMs: START_MS + 4000 },
      { amount: 4 },
    ]);
    const next = await bench.stores.ledger.listEntries({ ...page, before: newest[1]?.seq ?? null });
    expect(next.map(({ amount }) => amount)).toEqual([3, 2]);
    const since = await bench.stores.ledger.listEntries({ ...page, sinceMs: START_MS + 2000, limit: 100 });
    expect(since.map(({ amount }) => amount)).toEqual([5, 4, 3]);
    const until = await bench.stores.ledger.listEntries({ ...page, untilMs: START_MS + 2000 });
    expect(until.map(({ amount }) => amount)).toEqual([3, 2]);
    bench.clock.advance(-1500);
    await bench.credit(6);
    const all = await bench.stores.ledger.listEntries({ ...page, limit: 3 });
    expect(all.map(({ amount }) => amount)).toEqual([5, 4, 6]);
    const rest = await bench.stores.ledger.listEntries({ ...page, before: all[2]?.seq ?? null });
    expect(rest.map(({ amount }) => amount)).toEqual([3, 2]);
  });
}

function accountTests(open: OpenStores): void {
  test('accounts and keys in the order of creation, in pages', async () => {
    await using bench = await openWorkbench(open, 1);
    const accounts = [bench.account];
    const keys = [bench.key];
    for (let turn = 0; turn < 4; turn++) {
      bench.clock.advance(turn % 2);
      accounts.push(await bench.addAccount(0));
      keys.push(await bench.addKey());
    }
    const foreign = await bench.addKey({}, accounts[1]);
    const { stores } = bench;
    const seen: number[] = [];
    for (let after: number | null = null; ; after = seen.at(-1) ?? null) {
      const page = await stores.accounts.listAccounts({ after, limit: 2 });
      if (page.length === 0) break;
      seen.push(...page.map(({ id }) => id));
    }
    expect(seen.toSorted()).toEqual(accounts.toSorted());
    const listed = await stores.accounts.listKeys({ accountId: bench.account, madeBy: null, after: null, limit: 100 });
    expect(listed.map(({ id }) => id).toSorted()).toEqual(keys.toSorted());
    const rest = await stores.accounts.listKeys({
      accountId: bench.account,
      madeBy: null,
      after: listed[2]?.id ?? null,
      limit: 9,
    });
    expect(rest).toEqual(listed.slice(3));
    expect((await stores.accounts.listKeys({ accountId: null, madeBy: null, after: null, limit: 100 })).length).toBe(
      keys.length + 1,
    );
    expect(await stores.accounts.getKey(foreign)).toMatchObject({ id: foreign, accountId: accounts[1] });
    expect(await stores.accounts.getAccount(7)).toBeNull();
    expect(await stores.ledger.accountMeters(7, START_MS)).toBeNull();
    expect(await stores.ledger.keyMeters(7, START_MS)).toBeNull();
  });
}
