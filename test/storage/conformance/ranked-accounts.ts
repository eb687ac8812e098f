// The accounts that have metrics because of their cost, by the store's daily totals.

import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { bounds } from '../../../src/config/config.ts';
import { AccountsInMetrics, RANKED_ACCOUNTS, rankAccounts } from '../../../src/server/accounts-in-metrics.ts';
import { type OpenStores, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';

export function rankedAccountsConformance(open: OpenStores): void {
  test('accounts by their cost of the last days, and shows them on every node', async () => {
    await using bench = await openWorkbench(open, 1_000);
    const { stores, clock } = bench;
    const parts = { stores, settings: () => ({ accountsInMetrics: [], topAccountsInMetrics: 2 }), clock };
    const first = bench.account;
    await spend(bench, 30);
    const [second, third] = [await bench.addAccount(1_000), await bench.addAccount(1_000)];
    await spend(bench, 10, third);
    await spend(bench, 20, second);
    await rankAccounts(parts);
    const shown = async () => (await new AccountsInMetrics(parts).find()).map(({ id }) => id);
    expect(await shown()).toEqual([first, second]);
    await spend(bench, 70, third);
    await rankAccounts(parts);
    expect(await shown()).toEqual([first, second]); // until the day ends
    clock.advance(DAY_MS);
    await rankAccounts(parts);
    expect(await shown()).toEqual([third, first]);
    const limits = await new AccountsInMetrics(parts).read(first);
    expect(limits).toEqual({ available: 970, limits: [] });
    clock.advance(bounds.accountsRankedDays * DAY_MS + DAY_MS);
    await rankAccounts(parts);
    expect(await shown()).toEqual([]);
    expect(await stores.events.readFact(RANKED_ACCOUNTS)).toMatch(/^\d+$/);
  });
}

async function spend(bench: Workbench, cost: number, account = bench.account): Promise<void> {
  await bench.takeLease('node-1');
  const key = account === bench.account ? bench.key : await bench.addKey({}, account);
  const requestId = await bench.begin(cost, { account, key });
  await bench.settle(requestId, cost, { account, key });
}
