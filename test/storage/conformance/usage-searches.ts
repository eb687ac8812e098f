// Searches, rankings and sums of usage records by what no index serves, compared with the records themselves.

import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import type { StoredUsageRecord } from '../../../src/ledger/ledger.ts';
import {
  NO_FILTER,
  type RankingPlace,
  type TotalsGrouping,
  type UsageFilter,
  type UsagePage,
} from '../../../src/reports/reports.ts';
import { type OpenStores, openWorkbench } from '../../money/ledger/workbench.ts';
import { allRanking, allSearch, allSummary } from '../../support/everything.ts';
import { type Used, useAll } from './timeline.ts';

type Scope = Pick<UsagePage, 'account' | 'key' | 'madeBy'>;
type Sought = Partial<UsageFilter & Pick<UsagePage, 'outcome' | 'sinceMs' | 'untilMs'>>;

/** After all messages. */
const LAST_MS = Date.UTC(2100, 0);

const everything: Scope = { account: null, key: null, madeBy: null };

function scopesOf({ accounts, keys }: Used): Scope[] {
  return [
    everything,
    { ...everything, account: accounts[0] as number },
    { ...everything, key: keys[1] as number },
    { ...everything, madeBy: 'tok_a' },
  ];
}

function filtersOf({ records }: Used): Sought[] {
  const middle = records[Math.floor(records.length / 2)] as StoredUsageRecord;
  return [
    {},
    { model: 'big' },
    { isCompleted: true },
    { isCompleted: false },
    { isCompleted: false, model: 'rare', sinceMs: middle.atMs },
    { model: 'rare', isCompleted: true },
    { model: 'rare', outcome: 'failed' },
    { model: 'no such model' },
    { modelPart: 'andbox' },
    { modelPart: 'BIG' },
    { status: { least: 529, most: 529 } },
    { status: { least: 500, most: 599 }, sinceMs: middle.atMs },
    { status: { least: 200, most: 299 }, untilMs: middle.atMs },
    { errorCode: 'upstream_overloaded' },
    { errorCode: 'upstream_overloaded', outcome: 'client_gone' },
    { provider: 'one' },
    { provider: 'o_e' },
    { group: 'other' },
    { group: 'default', model: 'big' },
    { isStream: true, costMin: 50 },
    { isStream: false, sinceMs: middle.atMs, untilMs: middle.atMs },
  ];
}

/** The records that a question is about, newest first. */
function rightOf({ keys, records }: Used, scope: Scope, sought: Sought): StoredUsageRecord[] {
  const maker = (key: number) => (keys.indexOf(key) % 3 === 1 ? 'tok_b' : 'tok_a');
  const { outcome = null, sinceMs = null, untilMs = null } = sought;
  const { model, modelPart, isCompleted, status, errorCode, provider, group, isStream, costMin, endpoint } = {
    ...NO_FILTER,
    ...sought,
  };
  return records.filter(
    (one) =>
      (scope.account === null || one.account === scope.account) &&
      (scope.key === null || one.key === scope.key) &&
      (scope.madeBy === null || maker(one.key) === scope.madeBy) &&
      (outcome === null || one.outcome === outcome) &&
      one.atMs >= (sinceMs ?? 0) &&
      one.atMs <= (untilMs ?? one.atMs) &&
      (model === null || one.model === model) &&
      (group === null || one.group === group) &&
      (modelPart === null || one.model.includes(modelPart)) &&
      (isCompleted === null || (one.outcome === 'completed') === isCompleted) &&
      (status === null || (one.status >= status.least && one.status <= status.most)) &&
      (errorCode === null || one.error?.code === errorCode) &&
      (provider === null || one.provider === provider) &&
      (isStream === null || one.stream === isStream) &&
      (endpoint === null || (one.endpoint ?? 'messages') === endpoint) &&
      (costMin === null || one.cost >= costMin),
  );
}

const idsOf = (records: readonly StoredUsageRecord[]) => records.map(({ requestId }) => requestId);

export function usageSearchConformance(open: OpenStores): void {
  searchTests(open);
  rankingTests(open);
  summaryTests(open);
}

function searchTests(open: OpenStores): void {
  test('records that match are found in both orders of time, and in pages', async () => {
    await using bench = await openWorkbench(open, 1_000_000);
    const used = await useAll(bench, 11);
    for (const scope of scopesOf(used))
      for (const sought of filtersOf(used))
        for (const order of ['newest', 'oldest'] as const) {
          const asked = { ...allSearch, ...scope, ...sought, order };
          const right = rightOf(used, scope, sought);
          const seen: string[] = [];
          for (let before: number | null = null, turn = 0; turn < 60; turn++) {
            const { rows, next } = await bench.stores.usage.searchUsage({ ...asked, before, limit: 7 });
            seen.push(...idsOf(rows));
            if (next === null) break;
            before = next;
          }
          expect([asked, seen]).toEqual([asked, idsOf(order === 'newest' ? right : right.toReversed())]);
        }
  });
}

function rankingTests(open: OpenStores): void {
  test('records that match are ranked, and later pages compare the records of the first', async () => {
    await using bench = await openWorkbench(open, 1_000_000);
    const used = await useAll(bench, 12);
    const values = {
      cost: (one: StoredUsageRecord) => one.cost,
      latency: (one: StoredUsageRecord) => one.latencyMs,
      tokens: (one: StoredUsageRecord) => one.inputTokens + 10,
    };
    for (const scope of scopesOf(used))
      for (const sought of filtersOf(used))
        for (const by of ['cost', 'latency', 'tokens'] as const) {
          const order = by === 'latency' ? 'lowest' : 'highest';
          const asked = { ...allRanking, ...scope, ...sought, by, order } as const;
          const sign = order === 'highest' ? -1 : 1;
          const right = rightOf(used, scope, sought).toSorted(
            (one, other) => sign * (values[by](one) - values[by](other) || one.seq - other.seq),
          );
          const seen: string[] = [];
          for (let after: RankingPlace | null = null, turn = 0; turn < 60; turn++) {
            const page = await bench.stores.usage.rankUsage({ ...asked, after, limit: 9 });
            expect(page.searchedSinceMs).toBeNull();
            seen.push(...idsOf(page.rows));
            after = page.next;
            if (after === null) break;
          }
          expect([asked, seen]).toEqual([asked, idsOf(right)]);
        }
    const first = await bench.stores.usage.rankUsage({ ...allRanking, limit: 3 });
    const requestId = await bench.begin(100_000);
    await bench.settle(requestId, 100_000);
    const { rows } = await bench.stores.usage.rankUsage({ ...allRanking, limit: 100, after: first.next });
    expect(idsOf(rows)).not.toContain(requestId);
    expect(first.rows.length + rows.length).toBe(used.records.length);
  });
}

function summaryTests(open: OpenStores): void {
  test('the sums, buckets and groups of the records that match agree', async () => {
    await using bench = await openWorkbench(open, 1_000_000);
    const used = await useAll(bench, 13);
    const names = {
      day: (one: StoredUsageRecord) => Math.floor(one.atMs / DAY_MS) * DAY_MS,
      model: (one: StoredUsageRecord) => one.model,
      key: (one: StoredUsageRecord) => one.key,
      account: (one: StoredUsageRecord) => one.account,
      group: (one: StoredUsageRecord) => one.group,
    };
    for (const scope of scopesOf(used))
      for (const { sinceMs, untilMs, ...sought } of filtersOf(used))
        for (const groupBy of ['day', 'model', 'key', 'account', 'group', null] as const) {
          const times = { sinceMs: sinceMs ?? 0, untilMs: untilMs ?? LAST_MS };
          const asked = { ...allSummary, ...scope, ...sought, ...times, groupBy };
          const right = rightOf(used, scope, { ...sought, ...times });
          const summary = await bench.stores.usage.summarizeUsage(asked);
          const costOf = (records: readonly StoredUsageRecord[]) => records.reduce((sum, { cost }) => sum + cost, 0);
          expect(summary).toMatchObject({
            countedSinceMs: 0,
            whole: { messages: right.length, cost: BigInt(costOf(right)) },
            failed: right.filter(({ outcome }) => outcome !== 'completed').length,
          });
          const inBuckets = summary.buckets.map(({ messages, cost }) => [messages, Number(cost)] as const);
          expect(inBuckets.reduce((sum, [messages]) => sum + messages, 0)).toBe(right.length);
          expect(inBuckets.reduce((sum, [, cost]) => sum + cost, 0)).toBe(costOf(right));
          const ends = summary.buckets.map(({ atMs }) => [atMs, atMs + summary.stepMs] as const);
          const covered = [times.sinceMs, times.untilMs].map((ms) =>
            ends.findIndex(([from, to]) => ms >= from && ms < to),
          );
          if (times.sinceMs > 0 && ends.length > 0) expect(covered).toEqual([0, ends.length - 1]);
          if (groupBy === null) continue;
          const groups = Map.groupBy<string | number, StoredUsageRecord>(right, names[groupBy]);
          expect(summary.groups).toBe(groups.size);
          const nameOf = { day: 'dayMs', model: 'model', key: 'key', account: 'account', group: 'group' } as const;
          expect(new Map(summary.rows.map((row) => [row[nameOf[groupBy]], Number(row.cost)]))).toEqual(
            new Map([...groups].map(([name, records]) => [name, costOf(records)])),
          );
        }
  });

  test('sums of whole days come from the daily totals, in the same groups', async () => {
    await using bench = await openWorkbench(open, 1_000_000);
    const used = await useAll(bench, 14);
    for (const scope of scopesOf(used))
      for (const groupBy of ['day', 'model', 'key', 'account', 'group', null] as (TotalsGrouping | null)[]) {
        const asked = { ...allSummary, ...scope, groupBy };
        const ofRecords = await bench.stores.usage.summarizeUsage(asked);
        const ofDays = await bench.stores.usage.summarizeUsage({ ...asked, isOfDays: true });
        expect(ofDays).toMatchObject({ failed: null, whole: ofRecords.whole, rows: ofRecords.rows });
        const hasBuckets = groupBy === null || groupBy === 'day';
        expect(ofDays.buckets.length > 0).toBe(hasBuckets);
        if (hasBuckets) expect(ofDays.buckets.reduce((sum, { cost }) => sum + cost, 0n)).toBe(ofRecords.whole.cost);
      }
  });
}
