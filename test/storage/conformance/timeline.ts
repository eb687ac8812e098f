// Usage over time, compared with the records themselves.

import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { newRequestId } from '../../../src/base/ids.ts';
import type { Outcome, StoredUsageRecord } from '../../../src/ledger/ledger.ts';
import { stepMs, type TimelineQuestion, type UsageBucket, type UsageTotal } from '../../../src/reports/reports.ts';
import { type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';
import { allTimeline, allTotals, allUsage } from '../../support/everything.ts';
import { makeRandom } from '../../support/random.ts';

const OUTCOMES: Outcome[] = ['completed', 'completed', 'completed', 'failed', 'client_gone', 'quota_cut'];
const MODELS = ['sandbox-echo', 'big', 'rare'];
const HOUR_MS = stepMs.hour;
const FIRST_DAY_MS = Math.floor(START_MS / DAY_MS) * DAY_MS;

export function timelineConformance(open: OpenStores): void {
  timelineTests(open);
  rangeTests(open);
  totalsTests(open);
}

export interface Used {
  accounts: number[];
  keys: number[];
  records: StoredUsageRecord[];
}

/** Messages of two accounts with three keys each, at random times of two days, some in the same millisecond. */
export async function useAll(bench: Workbench, seed: number): Promise<Used> {
  const random = makeRandom(seed);
  const oneOf = <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)] as Value;
  const accounts = [bench.account, await bench.addAccount(1_000_000)];
  const keys: number[] = [];
  for (const account of accounts)
    for (const madeBy of ['tok_a', 'tok_b', 'tok_a']) keys.push(await bench.addKey({}, account, madeBy));
  for (let at = 0; at < 60; at++) {
    const key = oneOf(keys);
    const of = { key, account: accounts[Math.floor(keys.indexOf(key) / 3)] as number };
    const [model, cost] = [oneOf(MODELS), Math.floor(random() * 100)];
    const requestId = newRequestId(bench.clock.nowMs());
    await bench.begin(60, { ...of, requestId, draft: { model, stream: true } });
    const outcome = oneOf(OUTCOMES);
    const isFailed = outcome === 'failed';
    const code = oneOf(['upstream_overloaded', 'upstream_failed']);
    await bench.settle(requestId, cost, {
      ...of,
      model,
      group: oneOf(['default', 'default', 'other']),
      outcome,
      status: isFailed ? oneOf([502, 529]) : 200,
      error: isFailed ? { code, message: 'why' } : null,
      provider: oneOf(['one', 'other']),
      stream: oneOf([true, false]),
      latencyMs: Math.floor(random() * 1_000),
      inputTokens: at,
      outputTokens: 1,
      cacheReadTokens: 2,
      cacheWrite5mTokens: 3,
      cacheWrite1hTokens: 4,
      providerCost: oneOf([null, 7, 11]),
      firstTokenMs: oneOf([null, at + 0.5]),
      ...(at % 4 === 1 && { endpoint: 'images' }),
    });
    if (random() < 0.6) bench.clock.advance(Math.floor(random() * 4_000_000));
  }
  const records = await bench.stores.usage.listUsage({ ...allUsage, limit: 1_000 });
  return { accounts, keys, records };
}

/** Sums of the records of one bucket. */
function bucketOf(atMs: number, records: readonly StoredUsageRecord[]): UsageBucket {
  const sum = (value: (record: StoredUsageRecord) => number) => records.reduce((all, one) => all + value(one), 0);
  const costed = records.filter(({ providerCost }) => providerCost !== null);
  const firstTokensMs = records.flatMap(({ firstTokenMs }) => firstTokenMs ?? []).toSorted((a, b) => a - b);
  const at = (share: number) => firstTokensMs[Math.ceil(firstTokensMs.length * share) - 1] as number;
  return {
    atMs,
    total: {
      dayMs: null,
      account: null,
      key: null,
      model: null,
      provider: null,
      group: null,
      person: null,
      tag: null,
      session: null,
      agent: null,
      messages: records.length,
      inputTokens: sum((one) => one.inputTokens),
      outputTokens: sum((one) => one.outputTokens),
      cacheReadTokens: sum((one) => one.cacheReadTokens),
      cacheWriteTokens: sum((one) => one.cacheWrite5mTokens + one.cacheWrite1hTokens),
      cost: BigInt(sum((one) => one.cost)),
      writtenOff: BigInt(sum((one) => one.writtenOff)),
      providerCost: BigInt(sum((one) => one.providerCost ?? 0)),
      costedMessages: costed.length,
      costedRevenue: BigInt(costed.reduce((all, one) => all + one.cost - one.writtenOff, 0)),
      units: {},
    },
    failed: records.filter(({ outcome }) => outcome !== 'completed').length,
    firstTokens: firstTokensMs.length === 0 ? null : { p50: at(0.5), p95: at(0.95) },
  };
}

function bucketsOf(question: TimelineQuestion, records: readonly StoredUsageRecord[]): UsageBucket[] {
  const { step, sinceMs, untilMs, firstMs = 0, lastMs = untilMs } = question;
  const starts = Array.from({ length: (untilMs - sinceMs) / stepMs[step] }, (_, at) => sinceMs + at * stepMs[step]);
  return starts.map((atMs) =>
    bucketOf(
      atMs,
      records
        .filter((one) => one.atMs >= atMs && one.atMs < atMs + stepMs[step])
        .filter((one) => one.atMs >= firstMs && one.atMs <= lastMs),
    ),
  );
}

const threeDays = { sinceMs: FIRST_DAY_MS - DAY_MS, untilMs: FIRST_DAY_MS + 5 * DAY_MS };
const within = { firstMs: START_MS + HOUR_MS / 2, lastMs: START_MS + DAY_MS + HOUR_MS / 3 };
const times: Omit<TimelineQuestion, 'account' | 'key' | 'madeBy' | 'model'>[] = [
  { step: 'day', ...threeDays },
  { step: 'day', ...threeDays, ...within },
  { step: 'hour', ...threeDays },
  { step: 'hour', ...threeDays, ...within },
  { step: 'five_minutes', sinceMs: FIRST_DAY_MS + 12 * HOUR_MS, untilMs: FIRST_DAY_MS + 30 * HOUR_MS },
  { step: 'minute', sinceMs: FIRST_DAY_MS + 12 * HOUR_MS, untilMs: FIRST_DAY_MS + 14 * HOUR_MS },
];

function timelineTests(open: OpenStores): void {
  test('usage over time in buckets that equal their records, for all accounts and for one', async () => {
    await using bench = await openWorkbench(open, 1_000_000);
    const { accounts, keys, records } = await useAll(bench, 4711);
    const [account, key] = [accounts[1] as number, keys[4] as number];
    const scopes: Partial<TimelineQuestion>[] = [
      {},
      { account },
      { key },
      { account, model: 'big' },
      { madeBy: 'tok_a' },
      { madeBy: 'tok_a', account },
      { madeBy: 'tok_b', key },
      { model: 'sandbox-echo' },
      { model: 'no such model' },
      { endpoint: 'images' },
      { endpoint: 'messages', account },
    ];
    const makers = new Map(keys.map((one, at) => [one, at % 3 === 1 ? 'tok_b' : 'tok_a']));
    for (const scope of scopes)
      for (const time of times) {
        const question = { ...allTimeline, ...time, ...scope };
        const mine = records
          .filter((one) => question.account === null || one.account === question.account)
          .filter((one) => question.key === null || one.key === question.key)
          .filter((one) => question.model === null || one.model === question.model)
          .filter((one) => (question.endpoint ?? null) === null || (one.endpoint ?? 'messages') === question.endpoint)
          .filter((one) => question.madeBy === null || makers.get(one.key) === question.madeBy);
        const timeline = await bench.stores.usage.readTimeline(question);
        expect([scope, timeline]).toEqual([
          scope,
          { countedSinceMs: time.sinceMs, buckets: bucketsOf(question, mine) },
        ]);
      }
  });

  test('usage over time with the start of retained records, and failed messages per day', async () => {
    await using bench = await openWorkbench(open, 1_000_000);
    const { records } = await useAll(bench, 42);
    const { retention, usage } = bench.stores;
    const retainedSinceMs = FIRST_DAY_MS + DAY_MS;
    await retention.keepSince('usage', retainedSinceMs);
    while ((await retention.countForgotten('usage_records', retainedSinceMs)) > 0)
      await retention.forget('usage_records', retainedSinceMs);
    const kept = records.filter(({ atMs }) => atMs >= retainedSinceMs);
    expect(kept.length).toBeLessThan(records.length);
    const whole = times.filter(({ firstMs }) => firstMs === undefined);
    const [ofDays, ofHours] = whole.map((time) => ({ ...allTimeline, ...time }));
    expect(await usage.readTimeline(ofHours as TimelineQuestion)).toEqual({
      countedSinceMs: retainedSinceMs,
      buckets: bucketsOf(ofHours as TimelineQuestion, kept),
    });
    const days = await usage.readTimeline(ofDays as TimelineQuestion);
    expect(days.countedSinceMs).toBe(threeDays.sinceMs);
    expect(days.buckets.map(({ total }) => total)).toEqual(
      bucketsOf(ofDays as TimelineQuestion, records).map(({ total }) => total),
    );
    expect(days.buckets.map(({ failed }) => failed === null)).toEqual(
      days.buckets.map(({ atMs }) => atMs < retainedSinceMs),
    );
  });
}

function rangeTests(open: OpenStores): void {
  test('totals between two times equal their records, in every grouping and in two at once', async () => {
    await using bench = await openWorkbench(open, 1_000_000);
    const { accounts, keys, records } = await useAll(bench, 21);
    const lastMs = bench.clock.nowMs();
    const ranges = [
      [START_MS + HOUR_MS, lastMs - HOUR_MS],
      [FIRST_DAY_MS, FIRST_DAY_MS + DAY_MS - 1],
      [FIRST_DAY_MS, lastMs],
      [START_MS + 1, null],
      [null, START_MS + HOUR_MS],
      [lastMs, lastMs - 1],
    ] as const;
    const groupings = ['day', 'model', 'key', 'account', 'provider'] as const;
    for (const [sinceMs, untilMs] of ranges)
      for (const scope of [{}, { account: accounts[1] as number }, { key: keys[0] as number }, { model: 'big' }])
        for (const groupBy of groupings)
          for (const thenBy of [[], ['model'], ['day'], ['provider', 'model']] as const) {
            const asked = { ...allTotals, ...scope, sinceMs, untilMs, groupBy, thenBy, isExact: true };
            const mine = records
              .filter(({ atMs }) => atMs >= (sinceMs ?? 0) && atMs <= (untilMs ?? lastMs))
              .filter((one) => asked.account === null || one.account === asked.account)
              .filter((one) => asked.key === null || one.key === asked.key)
              .filter((one) => asked.model === null || one.model === asked.model);
            const totals = await bench.stores.usage.totalUsage(asked);
            expect([asked, totals.whole, totals.countedSinceMs]).toEqual([asked, bucketOf(0, mine).total, 0]);
            const nameOf = (row: UsageTotal | StoredUsageRecord, by: (typeof groupings)[number]) => {
              if (by !== 'day') return String(row[by]);
              return String('dayMs' in row ? row.dayMs : row.atMs - (row.atMs % DAY_MS));
            };
            const groupOf = (row: UsageTotal | StoredUsageRecord) =>
              [groupBy, ...thenBy].map((by) => nameOf(row, by)).join(' ');
            const costs = Object.groupBy(mine, groupOf);
            const right = Object.entries(costs).map(([name, of = []]) => [name, bucketOf(0, of).total.cost] as const);
            expect(new Map(totals.rows.map((row) => [groupOf(row), row.cost]))).toEqual(new Map(right));
          }
  });
}

function totalsTests(open: OpenStores): void {
  test('totals of one model, in every grouping', async () => {
    await using bench = await openWorkbench(open, 1_000_000);
    const { accounts, records } = await useAll(bench, 7);
    const account = accounts[0] as number;
    const mine = records.filter((one) => one.model === 'big' && one.account === account);
    for (const groupBy of ['day', 'model', 'key', 'account'] as const) {
      const { rows, whole } = await bench.stores.usage.totalUsage({ ...allTotals, groupBy, account, model: 'big' });
      expect(whole.messages).toBe(mine.length);
      expect(rows.reduce((all, one) => all + one.messages, 0)).toBe(mine.length);
      expect(rows.map(({ model }) => model === 'big')).toEqual(rows.map(() => groupBy === 'model'));
    }
  });

  test('the models, keys and accounts with the highest cost between two times equal their records', async () => {
    await using bench = await openWorkbench(open, 1_000_000);
    const { accounts, keys, records } = await useAll(bench, 19);
    const sorted = records.map(({ atMs }) => atMs).toSorted((one, other) => one - other);
    const [sinceMs, untilMs] = [sorted[20] as number, sorted[45] as number];
    const scopes = [{}, { account: accounts[1] as number }, { key: keys[0] as number }, { model: 'big' }];
    for (const scope of scopes) {
      const asked = { ...allTotals, ...scope, sinceMs, untilMs, isExact: true };
      const mine = records
        .filter(({ atMs }) => atMs >= sinceMs && atMs <= untilMs)
        .filter((one) => asked.account === null || one.account === asked.account)
        .filter((one) => asked.key === null || one.key === asked.key)
        .filter((one) => asked.model === null || one.model === asked.model);
      const top = await bench.stores.usage.topUsage(asked);
      expect(top.countedSinceMs).toBe(0);
      expect({ ...top.whole }).toEqual({ ...bucketOf(0, mine).total });
      for (const name of ['model', 'key', 'account'] as const) {
        const rows = { model: top.models, key: top.keys, account: top.accounts }[name].rows;
        expect(new Set(rows.map((row) => row[name] as number | string))).toEqual(new Set(mine.map((one) => one[name])));
        for (const row of rows)
          expect(row.cost).toBe(
            bucketOf(
              0,
              mine.filter((one) => one[name] === row[name]),
            ).total.cost,
          );
      }
    }
  });

  test('totals by write-off, without groups that have none', async () => {
    await using bench = await openWorkbench(open, 100);
    const [other, third] = [await bench.addAccount(100), await bench.addAccount(100)];
    for (const [account, over] of [
      [bench.account, 5],
      [other, 9],
      [third, 0],
    ] as const) {
      const key = await bench.addKey({}, account);
      await bench.settle(await bench.begin(100, { account, key }), 100 + over, { account, key });
    }
    const { writtenOff: rows } = await bench.stores.usage.topUsage(allTotals);
    expect(rows.map(({ account, writtenOff }) => [account, writtenOff])).toEqual([
      [other, 9n],
      [bench.account, 5n],
    ]);
  });
}
