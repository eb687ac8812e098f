// Accounts below others: found on every level, and reports of an account with those below it.

import { expect, test } from 'bun:test';
import type { Account } from '../../../src/accounts/accounts.ts';
import { type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';
import { allRefusals } from '../../support/everything.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

const TERMS = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;

/** Places an account below another one. */
async function place(bench: Workbench, id: number, parentId: number | null): Promise<void> {
  const account = (await bench.stores.accounts.getAccount(id)) as Account;
  await bench.stores.accounts.updateAccount({ ...account, parentId }, TERMS, noAuditContext);
}

async function belowOf(bench: Workbench, id: number): Promise<number[]> {
  return (await bench.stores.accounts.listBelow(id)).map((account) => account.id);
}

export function accountTreeTests(open: OpenStores): void {
  refusalTests(open);
  test('the accounts below one are found on every level, oldest first, until they are moved', async () => {
    await using bench = await openWorkbench(open, 100);
    const ids: number[] = [];
    for (let at = 0; at < 4; at++) {
      bench.clock.advance(1_000);
      ids.push(await bench.addAccount(0));
    }
    const [child, grandchild, other, stranger] = ids as [number, number, number, number];
    await place(bench, other, bench.account);
    await place(bench, child, bench.account);
    await place(bench, grandchild, child);
    expect(await belowOf(bench, bench.account)).toEqual([child, grandchild, other]);
    expect(await belowOf(bench, child)).toEqual([grandchild]);
    expect(await belowOf(bench, stranger)).toEqual([]);
    await place(bench, child, null);
    expect(await belowOf(bench, bench.account)).toEqual([other]);
  });

  test('reports of an account with those below it are exactly the sums of each, and lists merge their records', async () => {
    await using bench = await openWorkbench(open, 1_000_000);
    const { stores } = bench;
    const accounts = [bench.account, await bench.addAccount(1_000), await bench.addAccount(1_000)];
    const [top, child, grandchild] = accounts as [number, number, number];
    await place(bench, child, top);
    await place(bench, grandchild, child);
    const keys = [bench.key, await bench.addKey({}, child), await bench.addKey({}, grandchild)];
    for (let turn = 0; turn < 7; turn++) {
      const at = turn % 3;
      const own = { account: accounts[at] as number, key: keys[at] as number };
      bench.clock.advance(60_000);
      const above = accounts.slice(0, at).toReversed();
      await bench.settle(await bench.begin(10, own), turn + 1, { ...own, above, payer: own.account });
    }
    const of = { key: null, madeBy: null, model: null, sinceMs: null, untilMs: null, limit: 100 };
    const totals = (account: number, below: boolean) =>
      stores.usage.totalUsage({ ...of, account, below, groupBy: 'account' });
    const own = await Promise.all(accounts.map(async (account) => (await totals(account, false)).whole));
    for (const [at, account] of accounts.entries()) {
      const { whole, rows } = await totals(account, true);
      const parts = own.slice(at);
      expect(whole.messages).toBe(parts.reduce((sum, { messages }) => sum + messages, 0));
      expect(whole.cost).toBe(parts.reduce((sum, { cost }) => sum + cost, 0n));
      expect(rows.map((row) => row.account).toSorted()).toEqual(accounts.slice(at).toSorted());
      const top = await stores.usage.topUsage({ ...of, account, below: true });
      expect(top.whole.cost).toBe(whole.cost);
      const question = { ...of, account, below: true, sinceMs: START_MS, untilMs: START_MS + 3_600_000 };
      const readTimeline = () => stores.usage.readTimeline({ ...question, step: 'hour' });
      let timeline = await readTimeline();
      while (timeline.countedSinceMs > START_MS) timeline = await readTimeline(); // on a busy machine, it stops early and says so
      const { buckets } = timeline;
      expect(buckets.reduce((sum, { total }) => sum + total.cost, 0n)).toBe(whole.cost);
    }
    const page = { ...of, account: top, below: true, outcome: null };
    const listed: number[] = [];
    for (let before: number | null = null; ; before = listed.at(-1) ?? null) {
      const rows = await stores.usage.listUsage({ ...page, before, limit: 2 });
      listed.push(...rows.map(({ seq }) => seq));
      if (rows.length < 2) break;
    }
    expect(listed).toHaveLength(7);
    expect(listed).toEqual(listed.toSorted((one, other) => other - one));
    const foreign = await stores.usage.listUsage({ ...page, account: child, key: keys[0] as number, before: null });
    expect(foreign).toEqual([]);
  });
}

function refusalTests(open: OpenStores): void {
  test('refused requests of an account are counted with those of the accounts below it, on every level', async () => {
    await using bench = await openWorkbench(open, 0);
    const { traffic } = bench.stores;
    const [child, grandchild, stranger] = [
      await bench.addAccount(0),
      await bench.addAccount(0),
      await bench.addAccount(0),
    ];
    await place(bench, child, bench.account);
    await place(bench, grandchild, child);
    const refusal = { atMs: START_MS, key: null, code: 'key_invalid', status: 401, lastAtMs: START_MS, message: '' };
    const counts = [bench.account, child, grandchild, stranger].map((account, at) => ({
      ...{ ...refusal, account, count: 10 ** at },
    }));
    await traffic.addRefusals(counts);
    const countOf = async (account: number, below?: boolean) => {
      const question = { ...allRefusals, account, ...(below !== undefined && { below }), groupBy: 'hour' as const };
      const { rows, whole } = await traffic.totalRefusals(question);
      return [rows.map(({ count }) => count), whole.count];
    };
    expect(await countOf(bench.account, true)).toEqual([[111], 111]);
    expect(await countOf(bench.account, false)).toEqual([[1], 1]);
    expect(await countOf(child, true)).toEqual([[110], 110]);
    expect(await countOf(child)).toEqual([[10], 10]);
  });
}
