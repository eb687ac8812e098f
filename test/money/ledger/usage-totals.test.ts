// Usage totals: which groups are shown, what they omit, and margins of known costs only.

import { describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import type { DailyTotal } from '../../../src/ledger/ledger.ts';
import { gatherTop, gatherTotals, marginOf, marginOfTotal, type TotalsGrouping } from '../../../src/reports/reports.ts';
import { partOfTotals } from '../../support/part-of-totals.ts';

function dailyTotal(facts: Partial<DailyTotal>): DailyTotal {
  return {
    dayMs: 0,
    account: 1,
    key: 1,
    model: 'a',
    provider: '',
    group: '',
    person: 0,
    tagSet: 0,
    messages: 1,
    inputTokens: 1,
    outputTokens: 2,
    cacheReadTokens: 3,
    cacheWriteTokens: 4,
    cost: 10,
    writtenOff: 1,
    providerCost: 0,
    costedMessages: 0,
    costedRevenue: 0,
    ...facts,
  };
}

const days = [
  dailyTotal({ cost: 10, model: 'a', key: 1, account: 1 }),
  dailyTotal({ cost: 30, model: 'b', key: 2, account: 1 }),
  dailyTotal({ cost: 5, model: 'a', key: 3, account: 2, dayMs: DAY_MS }),
  dailyTotal({
    cost: 20,
    model: 'a',
    key: 1,
    account: 1,
    dayMs: 2 * DAY_MS,
    providerCost: 12,
    costedMessages: 1,
    costedRevenue: 19,
  }),
];

function gather(groupBy: TotalsGrouping, limit = 100, totals = days) {
  const runs = totals.map((total) => [partOfTotals(total)]);
  return gatherTotals(runs, { groupBy, limit });
}

test('the top usage has three lists with totals and counts', async () => {
  const runs = days.map((total) => [partOfTotals(total)]);
  const top = await gatherTop(runs, { limit: 1 });
  for (const [list, groupBy] of [
    ['models', 'model'],
    ['keys', 'key'],
    ['accounts', 'account'],
  ] as const) {
    const { rows, groups, whole } = await gather(groupBy, 1);
    expect([list, top[list], top.whole]).toEqual([list, { rows, groups }, whole]);
  }
  expect(top.models).toMatchObject({ rows: [{ model: 'a', cost: 35n, key: null, account: null }], groups: 2 });
  expect(top.writtenOff).toMatchObject([{ account: 1, writtenOff: 3n }]);
});

describe('totals', () => {
  test('by day are sorted latest first', async () => {
    expect((await gather('day')).rows.map(({ dayMs, cost }) => [dayMs, cost])).toEqual([
      [2 * DAY_MS, 20n],
      [DAY_MS, 5n],
      [0, 40n],
    ]);
  });

  test('by model, key and account are sorted by cost and name only their group', async () => {
    expect((await gather('model')).rows).toMatchObject([
      { model: 'a', cost: 35n, messages: 3, key: null, account: null, dayMs: null },
      { model: 'b', cost: 30n, messages: 1 },
    ]);
    expect((await gather('key')).rows.map(({ account, key, cost }) => [account, key, cost])).toEqual([
      [1, 1, 30n],
      [1, 2, 30n],
      [2, 3, 5n],
    ]);
    expect((await gather('account')).rows).toMatchObject([
      { account: 1, key: null, cost: 60n },
      { account: 2, cost: 5n },
    ]);
  });

  test('beyond the limit are included in the sum and the count', async () => {
    const { rows, groups, whole } = await gather('key', 1);
    expect([rows.length, groups]).toEqual([1, 3]);
    expect(whole).toMatchObject({ messages: 4, cost: 65n, inputTokens: 4, cacheWriteTokens: 16, writtenOff: 4n });
  });

  test('are exact beyond 2^53', async () => {
    const rich = dailyTotal({ cost: Number.MAX_SAFE_INTEGER });
    expect((await gather('model', 1, [rich, rich, dailyTotal({ cost: 1 })])).whole.cost).toBe(
      2n * BigInt(Number.MAX_SAFE_INTEGER) + 1n,
    );
  });

  test('of zero messages, left by a correction, are omitted', async () => {
    expect(await gather('model', 9, [dailyTotal({ messages: 0, cost: 0, model: 'c' })])).toMatchObject({
      rows: [],
      groups: 0,
    });
  });
});

describe('a margin', () => {
  test('of a message is cost minus write-off minus provider cost', async () => {
    expect(marginOf({ cost: 10, writtenOff: 3, providerCost: 9 })).toBe(-2);
    expect(marginOf({ cost: 10, writtenOff: 0, providerCost: 0 })).toBe(10);
  });

  test('is unknown if the provider cost is unknown', async () => {
    expect(marginOf({ cost: 10, writtenOff: 0, providerCost: null })).toBeNull();
    expect((await gather('day')).rows.map(marginOfTotal)).toEqual([7n, null, null]);
  });

  test('of totals excludes messages with unknown provider cost', async () => {
    expect(marginOfTotal((await gather('day')).whole)).toBe(7n);
  });
});
