// Counts of refused requests and of attempts at routes: counts of several nodes add up, and each reader finds its own.

import { expect, test } from 'bun:test';
import { newNumber } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import type { RefusalCount, RefusalGrouping, RouteHour } from '../../../src/traffic/traffic.ts';
import type { RefusalPage } from '../../../src/traffic/traffic-store.ts';
import { type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';
import { allRefusals } from '../../support/everything.ts';

const MINUTE_MS = 60_000;

export function trafficConformance(open: OpenStores): void {
  addTests(open);
  readTests(open);
  totalTests(open);
  boundTests(open);
  routeTests(open);
}

function refusal(members: Partial<RefusalCount> = {}): RefusalCount {
  const atMs = members.atMs ?? START_MS;
  return {
    atMs,
    account: null,
    key: null,
    code: 'key_invalid',
    status: 401,
    count: 1,
    lastAtMs: atMs + 1_000,
    message: 'no such API key',
    ...members,
  };
}

const list = async (bench: Workbench, facts: Partial<RefusalPage> = {}) =>
  (await bench.stores.traffic.listRefusals({ ...allRefusals, ...facts })).map(({ code, count }) => `${code} ${count}`);

async function totals(bench: Workbench, groupBy: RefusalGrouping, facts: Partial<RefusalPage> = {}) {
  const { rows, groups, whole } = await bench.stores.traffic.totalRefusals({ ...allRefusals, ...facts, groupBy });
  expect(groups).toBeGreaterThanOrEqual(rows.length);
  return { rows, total: whole.count, lastAtMs: whole.lastAtMs };
}

function addTests(open: OpenStores): void {
  test('refusals of a key, code and minute in one row, with the latest message, also if it is stored first', async () => {
    await using bench = await openWorkbench(open, 0);
    const { traffic } = bench.stores;
    const mine = { account: bench.account, key: bench.key, code: 'model_not_found', status: 400 };
    await traffic.addRefusals([refusal({ ...mine, count: 3, lastAtMs: START_MS + 9_000, message: 'late “日本”' })]);
    await Promise.all([
      traffic.addRefusals([refusal({ ...mine, count: 2, lastAtMs: START_MS + 5_000, status: 404, message: 'early' })]),
      traffic.addRefusals([refusal({ ...mine, count: 5, lastAtMs: START_MS + 4_000, message: 'earlier' }), refusal()]),
    ]);
    const rows = await traffic.listRefusals({ ...allRefusals, key: bench.key });
    const { atMs, count, lastAtMs, message, status } = rows[0] ?? {};
    expect({ atMs, count, lastAtMs, message, status }).toEqual({
      atMs: START_MS,
      count: 10,
      lastAtMs: START_MS + 9_000,
      message: 'late “日本”',
      status: 400,
    });
    expect(rows).toHaveLength(1);
    await traffic.addRefusals([]);
  });

  test('requests with an unknown key, and those of an account without its keys, in rows of their own', async () => {
    await using bench = await openWorkbench(open, 0);
    const { traffic } = bench.stores;
    const { account } = bench;
    await traffic.addRefusals([refusal(), refusal({ account }), refusal({ account, key: bench.key })]);
    await traffic.addRefusals([refusal({ count: 4 }), refusal({ account, count: 6 })]);
    const rows = await traffic.listRefusals(allRefusals);
    expect(rows.map(({ account, key, count }) => ({ account, key, count }))).toEqual([
      { account, key: bench.key, count: 1 },
      { account, key: null, count: 7 },
      { account: null, key: null, count: 5 },
    ]);
  });
}

function readTests(open: OpenStores): void {
  test('refusals for lists: newest minute first, in pages, by every filter', async () => {
    await using bench = await openWorkbench(open, 0);
    const { account } = bench;
    const [mine, other] = [await bench.addKey({}, account, 'person_a'), await bench.addKey({}, account, 'person_b')];
    const at = (minute: number) => START_MS + minute * MINUTE_MS;
    await bench.stores.traffic.addRefusals([
      refusal({ atMs: at(2), count: 1 }),
      refusal({ atMs: at(0), account, key: mine, code: 'model_not_found', count: 2 }),
      refusal({ atMs: at(1), account, key: other, code: 'model_not_found', count: 3 }),
      refusal({ atMs: at(2), account, key: mine, code: 'insufficient_user_quota', count: 4 }),
      refusal({ atMs: at(1), account, code: 'invalid_json', count: 5 }),
      refusal({ atMs: at(1), account: newNumber(), key: newNumber(), count: 6 }),
    ]);
    const everything = [
      'insufficient_user_quota 4',
      'key_invalid 1',
      'key_invalid 6',
      'invalid_json 5',
      'model_not_found 3',
      'model_not_found 2',
    ];
    expect(await list(bench)).toEqual(everything);
    expect(await list(bench, { account })).toEqual([everything[0], ...everything.slice(3)].map(String));
    expect(await list(bench, { account, madeBy: 'person_a' })).toEqual([everything[0], everything[5]].map(String));
    expect(await list(bench, { key: other, account })).toEqual(['model_not_found 3']);
    expect(await list(bench, { key: other, account: newNumber() })).toEqual([]);
    expect(await list(bench, { key: other, madeBy: 'person_a' })).toEqual([]);
    expect(await list(bench, { code: 'key_invalid' })).toEqual(['key_invalid 1', 'key_invalid 6']);
    expect(await list(bench, { sinceMs: at(1), untilMs: at(1) })).toEqual(everything.slice(2, 5));
    const seen: string[] = [];
    for (let before: number | null = null, page = 0; page < 3; page++) {
      const rows = await bench.stores.traffic.listRefusals({ ...allRefusals, before, limit: 2 });
      seen.push(...rows.map(({ code, count }) => `${code} ${count}`));
      before = rows.at(-1)?.seq ?? null;
    }
    expect(seen).toEqual(everything);
  });
}

function totalTests(open: OpenStores): void {
  test('refusals in totals by code, key, account, minute and hour', async () => {
    await using bench = await openWorkbench(open, 0);
    const { account, key } = bench;
    await bench.stores.traffic.addRefusals([
      refusal({ count: 5 }),
      refusal({ account, key, code: 'model_not_found', count: 3 }),
      refusal({ atMs: START_MS + MINUTE_MS, account, key, code: 'model_not_found', count: 4 }),
      refusal({ atMs: START_MS + 61 * MINUTE_MS, account, code: 'invalid_json', count: 1 }),
    ]);
    const none = { atMs: null, account: null, key: null, code: null };
    const [first, second, later] = [1, 61, 61 * 60 + 1].map((seconds) => START_MS + seconds * 1_000);
    expect(await totals(bench, 'code')).toEqual({
      rows: [
        { ...none, code: 'model_not_found', count: 7, lastAtMs: second as number },
        { ...none, code: 'key_invalid', count: 5, lastAtMs: first as number },
        { ...none, code: 'invalid_json', count: 1, lastAtMs: later as number },
      ],
      total: 13,
      lastAtMs: later as number,
    });
    const figures = async (groupBy: RefusalGrouping, facts: Partial<RefusalPage> = {}) =>
      (await totals(bench, groupBy, facts)).rows.map(({ atMs, account, key, count }) => [atMs, account, key, count]);
    expect(await figures('key')).toEqual([
      [null, account, key, 7],
      [null, null, null, 5],
      [null, account, null, 1],
    ]);
    expect(await figures('account')).toEqual([
      [null, account, null, 8],
      [null, null, null, 5],
    ]);
    expect(await figures('minute', { account })).toEqual([
      [START_MS + 61 * MINUTE_MS, null, null, 1],
      [START_MS + MINUTE_MS, null, null, 4],
      [START_MS, null, null, 3],
    ]);
    expect(await figures('hour', { limit: 1 })).toEqual([[START_MS + 60 * MINUTE_MS, null, null, 1]]);
    const nothing = await totals(bench, 'code', { untilMs: START_MS - MINUTE_MS });
    expect(nothing).toEqual({ rows: [], total: 0, lastAtMs: null });
  });
}

function boundTests(open: OpenStores): void {
  test('keys with many refusals of one code, of all nodes together', async () => {
    await using bench = await openWorkbench(open, 0);
    const { account, key } = bench;
    const mine = { account, key, code: 'model_not_found' };
    const next = START_MS + MINUTE_MS;
    await bench.stores.traffic.addRefusals([
      refusal({ atMs: START_MS - MINUTE_MS, count: 100 }),
      refusal({ ...mine, count: 6, scope: 'key' }),
      refusal({ ...mine, code: 'invalid_json', count: 9 }),
      refusal({ ...mine, atMs: next, count: 4, scope: 'key' }),
      refusal({ ...mine, atMs: next, lastAtMs: next + 1_000, scope: 'key_held' }),
      refusal({ atMs: next, count: 12 }),
    ]);
    const frequent = await bench.stores.traffic.listFrequentRefusals({ sinceMs: START_MS, least: 10, limit: 5 });
    expect(frequent).toEqual([
      {
        ...{ atMs: null, account: null, key: null, code: 'key_invalid', count: 12, lastAtMs: next + 1_000 },
        ...{ firstAtMs: next, message: refusal({}).message, scope: null },
      },
      {
        ...{ atMs: null, ...mine, count: 11, lastAtMs: next + 1_000 },
        ...{ firstAtMs: START_MS, message: refusal({}).message, scope: 'key' },
      },
    ]);
    expect(await bench.stores.traffic.listFrequentRefusals({ sinceMs: START_MS, least: 10, limit: 1 })).toHaveLength(1);
  });

  test('rows to drop by number and by age, a bounded number at a time', async () => {
    await using bench = await openWorkbench(open, 0);
    const { traffic, retention } = bench.stores;
    const rows = bounds.rowsDroppedAtOnce + 2;
    const atMs = (minute: number) => START_MS + minute * MINUTE_MS;
    await traffic.addRefusals(Array.from({ length: rows }, (_, minute) => refusal({ atMs: atMs(minute) })));
    expect(await traffic.findRefusalsBeyond(rows)).toBeNull();
    expect(await traffic.findRefusalsBeyond(rows - 1)).toEqual({ atMs: atMs(0) });
    expect(await traffic.findRefusalsBeyond(1)).toEqual({ atMs: atMs(rows - 2) });
    expect(await retention.countForgotten('refusals', atMs(rows - 1))).toBe(bounds.rowsDroppedAtOnce);
    await retention.forget('refusals', atMs(rows - 1));
    expect(await retention.countForgotten('refusals', atMs(rows - 1))).toBe(1);
    await retention.forget('refusals', atMs(rows - 1));
    expect(await list(bench)).toEqual(['key_invalid 1']);
  });
}

function routeTests(open: OpenStores): void {
  test('attempts at routes by hour, replaced by the process that counted them', async () => {
    await using bench = await openWorkbench(open, 0);
    const { traffic, retention } = bench.stores;
    const hour: RouteHour = {
      source: 'one',
      atMs: START_MS,
      model: 'fable',
      provider: 'anthropic',
      upstreamModel: 'claude “日本”',
      counts: {
        answered: 2,
        faults: { overloaded: 1 },
        times: { 7: 2 },
        slots: { 0: { answered: 2, failed: 1, firstFailedAtMs: START_MS } },
        last: {
          atMs: START_MS,
          fault: 'overloaded',
          provider: 'anthropic',
          credential: null,
          status: 529,
          reason: 'full',
        },
      },
    };
    const others: RouteHour[] = [
      { ...hour, source: 'two' },
      { ...hour, atMs: START_MS - 60 * MINUTE_MS },
      { ...hour, model: 'opus' },
    ];
    await traffic.putRouteHours([hour, ...others]);
    const grown = { ...hour, counts: { ...hour.counts, answered: 5 } };
    await traffic.putRouteHours([grown]);
    const nameOf = ({ atMs, model, source }: RouteHour) => `${atMs} ${model} ${source}`;
    const found = async (sinceMs: number) =>
      (await traffic.listRouteHours(sinceMs)).toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
    expect(await found(START_MS)).toEqual([grown, others[0], others[2]] as RouteHour[]);
    expect(await found(0)).toHaveLength(4);
    await retention.forget('route_hours', START_MS);
    expect(await found(0)).toHaveLength(3);
    await traffic.putRouteHours([]);
  });
}
