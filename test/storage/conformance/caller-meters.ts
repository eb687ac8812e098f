// The meters that a key can read: the same figures by which an admission at that moment is decided.

import { expect, test } from 'bun:test';
import type { CallerMeters, RateLimits } from '../../../src/ledger/ledger.ts';
import { NO_LIMITS, type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';

export function callerMetersConformance(open: OpenStores): void {
  moneyTests(open);
  limitTests(open);
  retryTests(open);
  openMessageTests(open);
  budgetTests(open);
}

/** The chain of an account with nothing above, for a service key. */
function alone(account: number) {
  return { account, above: [], payer: account, person: null };
}

const DEFAULT = { name: 'default', limits: NO_LIMITS };

async function metersOf(
  bench: Workbench,
  groups: { name: string; limits: RateLimits }[] = [DEFAULT],
): Promise<CallerMeters> {
  const question = { ...alone(bench.account), key: bench.key, groups };
  const meters = await bench.stores.ledger.callerMeters(question, bench.clock.nowMs());
  if (meters === null) throw new Error('the caller has no meters');
  return meters;
}

function moneyTests(open: OpenStores): void {
  test('used and held amounts of wallet, allowance and quota, before and after a message', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 100, quotaPeriod: 'day' });
    await bench.setAccount({ creditLine: 50, allowance: 300, allowancePeriod: 'month' });
    await bench.settle(await bench.begin(20), 15);
    const requestId = await bench.begin(40);
    const ofAccount: CallerMeters['account'] = {
      balance: 985,
      held: 40,
      available: 995,
      debt: 0,
      plan: null,
      lowBalances: [],
      personBudget: null,
      warnsAt: [80, 100],
      creditLine: 50,
      allowance: 300,
      allowancePeriod: 'month',
      allowanceUsed: 15,
      allowanceHeld: 40,
    };
    expect(await metersOf(bench)).toEqual({
      account: ofAccount,
      above: [],
      payer: ofAccount,
      budgets: [],
      key: {
        quota: 100,
        quotaPeriod: 'day',
        quotaUsed: 15,
        quotaHeld: 40,
        lastUsedAtMs: START_MS,
        ...NO_LIMITS,
      },
      levels: [],
    });
    await bench.settle(requestId, 40);
    expect(await metersOf(bench)).toMatchObject({
      account: { balance: 945, held: 0, allowanceUsed: 55, allowanceHeld: 0 },
      key: { quotaUsed: 55, quotaHeld: 0 },
    });
  });

  test('held amounts across the start of a period, and usage of the current period only', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 100, quotaPeriod: 'day' });
    await bench.settle(await bench.begin(30), 30);
    await bench.begin(40);
    bench.clock.advance(12 * 3_600_000 - 1);
    expect((await metersOf(bench)).key).toMatchObject({ quotaUsed: 30, quotaHeld: 40 });
    bench.clock.advance(1);
    expect((await metersOf(bench)).key).toMatchObject({ quotaUsed: 0, quotaHeld: 40 });
  });

  test('nothing of an unknown key or a key of another account', async () => {
    await using bench = await openWorkbench(open, 1000);
    const other = await bench.addAccount(1);
    const ask = (account: number, key: number) =>
      bench.stores.ledger.callerMeters({ ...alone(account), key, groups: [] }, START_MS);
    expect(await ask(bench.account, bench.key)).not.toBeNull();
    expect(await ask(bench.account, 7)).toBeNull();
    expect(await ask(7, bench.key)).toBeNull();
    expect(await ask(other, bench.key)).toBeNull();
  });
}

function limitTests(open: OpenStores): void {
  test('each limit of the key, and of the account in each group, right after an admission', async () => {
    const ofKey = { requestsPerMinute: 10, inputTokensPerMinute: 600, outputTokensPerMinute: 60, concurrency: 3 };
    await using bench = await openWorkbench(open, 1000, ofKey);
    const vip = { name: 'vip', limits: { ...NO_LIMITS, requestsPerMinute: 5, concurrency: 2 } };
    const late = { name: 'constructor', limits: { ...NO_LIMITS, requestsPerMinute: 7 } };
    const of = { group: vip.name, limits: vip.limits };
    const ended = await bench.begin(10, of);
    await bench.settle(ended, 1, { group: 'vip', inputTokens: 100, outputTokens: 30 });
    await bench.begin(10, of);
    const { levels } = await metersOf(bench, [DEFAULT, vip, late]);
    const after = (ms: number) => ({ resetAtMs: START_MS + ms, retryAtMs: null });
    expect(levels).toEqual([
      { group: null, meter: 'requests', limit: 10, remaining: 8, ...after(12_000) },
      { group: null, meter: 'input_tokens', limit: 600, remaining: 500, ...after(10_000) },
      { group: null, meter: 'output_tokens', limit: 60, remaining: 30, ...after(30_000) },
      { group: null, meter: 'concurrency', limit: 3, remaining: 2, resetAtMs: null, retryAtMs: null },
      { group: 'vip', meter: 'requests', limit: 5, remaining: 3, ...after(24_000) },
      { group: 'vip', meter: 'concurrency', limit: 2, remaining: 1, resetAtMs: null, retryAtMs: null },
      { group: 'constructor', meter: 'requests', limit: 7, remaining: 7, ...after(0) },
    ]);
  });

  test('drained rates by the current limit', async () => {
    await using bench = await openWorkbench(open, 1000);
    const limits = { ...NO_LIMITS, requestsPerMinute: 4 };
    for (let turn = 0; turn < 4; turn++) await bench.begin(1, { limits });
    bench.clock.advance(15_000);
    const levelsWith = async (requestsPerMinute: number) =>
      (await metersOf(bench, [{ name: 'default', limits: { ...limits, requestsPerMinute } }])).levels;
    expect(await levelsWith(4)).toMatchObject([{ remaining: 1, resetAtMs: START_MS + 60_000 }]);
    expect(await levelsWith(8)).toMatchObject([{ remaining: 6, resetAtMs: START_MS + 30_000 }]);
    expect((await metersOf(bench)).levels).toEqual([]);
  });
}

function retryTests(open: OpenStores): void {
  const cases: [meter: string, limits: Partial<RateLimits>, use: (bench: Workbench) => Promise<unknown>][] = [
    ['requests', { requestsPerMinute: 7 }, (bench) => Promise.all(Array.from({ length: 7 }, () => bench.begin(0)))],
    [
      'input_tokens',
      { inputTokensPerMinute: 999 },
      async (bench) => bench.settle(await bench.begin(0), 0, { inputTokens: 2_500 }),
    ],
    [
      'output_tokens',
      { outputTokensPerMinute: 40 },
      async (bench) => bench.settle(await bench.begin(0), 0, { outputTokens: 40 }),
    ],
  ];
  for (const [meter, limits, use] of cases) {
    test(`the millisecond at which exhausted ${meter} are available again, as refusals do`, async () => {
      await using bench = await openWorkbench(open, 0, limits);
      await use(bench);
      const [level] = (await metersOf(bench)).levels;
      const retryAtMs = level?.retryAtMs ?? 0;
      expect(level).toMatchObject({ meter, remaining: 0 });
      expect(await bench.admit(0)).toMatchObject({ ok: false, meter, retryAtMs });
      bench.clock.advance(retryAtMs - 1 - bench.clock.nowMs());
      expect((await metersOf(bench)).levels).toMatchObject([{ retryAtMs }]);
      bench.clock.advance(1);
      expect((await metersOf(bench)).levels).toMatchObject([{ retryAtMs: null }]);
      expect(await bench.admit(0)).toMatchObject({ ok: true });
    });
  }

  test('no time for exhausted concurrency, and no negative remainder', async () => {
    await using bench = await openWorkbench(open, 0, { concurrency: 2 });
    const requestIds = [await bench.begin(0), await bench.begin(0)];
    await bench.setKey({ concurrency: 1 });
    const full = { meter: 'concurrency', limit: 1, remaining: 0, resetAtMs: null, retryAtMs: null };
    expect((await metersOf(bench)).levels).toMatchObject([full]);
    for (const requestId of requestIds) await bench.release(requestId);
    expect((await metersOf(bench)).levels).toMatchObject([{ ...full, remaining: 1 }]);
  });
}

function openMessageTests(open: OpenStores): void {
  test('the owner of a running message, also after its client disconnected', async () => {
    await using bench = await openWorkbench(open, 100);
    const find = (requestId: string) => bench.stores.ledger.openMessage(requestId);
    const requestId = await bench.begin(10);
    expect(await find(requestId)).toEqual({ account: bench.account, key: bench.key });
    await bench.ask({ kind: 'leave', requestId });
    expect(await find(requestId)).toEqual({ account: bench.account, key: bench.key });
    await bench.settle(requestId, 1);
    expect(await find(requestId)).toBeNull();
    expect(await find('req_none')).toBeNull();
  });
}

function budgetTests(open: OpenStores): void {
  const day = (limit: number) => ({ limits: [{ length: 'day' as const, limit }], stops: true });

  test('the budget of a person at each account: the default, or their own, with what all of their keys used', async () => {
    await using bench = await openWorkbench(open, 1000);
    const { account } = bench;
    const person = 77;
    const read = (accounts: number[]) => bench.stores.ledger.personMeters({ person, accounts }, bench.clock.nowMs());
    expect(await read([account])).toBeNull();
    await bench.ask({ kind: 'set-person', person, account, enabled: true });
    await bench.setAccount({ company: { personBudget: day(100) } });
    await bench.setKey({ person });
    await bench.settle(await bench.begin(20), 15);
    await bench.begin(40);
    const reading = { account, length: 'day', limit: 100, stops: true, used: 15, held: 40, remaining: 45 };
    const terms = day(100);
    expect(await read([account])).toMatchObject([{ account, isDefault: true, terms, limits: [reading] }]);
    await bench.ask({ kind: 'set-person', person, account, enabled: true, budget: { account, terms: day(50) } });
    expect(await read([account])).toMatchObject([{ isDefault: false, terms: day(50), limits: [{ remaining: 0 }] }]);
    await bench.ask({ kind: 'set-person', person, account, enabled: true, budget: { account, terms: null } });
    expect(await read([account])).toEqual([{ account, isDefault: false, terms: null, limits: [] }]);
    const other = await bench.addAccount(1);
    expect((await read([other, account]))?.map((one) => one.account)).toEqual([other, account]);
  });
}
