// Plans and debts: what pays for a message, in which order, and what a reversed payment leaves.

import { expect, test } from 'bun:test';
import type { PlanTerms } from '../../../src/ledger/ledger.ts';
import { systemAccounts } from '../../../src/ledger/ledger.ts';
import { type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const { payments, plans, debts, revenue } = systemAccounts;

function terms(facts: Partial<PlanTerms> = {}): PlanTerms {
  return {
    name: 'basic',
    windows: [{ length: 'month', limit: 100 }],
    groups: null,
    anchorMs: START_MS,
    paidUntilMs: null,
    endsAtMs: null,
    overflow: true,
    ...facts,
  };
}

async function give(bench: Workbench, facts: Partial<PlanTerms> = {}): Promise<void> {
  expect(await bench.submit({ kind: 'set-plan', account: bench.account, plan: terms(facts) })).toMatchObject({
    ok: true,
  });
}

async function metersOf(bench: Workbench) {
  const meters = await bench.stores.ledger.accountMeters(bench.account, bench.clock.nowMs());
  if (meters === null) throw new Error('the account has no meters');
  const { balance, held, available, debt, plan } = meters;
  return {
    balance,
    held,
    available,
    debt,
    used: plan?.windows.map(({ used }) => used) ?? null,
    planHeld: plan?.held ?? 0,
  };
}

const reverse = (bench: Workbench, amount: number, reference: string) =>
  bench.credit(-amount, { isForced: true, reference });

export function debtConformance(open: OpenStores): void {
  test('a reversed payment beyond the balance as a debt, which makes nothing available and is paid by the next credit', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.settle(await bench.begin(80), 80);
    expect(await reverse(bench, 100, 'r1')).toMatchObject({ ok: true, amount: -100, balance: 0 });
    expect(await metersOf(bench)).toMatchObject({ balance: 0, debt: 80, available: 0 });
    expect(await bench.admit(1)).toMatchObject({ ok: false, reason: 'insufficient', meter: 'wallet' });
    await bench.credit(50);
    expect(await metersOf(bench)).toMatchObject({ balance: 0, debt: 30 });
    await bench.credit(50);
    expect(await metersOf(bench)).toMatchObject({ balance: 20, debt: 0, available: 20 });
    const page = { account: bench.account, sinceMs: null, untilMs: null, before: null, limit: 100 };
    const entries = (await bench.stores.ledger.listEntries(page)).filter(({ kind }) => kind === 'debt');
    expect(entries.map(({ amount, debit, note }) => [amount, debit, note])).toEqual([
      [30, bench.account, 'paid what was owed for a reversed payment'],
      [50, bench.account, 'paid what was owed for a reversed payment'],
      [80, debts, 'owed for a reversed payment'],
    ]);
  });

  test('a reversed payment while a message holds the money: it ends as it was admitted, and the rest stays unavailable', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(60);
    await reverse(bench, 100, 'r1');
    expect(await metersOf(bench)).toMatchObject({ balance: 60, held: 60, debt: 60, available: 0 });
    expect(await bench.extend(requestId, 70)).toMatchObject({ ok: true, amount: 60 });
    await bench.settle(requestId, 10);
    expect(await metersOf(bench)).toMatchObject({ balance: 50, held: 0, debt: 60, available: 0 });
    expect(await bench.admit(1)).toMatchObject({ ok: false, reason: 'insufficient' });
    await bench.credit(15);
    expect(await metersOf(bench)).toMatchObject({ balance: 5, debt: 0, available: 5 });
  });

  test('a reversal once per reference, and down to the floor of a credit line', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.setAccount({ creditLine: 30 });
    await reverse(bench, 150, 'r1');
    expect(await reverse(bench, 150, 'r1')).toMatchObject({ amount: -150, repeated: true });
    expect(await metersOf(bench)).toMatchObject({ balance: -30, debt: 20, available: 0 });
    expect(await bench.credit(50, { source: 'write_off' })).toMatchObject({ ok: true, balance: 0 });
    expect(await metersOf(bench)).toMatchObject({ balance: 0, debt: 0, available: 30 });
  });

  test('a debt that is paid by credits only, not by a credit line that is raised', async () => {
    await using bench = await openWorkbench(open, 10);
    await reverse(bench, 25, 'r1');
    await bench.setAccount({ creditLine: 100 });
    expect(await reverse(bench, 5, 'r2')).toMatchObject({ ok: true, balance: -5 });
    expect(await metersOf(bench)).toMatchObject({ balance: -5, debt: 15, available: 80 });
  });

  test('a debt up to the largest amount', async () => {
    await using bench = await openWorkbench(open, 0);
    const most = Number.MAX_SAFE_INTEGER;
    expect(await reverse(bench, most, 'r1')).toMatchObject({ ok: true, balance: 0 });
    expect(await metersOf(bench)).toMatchObject({ debt: most });
    expect(await reverse(bench, 1, 'r2')).toEqual({ ok: false, reason: 'beyond_maximum' });
    expect(await metersOf(bench)).toMatchObject({ balance: 0, debt: most });
  });

  test('a debt without refusing changes of the account', async () => {
    await using bench = await openWorkbench(open, 10);
    await reverse(bench, 25, 'r1');
    expect(await bench.setAccount({ creditLine: 5, allowance: 7 })).toMatchObject({ ok: true });
    expect(await metersOf(bench)).toMatchObject({ balance: 0, debt: 15, available: 0 });
    expect(await bench.credit(-1)).toMatchObject({ ok: false, reason: 'below_available', available: 0 });
  });
}

export function planConformance(open: OpenStores): void {
  planUseTests(open);
  planChangeTests(open);
}

function planUseTests(open: OpenStores): void {
  test('first, and the wallet what is left, if the holder wants it', async () => {
    await using bench = await openWorkbench(open, 1000);
    await give(bench);
    const requestId = await bench.begin(130);
    expect(await metersOf(bench)).toMatchObject({ balance: 1000, held: 30, planHeld: 100 });
    await bench.settle(requestId, 120);
    expect(await metersOf(bench)).toMatchObject({ balance: 980, held: 0, planHeld: 0, used: [100] });
    expect((await bench.stores.usage.getUsage(requestId))?.planPaid).toBe(100);
    expect((await bench.entries()).filter(({ kind }) => kind === 'usage')).toEqual([
      { kind: 'usage', amount: 20, debit: bench.account, credit: revenue },
      { kind: 'usage', amount: 100, debit: plans, credit: revenue },
    ]);
  });

  test('alone otherwise: the refusal names it, and the wallet stays as it was', async () => {
    await using bench = await openWorkbench(open, 1000);
    await give(bench, { overflow: false });
    const requestId = await bench.begin(60);
    const refusal = { ok: false, meter: 'plan', window: 'month', hasPlan: true };
    expect(await bench.admit(60)).toMatchObject({ ...refusal, available: 40, behindHolds: true });
    expect(await bench.admit(101)).toMatchObject({ ...refusal, behindHolds: false });
    const { window: _, ...alone } = refusal;
    expect(await bench.admit(60, { isAloneIfShort: true, least: 1 })).toMatchObject({ ...alone, behindHolds: true });
    await bench.settle(requestId, 150);
    expect(await metersOf(bench)).toMatchObject({ balance: 1000, used: [100] });
    expect((await bench.stores.usage.getUsage(requestId))?.writtenOff).toBe(50);
  });

  test('as far as every window goes', async () => {
    await using bench = await openWorkbench(open, 0);
    const windows = [
      { length: '5h', limit: 30 },
      { length: 'week', limit: 50 },
    ] as const;
    await give(bench, { windows });
    await bench.settle(await bench.begin(30), 25);
    expect(await bench.admit(6)).toMatchObject({ ok: false, meter: 'wallet', available: 5 });
    expect(await metersOf(bench)).toMatchObject({ used: [25, 25] });
  });

  test('for extensions, too; a lowered hold gives back to the wallet first', async () => {
    await using bench = await openWorkbench(open, 100);
    await give(bench);
    const requestId = await bench.begin(90);
    expect(await bench.extend(requestId, 150)).toMatchObject({ amount: 150 });
    expect(await metersOf(bench)).toMatchObject({ held: 50, planHeld: 100 });
    await bench.extend(requestId, 80);
    expect(await metersOf(bench)).toMatchObject({ held: 0, planHeld: 80 });
    expect(await bench.extend(requestId, 500)).toMatchObject({ amount: 200 });
    await bench.settle(requestId, 200);
    expect(await metersOf(bench)).toMatchObject({ balance: 0, held: 0, planHeld: 0, used: [100] });
  });
}

function planChangeTests(open: OpenStores): void {
  test('and gets back last what is refunded', async () => {
    await using bench = await openWorkbench(open, 100);
    await give(bench);
    const requestId = await bench.begin(130);
    await bench.settle(requestId, 130);
    const refund = (amount: number | 'all') => bench.submit({ kind: 'refund', requestId, amount, note: null });
    expect(await refund(20)).toMatchObject({ ok: true, balance: 90 });
    expect(await metersOf(bench)).toMatchObject({ balance: 90, used: [100] });
    expect(await refund('all')).toMatchObject({ ok: true, amount: 110, balance: 100 });
    expect(await metersOf(bench)).toMatchObject({ balance: 100, used: [0] });
    expect((await bench.stores.usage.getUsage(requestId))?.planPaid).toBe(0);
  });

  test('only in its groups', async () => {
    await using bench = await openWorkbench(open, 50);
    await give(bench, { groups: ['other'], overflow: false });
    await bench.settle(await bench.begin(40), 40);
    expect(await metersOf(bench)).toMatchObject({ balance: 10, used: [0] });
    await bench.settle(await bench.begin(70, { group: 'other' }), 70, { group: 'other' });
    expect(await metersOf(bench)).toMatchObject({ balance: 10, used: [70] });
  });

  test('under new terms without a second allowance', async () => {
    await using bench = await openWorkbench(open, 0);
    await give(bench);
    await bench.settle(await bench.begin(60), 60);
    const running = await bench.begin(30);
    await give(bench, { name: 'pro', windows: [{ length: 'month', limit: 200 }], anchorMs: START_MS + HOUR_MS });
    expect(await metersOf(bench)).toMatchObject({ used: [60], planHeld: 30 });
    expect(await bench.submit({ kind: 'set-plan', account: bench.account, plan: null })).toMatchObject({ ok: true });
    expect(await bench.admit(1)).toMatchObject({ ok: false, meter: 'wallet' });
    await bench.settle(running, 30);
    expect(await metersOf(bench)).toMatchObject({ used: [90], planHeld: 0 });
    await give(bench);
    expect(await metersOf(bench)).toMatchObject({ used: [90] });
  });

  test('and is paid past the wallet, once per reference', async () => {
    await using bench = await openWorkbench(open, 10);
    const pay = (amount: number, reference: string) =>
      bench.submit({ kind: 'plan-payment', account: bench.account, amount, reference, note: null });
    expect(await pay(20, 'in_1')).toMatchObject({ ok: true, balance: 10, repeated: false });
    expect(await pay(20, 'in_1')).toMatchObject({ ok: true, amount: 20, repeated: true });
    expect(await pay(-20, 'in_1 refunded')).toMatchObject({ ok: true, balance: 10 });
    expect((await bench.entries()).slice(0, 4)).toEqual([
      { kind: 'plan_payment', amount: 20, debit: plans, credit: bench.account },
      { kind: 'payment', amount: 20, debit: bench.account, credit: payments },
      { kind: 'plan_payment', amount: 20, debit: bench.account, credit: plans },
      { kind: 'payment', amount: 20, debit: payments, credit: bench.account },
    ]);
  });
}

export function planTimeConformance(open: OpenStores): void {
  windowBeginTests(open);
  paidTimeTests(open);
  pastWindowTests(open);
}

const BURST = [
  { length: '5h', limit: 30 },
  { length: 'week', limit: 50 },
] as const;
const STEADY = [{ length: 'month', limit: 100 }] as const;
const ends = (bench: Workbench) => bench.submit({ kind: 'set-plan', account: bench.account, plan: null });

function pastWindowTests(open: OpenStores): void {
  keptWindowTests(open);
  keptChargeTests(open);
}

function keptWindowTests(open: OpenStores): void {
  test('that the next plan lacks are as used as before when a plan has them again, each until its end', async () => {
    await using bench = await openWorkbench(open, 0);
    await give(bench, { windows: BURST });
    await bench.settle(await bench.begin(30), 30);
    await give(bench, { windows: STEADY });
    bench.clock.advance(HOUR_MS);
    await bench.settle(await bench.begin(70), 70);
    await give(bench, { windows: [{ length: 'day', limit: 5 }] });
    await ends(bench);
    await give(bench, { windows: [...BURST, ...STEADY], anchorMs: START_MS + HOUR_MS });
    expect(await metersOf(bench)).toMatchObject({ used: [30, 30, 70] });
    expect(await bench.admit(1)).toMatchObject({ ok: false });
    bench.clock.advance(4 * HOUR_MS);
    expect(await metersOf(bench)).toMatchObject({ used: [0, 30, 70] });
    bench.clock.advance(7 * DAY_MS - 5 * HOUR_MS - 1);
    expect(await metersOf(bench)).toMatchObject({ used: [0, 30, 70] });
    bench.clock.advance(1);
    expect(await metersOf(bench)).toMatchObject({ used: [0, 0, 70] });
  });

  test('of a plan that ended are as used as before under a new one, and begin anew with it once they are over', async () => {
    await using bench = await openWorkbench(open, 0);
    const soon = { paidUntilMs: START_MS + DAY_MS, endsAtMs: START_MS + 2 * DAY_MS };
    await give(bench, { windows: BURST, ...soon });
    await bench.settle(await bench.begin(30), 30);
    bench.clock.advance(3 * DAY_MS);
    await give(bench, { windows: BURST, anchorMs: START_MS + 3 * DAY_MS });
    expect(await metersOf(bench)).toMatchObject({ used: [0, 30] });
    await ends(bench);
    bench.clock.advance(5 * DAY_MS);
    await give(bench, { windows: BURST, anchorMs: START_MS + 8 * DAY_MS });
    const meters = await bench.stores.ledger.accountMeters(bench.account, bench.clock.nowMs());
    expect(meters?.plan?.windows[1]).toMatchObject({ used: 0, startMs: START_MS + 8 * DAY_MS });
  });

  test('that are no longer paid do not begin anew when the terms change', async () => {
    await using bench = await openWorkbench(open, 0);
    const windows = [
      { length: '5h', limit: 30 },
      { length: 'day', limit: 50 },
    ] as const;
    const paidUntilMs = START_MS + DAY_MS;
    await give(bench, { windows, paidUntilMs, endsAtMs: paidUntilMs + 3 * DAY_MS });
    bench.clock.advance(DAY_MS - HOUR_MS);
    await bench.settle(await bench.begin(30), 30);
    bench.clock.advance(2 * DAY_MS);
    const changes = { overflow: false };
    await bench.submit({ kind: 'change-plan', account: bench.account, name: 'basic', changes });
    expect(await metersOf(bench)).toMatchObject({ used: [30, 30] });
  });

  test('never overlap, wherever the next plan begins', async () => {
    await using bench = await openWorkbench(open, 0);
    const week = { windows: [{ length: 'week', limit: 50 }] } as const;
    await give(bench, week);
    await bench.settle(await bench.begin(50), 50);
    for (const days of [-6.99, -3, 0, 7]) {
      await give(bench, { ...week, anchorMs: START_MS + days * DAY_MS });
      expect(await metersOf(bench)).toMatchObject({ used: [50] });
    }
    bench.clock.advance(DAY_MS);
    expect(await metersOf(bench)).toMatchObject({ used: [50] });
    bench.clock.advance(6 * DAY_MS);
    expect(await metersOf(bench)).toMatchObject({ used: [0] });
  });
}

function windowBeginTests(open: OpenStores): void {
  test('of a plan begin at its anchor, and one of five hours with a message', async () => {
    await using bench = await openWorkbench(open, 0);
    const windows = [
      { length: '5h', limit: 30 },
      { length: 'day', limit: 50 },
    ] as const;
    await give(bench, { windows });
    bench.clock.advance(HOUR_MS);
    await bench.settle(await bench.begin(30), 30);
    bench.clock.advance(5 * HOUR_MS - 1);
    expect(await metersOf(bench)).toMatchObject({ used: [30, 30] });
    expect(await bench.admit(1)).toMatchObject({ ok: false });
    bench.clock.advance(1);
    expect(await metersOf(bench)).toMatchObject({ used: [0, 30] });
    await bench.settle(await bench.begin(20), 20);
    expect(await bench.admit(1)).toMatchObject({ ok: false });
    bench.clock.advance(DAY_MS - 6 * HOUR_MS);
    await bench.takeLease('node-1');
    expect(await metersOf(bench)).toMatchObject({ used: [0, 0] });
  });

  test('of five hours do not begin when a message returns what it held', async () => {
    await using bench = await openWorkbench(open, 0);
    await give(bench, { windows: [{ length: '5h', limit: 30 }] });
    const running = await bench.begin(5);
    bench.clock.advance(6 * HOUR_MS);
    await bench.release(running);
    bench.clock.advance(4 * HOUR_MS);
    await bench.takeLease('node-1');
    await bench.settle(await bench.begin(30), 30);
    bench.clock.advance(2 * HOUR_MS);
    expect(await metersOf(bench)).toMatchObject({ used: [30] });
  });

  test('whose holds stand in the way of nothing that only the wallet pays', async () => {
    await using bench = await openWorkbench(open, 5);
    await give(bench, { groups: ['vip'] });
    await bench.begin(50, { group: 'vip' });
    expect(await bench.admit(20)).toMatchObject({ ok: false, meter: 'wallet', behindHolds: false });
  });
}

function paidTimeTests(open: OpenStores): void {
  test('of a plan do not begin anew once it is no longer paid, and end with it', async () => {
    await using bench = await openWorkbench(open, 5);
    const paidUntilMs = START_MS + DAY_MS;
    await give(bench, { windows: [{ length: 'day', limit: 50 }], paidUntilMs, endsAtMs: paidUntilMs + HOUR_MS });
    await bench.settle(await bench.begin(40), 40);
    bench.clock.advance(DAY_MS);
    await bench.takeLease('node-1');
    expect(await metersOf(bench)).toMatchObject({ used: [40] });
    const running = await bench.begin(10);
    bench.clock.advance(HOUR_MS);
    await bench.takeLease('node-2');
    expect(await bench.admit(6)).toMatchObject({ ok: false, meter: 'wallet', available: 5 });
    await give(bench, {
      windows: [{ length: 'day', limit: 50 }],
      paidUntilMs: paidUntilMs + DAY_MS,
      endsAtMs: null,
    });
    expect(await metersOf(bench)).toMatchObject({ used: [0] });
    await bench.release(running);
  });

  test('of five hours: one more begins after the paid time if none was running', async () => {
    await using bench = await openWorkbench(open, 0);
    const paidUntilMs = START_MS + DAY_MS;
    await give(bench, { windows: [{ length: '5h', limit: 30 }], paidUntilMs, endsAtMs: paidUntilMs + DAY_MS });
    await bench.settle(await bench.begin(30), 30);
    bench.clock.advance(DAY_MS);
    await bench.takeLease('node-1');
    expect(await metersOf(bench)).toMatchObject({ used: [0] });
    await bench.settle(await bench.begin(30), 30);
    bench.clock.advance(10 * HOUR_MS);
    await bench.takeLease('node-2');
    expect(await metersOf(bench)).toMatchObject({ used: [30] });
    expect(await bench.admit(1)).toMatchObject({ ok: false, behindHolds: false });
  });
}

function keptChargeTests(open: OpenStores): void {
  test('are charged for a message that ends under another plan, whose own windows it uses, too', async () => {
    await using bench = await openWorkbench(open, 0);
    await give(bench, { windows: BURST });
    const running = await bench.begin(30);
    await give(bench, { windows: STEADY });
    await bench.settle(running, 25);
    expect(await metersOf(bench)).toMatchObject({ used: [25] });
    await give(bench, { windows: BURST });
    expect(await metersOf(bench)).toMatchObject({ used: [25, 25] });
  });

  test('get a refund of what they paid, and none of what another plan paid', async () => {
    await using bench = await openWorkbench(open, 0);
    const refund = (requestId: string) => bench.ask({ kind: 'refund', requestId, amount: 'all', note: null });
    await give(bench, { windows: BURST });
    bench.clock.advance(1);
    const ofBurst = await bench.begin(20);
    await bench.settle(ofBurst, 20);
    bench.clock.advance(1);
    await give(bench, { windows: STEADY });
    bench.clock.advance(1);
    const ofSteady = await bench.begin(40);
    await bench.settle(ofSteady, 40);
    bench.clock.advance(1);
    await refund(ofBurst);
    expect(await metersOf(bench)).toMatchObject({ used: [40] });
    await give(bench, { windows: BURST });
    expect(await metersOf(bench)).toMatchObject({ used: [0, 0] });
    bench.clock.advance(1);
    await bench.settle(await bench.begin(10), 10);
    await refund(ofSteady);
    expect(await metersOf(bench)).toMatchObject({ used: [10, 10] });
    await give(bench, { windows: STEADY });
    expect(await metersOf(bench)).toMatchObject({ used: [0] });
  });
}
