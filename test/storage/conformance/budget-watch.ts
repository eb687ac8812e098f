// The notices of limits that are used up too fast, by readings of the store's meters.

import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { formatId } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import { BudgetWatch } from '../../../src/server/watch-budgets.ts';
import { type OpenStores, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';

const MINUTE_MS = 60_000;
const MUCH = 10_000_000_000_000;
const LIMIT = 100_000_000_000;
const never = new AbortController().signal;
const person = 77;

export function budgetWatchConformance(open: OpenStores): void {
  limitTests(open);
  budgetTests(open);
  boundTests(open);
  rowTests(open);
}

/** Lets messages cost so much in each minute, with a round of the watch every two of them. */
async function spend(bench: Workbench, watch: BudgetWatch, minutes: number, perMinute: number): Promise<void> {
  const cost = 2 * perMinute;
  for (let minute = 0; minute < minutes; minute += 2) {
    bench.clock.advance(2 * MINUTE_MS);
    await bench.takeLease('node-1');
    if (cost > 0) await bench.settle(await bench.begin(cost), cost);
    await watch.round(never);
  }
}

async function eventsOf({ stores }: Workbench) {
  const page = {
    account: null,
    types: ['budget.burning'] as const,
    sinceMs: null,
    untilMs: null,
    before: null,
    limit: 100,
  };
  return (await stores.events.listEvents(page)).toReversed();
}

const shortly = async (bench: Workbench) =>
  (await eventsOf(bench)).map(({ data }) => `${data['limit']} ${data['window']} ${data['speed']}`);

const watchOf = ({ stores, clock }: Workbench) => new BudgetWatch({ stores, clock });

function limitTests(open: OpenStores): void {
  test('an allowance that is used up within the month', async () => {
    await using bench = await openWorkbench(open, MUCH);
    await bench.setAccount({ allowance: LIMIT, allowancePeriod: 'month' });
    const watch = watchOf(bench);
    await watch.round(never);
    await spend(bench, watch, 60, LIMIT / 1_000);
    const [fast] = await eventsOf(bench);
    expect(fast).toMatchObject({ account: bench.account, type: 'budget.burning' });
    const nowMs = fast?.atMs ?? 0;
    expect(fast?.data).toMatchObject({
      limit: 'allowance',
      key: null,
      person: null,
      window: 'month',
      speed: 'fast',
      minutes: 60,
      spent: fast?.data['used'],
      amount: '100.00',
      resets_at: '2026-12-01T00:00:00.000Z',
    });
    expect(Number(fast?.data['used'])).toBeGreaterThanOrEqual(5);
    expect(Date.parse(String(fast?.data['exhausted_at']))).toBeGreaterThan(nowMs);
    await spend(bench, watch, 84, LIMIT / 2_000);
    expect(await shortly(bench)).toEqual(['allowance month fast', 'allowance month slow']);
  });

  test('the quota of a key, whose key it names', async () => {
    await using bench = await openWorkbench(open, MUCH, { quota: LIMIT, quotaPeriod: 'week' });
    const watch = watchOf(bench);
    await watch.round(never);
    await spend(bench, watch, 60, LIMIT / 400);
    const [event] = await eventsOf(bench);
    expect(event?.data).toMatchObject({
      limit: 'quota',
      key: formatId('key', bench.key),
      window: 'week',
      speed: 'fast',
    });
  });
}

function budgetTests(open: OpenStores): void {
  test('a budget of a person, by the default of each account in which they have keys, and of those above', async () => {
    await using bench = await openWorkbench(open, MUCH);
    const budget = (length: 'day' | '5h', limit: number, stops: boolean) => ({ limits: [{ length, limit }], stops });
    const company = bench.account;
    const [department, team] = [await bench.addAccount(0), await bench.addAccount(0)];
    await bench.ask({ kind: 'set-person', person, account: company, enabled: true });
    const terms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;
    const below = (account: number, parent: number, personBudget: ReturnType<typeof budget>) =>
      bench.ask({
        kind: 'set-account',
        account,
        terms: { ...terms, company: { parent, paysFrom: 'parent', personBudget } },
      });
    await below(department, company, budget('day', LIMIT, false));
    await below(team, department, budget('5h', LIMIT, true));
    bench.account = team;
    bench.key = await bench.addKey({}, team);
    await bench.setKey({ person });
    const watch = watchOf(bench);
    await watch.round(never);
    await spend(bench, watch, 48, LIMIT / 50);
    const found = (await eventsOf(bench)).map(({ account, data }) => [account, data['window'], data['speed']]);
    expect(found.toSorted()).toEqual(
      [
        [team, '5h', 'fast'],
        [department, 'day', 'fast'],
      ].toSorted(),
    );
    expect((await eventsOf(bench))[0]?.data).toMatchObject({ limit: 'budget', person: formatId('person', person) });
  });

  test('a window of a plan, and no limit without an end', async () => {
    await using bench = await openWorkbench(open, MUCH, { quota: LIMIT, quotaPeriod: 'total' });
    await bench.setAccount({ allowance: LIMIT, allowancePeriod: 'total' });
    const windows = [{ length: 'day' as const, limit: LIMIT }];
    const times = { anchorMs: bench.clock.nowMs(), paidUntilMs: null, endsAtMs: null };
    const plan = { name: 'small', windows, groups: null, overflow: true, ...times };
    const from = { kind: 'set-plan', account: bench.account, plan } as const;
    await bench.ask(from);
    const watch = watchOf(bench);
    await watch.round(never);
    await spend(bench, watch, 60, LIMIT / 100);
    expect(await shortly(bench)).toEqual(['plan_window day fast']);
  });
}

function boundTests(open: OpenStores): void {
  test('once in a window and at a speed, also by another node, and again in the next window', async () => {
    await using bench = await openWorkbench(open, MUCH, { quota: LIMIT, quotaPeriod: 'day' });
    const watch = watchOf(bench);
    await watch.round(never);
    await spend(bench, watch, 60, LIMIT / 160);
    expect(await shortly(bench)).toEqual(['quota day fast']);
    const other = watchOf(bench);
    await other.round(never);
    await spend(bench, other, 61, LIMIT / 200);
    expect(await shortly(bench)).toEqual(['quota day fast']);
    bench.clock.advance(DAY_MS);
    await spend(bench, other, 1, 0);
    await spend(bench, other, 60, LIMIT / 160);
    expect(await shortly(bench)).toEqual(['quota day fast', 'quota day fast']);
  });

  test('a node that has begun to lead reports only use that it has seen', async () => {
    await using bench = await openWorkbench(open, MUCH, { quota: LIMIT, quotaPeriod: 'month' });
    await bench.settle(await bench.begin(LIMIT / 2), LIMIT / 2);
    const watch = watchOf(bench);
    await watch.round(never);
    await spend(bench, watch, 60, 0);
    expect(await shortly(bench)).toEqual([]);
    await spend(bench, watch, 30, LIMIT / 500);
    expect(await shortly(bench)).toEqual(['quota month fast']);
    expect((await eventsOf(bench))[0]?.data['spent']).not.toBe((await eventsOf(bench))[0]?.data['used']);
  });

  test('events that stay longer than others, so that none repeats in a month', async () => {
    await using bench = await openWorkbench(open, 100);
    const { stores, clock, account } = bench;
    const data = { balance: '0' };
    const emit = (type: 'budget.burning' | 'balance.exhausted', dedupe: string) =>
      stores.events.emit([{ atMs: clock.nowMs(), account, type, data, dedupe } as never]);
    const typesOf = async () =>
      (
        await stores.events.listEvents({
          account: null,
          types: null,
          sinceMs: null,
          untilMs: null,
          before: null,
          limit: 9,
        })
      ).map(({ type }) => type);
    const forget = async (days: number) => {
      const beforeMs = clock.nowMs() - days * DAY_MS;
      while ((await stores.retention.countForgotten('events', beforeMs)) > 0)
        await stores.retention.forget('events', beforeMs);
    };
    await emit('budget.burning', 'one');
    await emit('balance.exhausted', 'two');
    clock.advance(31 * DAY_MS);
    await forget(7);
    expect(await typesOf()).toEqual(['budget.burning']);
    await emit('budget.burning', 'one');
    expect(await typesOf()).toHaveLength(1);
    clock.advance(8 * DAY_MS + 1);
    await forget(7);
    expect(await typesOf()).toEqual([]);
  });
}

function rowTests(open: OpenStores): void {
  test('limits of as many accounts, people and keys as there are, page by page', async () => {
    await using bench = await openWorkbench(open, MUCH);
    const { ledger } = bench.stores;
    const count = bounds.rowsAtOnce / 20;
    for (let at = 0; at < count; at++) await bench.addKey({ quota: at, quotaPeriod: 'day' });
    await bench.ask({ kind: 'set-person', person, account: bench.account, enabled: true });
    const keys = [];
    for (let after: number | null = 0; after !== null; ) {
      const page: Awaited<ReturnType<typeof ledger.listKeyLimits>> = await ledger.listKeyLimits({ after, limit: 2 });
      keys.push(...page.rows);
      after = page.last;
    }
    expect(keys).toHaveLength(count + 1);
    expect(keys.map(({ id }) => id)).toEqual(keys.map(({ id }) => id).toSorted((one, other) => one - other));
    const spending = { used: 0, held: 0, periodStartMs: 0 };
    const last = keys.find(({ quota }) => quota === count - 1);
    expect(last).toMatchObject({ account: bench.account, person: null, quotaPeriod: 'day' });
    expect(last?.spending).toMatchObject({ ...spending, periodStartMs: expect.any(Number) });
    expect((await ledger.listAccountRows({ after: 0, limit: 10 })).rows.map(({ id }) => id)).toContain(bench.account);
    expect(await ledger.listPersonRows({ after: 0, limit: 1 })).toMatchObject({ rows: [{ id: person }], last: person });
    expect(await ledger.listPersonRows({ after: person, limit: 1 })).toEqual({ rows: [], last: null });
  });
}
