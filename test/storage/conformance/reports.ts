// Reports: usage of the keys of one maker, usage by outcome, and daily totals.

import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import type { UsagePage, UsageTotal } from '../../../src/reports/reports.ts';
import type { TotalsQuestion } from '../../../src/reports/usage-totals.ts';
import { type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';
import { allTotals, allUsage } from '../../support/everything.ts';

export function reportConformance(open: OpenStores): void {
  makerTests(open);
  outcomeTests(open);
  totalsTests(open);
  totalsOfKeysAndGroups(open);
}

const list = async (bench: Workbench, facts: Partial<UsagePage>) =>
  (await bench.stores.usage.listUsage({ ...allUsage, ...facts })).map(({ requestId }) => requestId);

const totals = (bench: Workbench, facts: Partial<TotalsQuestion>) =>
  bench.stores.usage.totalUsage({ ...allTotals, ...facts });

async function useKeys(bench: Workbench, keys: readonly number[], facts: { cost?: number; model?: string } = {}) {
  for (const key of keys) {
    const { cost = 1, model = 'sandbox-echo' } = facts;
    const requestId = await bench.begin(cost, { key, draft: { model, stream: false } });
    await bench.settle(requestId, cost, { key, model, inputTokens: 2 });
    bench.clock.advance(1000);
  }
}

function makerTests(open: OpenStores): void {
  test('usage of the keys that one actor made, newest first and in pages', async () => {
    await using bench = await openWorkbench(open, 100);
    const [one, other] = [
      await bench.addKey({}, bench.account, 'tok_a'),
      await bench.addKey({}, bench.account, 'tok_a'),
    ];
    const foreign = await bench.addKey({}, bench.account, 'tok_b');
    await useKeys(bench, [one, foreign, other, other, one, foreign, one]);
    const mine = ['req_7', 'req_5', 'req_4', 'req_3', 'req_1'];
    expect(await list(bench, { madeBy: 'tok_a' })).toEqual(mine);
    expect(await list(bench, { madeBy: 'tok_a', account: bench.account, limit: 2 })).toEqual(mine.slice(0, 2));
    expect(await list(bench, { madeBy: 'tok_a', sinceMs: START_MS + 2000, untilMs: START_MS + 4000 })).toEqual(
      mine.slice(1, 4),
    );
    const seen: string[] = [];
    for (let before: number | null = null, turn = 0; turn < 3; turn++) {
      const page = await bench.stores.usage.listUsage({ ...allUsage, madeBy: 'tok_a', before, limit: 2 });
      seen.push(...page.map(({ requestId }) => requestId));
      before = page.at(-1)?.seq ?? null;
    }
    expect(seen).toEqual(mine);
  });

  test('no usage for a maker without keys, another maker’s key or another account', async () => {
    await using bench = await openWorkbench(open, 100);
    const key = await bench.addKey({}, bench.account, 'tok_a');
    await useKeys(bench, [key]);
    expect(await list(bench, { madeBy: 'tok_b' })).toEqual([]);
    expect(await list(bench, { madeBy: 'tok_b', key })).toEqual([]);
    expect(await list(bench, { madeBy: 'tok_a', account: 7 })).toEqual([]);
    expect(await list(bench, { madeBy: 'tok_a', key })).toEqual(['req_1']);
    expect((await totals(bench, { madeBy: 'tok_b', key })).whole.messages).toBe(0);
  });
}

function outcomeTests(open: OpenStores): void {
  test('usage by outcome of all accounts, an account, a key and a maker', async () => {
    await using bench = await openWorkbench(open, 100);
    const keys = [await bench.addKey({}, bench.account, 'tok_a'), await bench.addKey({}, bench.account, 'tok_a')];
    for (const [at, outcome] of (['failed', 'completed', 'client_gone', 'failed', 'failed'] as const).entries()) {
      const key = keys[at % 2] as number;
      await bench.settle(await bench.begin(1, { key }), 0, { key, outcome });
      bench.clock.advance(1000);
    }
    const failed = ['req_5', 'req_4', 'req_1'];
    expect(await list(bench, { outcome: 'failed' })).toEqual(failed);
    expect(await list(bench, { outcome: 'failed', account: bench.account, untilMs: START_MS + 3000 })).toEqual(
      failed.slice(1),
    );
    expect(await list(bench, { outcome: 'failed', key: keys[0] as number })).toEqual(['req_5', 'req_1']);
    expect(await list(bench, { outcome: 'failed', madeBy: 'tok_a', limit: 2 })).toEqual(failed.slice(0, 2));
    expect(await list(bench, { outcome: 'quota_cut' })).toEqual([]);
  });
}

const names = (rows: UsageTotal[], name: 'dayMs' | 'model' | 'key' | 'account' | 'group') =>
  rows.map((row) => [row[name], row.messages, row.cost]);

function totalsTests(open: OpenStores): void {
  const firstDayMs = Math.floor(START_MS / DAY_MS) * DAY_MS;

  test('totals by day, model, key and account, of whole days', async () => {
    await using bench = await openWorkbench(open, 1000);
    const other = await bench.addKey();
    const account = await bench.addAccount(100);
    const foreign = await bench.addKey({}, account);
    await useKeys(bench, [bench.key, other], { cost: 5 });
    bench.clock.advance(DAY_MS);
    await useKeys(bench, [bench.key], { cost: 20, model: 'big' });
    await bench.settle(await bench.begin(3, { key: foreign, account }), 3, { key: foreign, account });
    expect(names((await totals(bench, {})).rows, 'dayMs')).toEqual([
      [firstDayMs + DAY_MS, 2, 23n],
      [firstDayMs, 2, 10n],
    ]);
    expect(names((await totals(bench, { groupBy: 'model' })).rows, 'model')).toEqual([
      ['big', 1, 20n],
      ['sandbox-echo', 3, 13n],
    ]);
    const byKey = await totals(bench, { groupBy: 'key', limit: 2 });
    expect(names(byKey.rows, 'key')).toEqual([
      [bench.key, 2, 25n],
      [other, 1, 5n],
    ]);
    expect([byKey.groups, byKey.whole.cost, byKey.whole.inputTokens]).toEqual([3, 33n, 6]);
    expect(names((await totals(bench, { groupBy: 'account' })).rows, 'account')).toEqual([
      [bench.account, 3, 30n],
      [account, 1, 3n],
    ]);
    const today = { sinceMs: START_MS + DAY_MS + 1, untilMs: START_MS + DAY_MS + 1 };
    expect((await totals(bench, today)).whole.cost).toBe(23n);
    expect((await totals(bench, { untilMs: START_MS })).whole.cost).toBe(10n);
    expect((await totals(bench, { account })).whole).toMatchObject({ messages: 1, cost: 3n });
    expect((await totals(bench, { key: bench.key, groupBy: 'model' })).whole.cost).toBe(25n);
    expect((await totals(bench, { key: bench.key, account })).whole.cost).toBe(0n);
  });
}

function totalsOfKeysAndGroups(open: OpenStores): void {
  test('totals by the group that sold each message, by two dimensions and of one group', async () => {
    await using bench = await openWorkbench(open, 100);
    for (const [group, model, cost] of [
      ['default', 'small', 1],
      ['gold', 'small', 4],
      ['gold', 'big', 20],
    ] as const)
      await bench.settle(await bench.begin(cost, { group, draft: { model, stream: true } }), cost, { group, model });
    expect(names((await totals(bench, { groupBy: 'group' })).rows, 'group')).toEqual([
      ['gold', 2, 24n],
      ['default', 1, 1n],
    ]);
    const byTwo = (await totals(bench, { groupBy: 'model', thenBy: 'group' })).rows;
    expect(byTwo.map(({ model, group, cost }) => [model, group, cost])).toEqual([
      ['big', 'gold', 20n],
      ['small', 'gold', 4n],
      ['small', 'default', 1n],
    ]);
    const ofGold = await totals(bench, { group: 'gold', groupBy: 'model' });
    expect([names(ofGold.rows, 'model'), ofGold.whole.cost]).toEqual([
      [
        ['big', 1, 20n],
        ['small', 1, 4n],
      ],
      24n,
    ]);
    expect((await totals(bench, { group: 'gold', model: 'small' })).whole.cost).toBe(4n);
    expect((await totals(bench, { group: 'none' })).whole.messages).toBe(0);
    // Within one day, the records are added up.
    const times = { isExact: true, sinceMs: START_MS, untilMs: bench.clock.nowMs() };
    expect(names((await totals(bench, { ...times, groupBy: 'group' })).rows, 'group')).toEqual([
      ['gold', 2, 24n],
      ['default', 1, 1n],
    ]);
    expect((await totals(bench, { ...times, group: 'gold', groupBy: 'model' })).rows).toEqual(ofGold.rows);
  });

  test('totals of the keys that one actor made', async () => {
    await using bench = await openWorkbench(open, 100);
    const keys = [await bench.addKey({}, bench.account, 'tok_a'), await bench.addKey({}, bench.account, 'tok_a')];
    await useKeys(bench, [...keys, bench.key]);
    expect((await totals(bench, { madeBy: 'tok_a', groupBy: 'key' })).rows.map(({ key }) => key).toSorted()).toEqual(
      keys.toSorted(),
    );
    expect((await totals(bench, { madeBy: 'tok_a' })).whole.messages).toBe(2);
  });

  test('totals with the number and cost of messages whose provider cost is known', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.settle(await bench.begin(10), 10, { providerCost: 4 });
    await bench.settle(await bench.begin(50), 50, { providerCost: null });
    await bench.settle(await bench.begin(40), 45, { providerCost: 30 }); // 5 of it are written off.
    expect((await totals(bench, {})).rows).toMatchObject([
      { messages: 3, cost: 105n, writtenOff: 5n, providerCost: 34n, costedMessages: 2, costedRevenue: 50n },
    ]);
  });
}
