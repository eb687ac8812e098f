// Periods: an allowance or quota that starts again at midnight, on Monday, or on the first of the month, in UTC.

import { expect, test } from 'bun:test';
import type { Period } from '../../../src/base/clock.ts';
import { type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';

const PERIODS: [Period, number][] = [
  ['day', Date.UTC(2026, 10, 19)],
  ['week', Date.UTC(2026, 10, 23)],
  ['month', Date.UTC(2026, 11, 1)],
];

export function periodConformance(open: OpenStores): void {
  for (const [period, endMs] of PERIODS) periodTests(open, period, endMs);
  holdTests(open);
  changeTests(open);
}

function periodTests(open: OpenStores, period: Period, endMs: number): void {
  test(`of a ${period} for a key, to the millisecond`, async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 100, quotaPeriod: period });
    await bench.settle(await bench.begin(100), 100);
    const refusal = { ok: false, meter: 'quota', available: 0, behindHolds: false, retryAtMs: endMs };
    expect(await bench.admit(1)).toMatchObject(refusal);
    bench.clock.advance(endMs - START_MS - 1);
    expect(await bench.admit(1)).toMatchObject(refusal);
    expect(await bench.stores.ledger.keyMeters(bench.key, bench.clock.nowMs())).toMatchObject({ quotaUsed: 100 });
    bench.clock.advance(1);
    expect(await bench.stores.ledger.keyMeters(bench.key, bench.clock.nowMs())).toMatchObject({ quotaUsed: 0 });
    expect(await bench.admit(101)).toMatchObject({ ok: false, meter: 'quota', available: 100 });
    expect(await bench.admit(100)).toMatchObject({ ok: true });
  });

  test(`of a ${period} for an account, to the millisecond`, async () => {
    await using bench = await openWorkbench(open, 1000);
    await bench.setAccount({ allowance: 100, allowancePeriod: period });
    await bench.settle(await bench.begin(100), 100);
    bench.clock.advance(endMs - START_MS - 1);
    expect(await bench.admit(1)).toMatchObject({ ok: false, meter: 'allowance', retryAtMs: endMs });
    bench.clock.advance(1);
    expect(await bench.admit(100)).toMatchObject({ ok: true });
    const meters = await bench.stores.ledger.accountMeters(bench.account, bench.clock.nowMs());
    expect(meters).toMatchObject({ allowanceUsed: 0, held: 100 });
  });
}

function holdTests(open: OpenStores): void {
  test('in which a cost counts when it is settled, and holds carry over', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 100, quotaPeriod: 'day' });
    const requestId = await bench.begin(70);
    bench.clock.advance(86_400_000);
    expect(await bench.admit(31)).toMatchObject({ ok: false, meter: 'quota', available: 30, behindHolds: true });
    await bench.settle(requestId, 60);
    expect(await bench.admit(41)).toMatchObject({ ok: false, meter: 'quota', available: 40, behindHolds: false });
    expect(await bench.admit(40)).toMatchObject({ ok: true });
  });

  test('in which a refund counts when it is made, up to the usage of the period', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 100, quotaPeriod: 'day' });
    await bench.setAccount({ allowance: 200, allowancePeriod: 'month' });
    const first = await bench.begin(80);
    await bench.settle(first, 80);
    bench.clock.advance(86_400_000);
    await bench.settle(await bench.begin(30), 30);
    await bench.ask({ kind: 'refund', requestId: first, amount: 50, note: null });
    expect(await bench.admit(101)).toMatchObject({ ok: false, meter: 'quota', available: 100 });
    const meters = await bench.stores.ledger.accountMeters(bench.account, bench.clock.nowMs());
    expect(meters).toMatchObject({ allowanceUsed: 60, balance: 940 });
  });

  test('of an account, in which a cost counts when it is settled', async () => {
    await using bench = await openWorkbench(open, 1000);
    await bench.setAccount({ allowance: 100, allowancePeriod: 'day' });
    await bench.settle(await bench.begin(90), 90);
    const requestId = await bench.begin(10);
    bench.clock.advance(86_400_000);
    await bench.settle(requestId, 10);
    expect(await bench.admit(91)).toMatchObject({ ok: false, meter: 'allowance', available: 90 });
  });

  test('whose usage is unchanged when the allowance is raised', async () => {
    await using bench = await openWorkbench(open, 1000);
    await bench.setAccount({ allowance: 100, allowancePeriod: 'month' });
    await bench.settle(await bench.begin(60), 60);
    await bench.setAccount({ allowance: 110, allowancePeriod: 'month' });
    expect(await bench.admit(51)).toMatchObject({ ok: false, meter: 'allowance', available: 50 });
  });

  test('that do not start again when the clock is set back', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 100, quotaPeriod: 'day' });
    await bench.setAccount({ allowance: 100, allowancePeriod: 'day' });
    await bench.settle(await bench.begin(100), 100);
    bench.clock.advance(-86_400_000);
    expect(await bench.admit(1)).toMatchObject({ ok: false, meter: 'allowance', available: 0 });
    await bench.setAccount({});
    expect(await bench.admit(1)).toMatchObject({ ok: false, meter: 'quota', available: 0 });
    bench.clock.advance(86_400_000);
    expect(await bench.admit(1)).toMatchObject({ ok: false, meter: 'quota', available: 0 });
  });
}

function changeTests(open: OpenStores): void {
  test('that have ended when they are changed: their usage no longer counts', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 100, quotaPeriod: 'day' });
    await bench.settle(await bench.begin(60), 60);
    bench.clock.advance(86_400_000);
    await bench.setKey({ quota: 100, quotaPeriod: 'month' });
    expect(await bench.admit(101)).toMatchObject({ ok: false, meter: 'quota', available: 100 });
  });

  test('whose usage still counts after a change to a longer period', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 100, quotaPeriod: 'day' });
    await bench.settle(await bench.begin(60), 60);
    await bench.setKey({ quota: 100, quotaPeriod: 'month' });
    expect(await bench.admit(41)).toMatchObject({ ok: false, available: 40, retryAtMs: Date.UTC(2026, 11, 1) });
    bench.clock.advance(86_400_000);
    expect(await bench.admit(41)).toMatchObject({ ok: false, available: 40 });
    await bench.setKey({ quota: 100, quotaPeriod: 'total' });
    bench.clock.advance(60 * 86_400_000);
    expect(await bench.admit(41)).toMatchObject({ ok: false, available: 40, retryAtMs: null });
  });

  test('that start empty after a change to a shorter one, so that a new allowance is available at once', async () => {
    await using bench = await openWorkbench(open, 1000);
    await bench.settle(await bench.begin(600), 600);
    const requestId = await bench.begin(10);
    await bench.setAccount({ allowance: 100, allowancePeriod: 'month' });
    await bench.setKey({ quota: 100, quotaPeriod: 'day' });
    expect(await bench.admit(91)).toMatchObject({ ok: false, meter: 'allowance', available: 90 });
    await bench.settle(requestId, 10);
    expect(await bench.admit(91)).toMatchObject({ ok: false, meter: 'allowance', available: 90 });
    expect(await bench.admit(90)).toMatchObject({ ok: true });
  });
}
