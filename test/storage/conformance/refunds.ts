// Refunds: an operator returns the cost of a message, wholly or in part, and never more than was paid.

import { expect, test } from 'bun:test';
import { type Answer, systemAccounts } from '../../../src/ledger/ledger.ts';
import { failureOf, type OpenStores, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';

const LARGEST = Number.MAX_SAFE_INTEGER;
const REFUSED = { ok: false, reason: 'below_available' } as const;

export function refundConformance(open: OpenStores): void {
  givingTests(open);
  boundTests(open);
  endingTests(open);
}

function refund(bench: Workbench, requestId: string, amount: number | 'all'): Promise<Answer> {
  return bench.ask({ kind: 'refund', requestId, amount, note: null });
}

function givingTests(open: OpenStores): void {
  test('to the balance, the allowance and the quota, with an entry, and off the record', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 90 });
    await bench.setAccount({ allowance: 80 });
    const requestId = await bench.begin(50);
    await bench.settle(requestId, 30, { outputTokens: 7 });
    expect(await refund(bench, requestId, 20)).toEqual({ ok: true, kind: 'refunded', amount: 20, balance: 90 });
    expect(await bench.wallet()).toEqual({ balance: 90, held: 0 });
    const nowMs = bench.clock.nowMs();
    expect(await bench.stores.ledger.keyMeters(bench.key, nowMs)).toMatchObject({ quotaUsed: 10 });
    expect(await bench.stores.ledger.accountMeters(bench.account, nowMs)).toMatchObject({ allowanceUsed: 10 });
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 10, outputTokens: 7 });
    const [entry] = await bench.entries();
    expect(entry).toEqual({ kind: 'refund', amount: 20, debit: systemAccounts.revenue, credit: bench.account });
  });

  test('within a bundle', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    await bench.settle(requestId, 30);
    const operation = { kind: 'refund', requestId, amount: 10, note: null } as const;
    expect(await bench.stores.gate.submit({ operations: [operation, operation] })).toMatchObject([
      { balance: 80 },
      { balance: 90 },
    ]);
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 10 });
  });
}

function boundTests(open: OpenStores): void {
  test('at most the paid amount that is not refunded yet, then nothing, without an entry', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    await bench.settle(requestId, 30);
    expect(await refund(bench, requestId, 31)).toEqual({ ...REFUSED, available: 30 });
    expect(await refund(bench, requestId, 30)).toMatchObject({ ok: true, amount: 30 });
    expect(await refund(bench, requestId, 1)).toEqual({ ...REFUSED, available: 0 });
    expect(await refund(bench, requestId, 'all')).toMatchObject({ ok: true, amount: 0, balance: 100 });
    expect((await bench.entries()).map(({ kind }) => kind)).toEqual(['refund', 'usage', 'payment']);
  });

  test('no written-off amount, which was never paid', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    await bench.settle(requestId, 130);
    expect(await refund(bench, requestId, 101)).toEqual({ ...REFUSED, available: 100 });
    expect(await refund(bench, requestId, 'all')).toMatchObject({ ok: true, amount: 100, balance: 100 });
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 30, writtenOff: 30 });
  });

  test('no running or unknown message, and no fraction', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    for (const unknown of [requestId, 'req_unknown'])
      expect(await refund(bench, unknown, 'all')).toEqual({ ok: false, reason: 'unknown_message' });
    await bench.settle(requestId, 30);
    for (const amount of [0.5, -1, Number.NaN])
      expect(await failureOf(refund(bench, requestId, amount))).toBeInstanceOf(Error);
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
  });

  test('no more than can be counted exactly, credit line and all', async () => {
    await using bench = await openWorkbench(open, LARGEST);
    const requestId = await bench.begin(50);
    await bench.settle(requestId, 30);
    await bench.credit(30);
    expect(await refund(bench, requestId, 'all')).toEqual({ ok: false, reason: 'beyond_maximum' });
    await bench.credit(-30);
    await bench.setAccount({ creditLine: 1 });
    expect(await refund(bench, requestId, 'all')).toEqual({ ok: false, reason: 'beyond_maximum' });
    expect(await refund(bench, requestId, 29)).toMatchObject({ ok: true });
  });
}

function endingTests(open: OpenStores): void {
  test('a message for good: a repeated settlement does not charge it again', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    await bench.settle(requestId, 30);
    await refund(bench, requestId, 'all');
    expect(await bench.settle(requestId, 30)).toMatchObject({ ok: true });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
  });

  test('an expired message for good: its late owner does not charge it again', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(50);
    await bench.extend(requestId, 50, bench.record(requestId, { cost: 30, outcome: 'service_cut' }));
    await bench.takeLease('node-1');
    expect(await bench.ask({ kind: 'expire' })).toMatchObject({ holds: 1 });
    await refund(bench, requestId, 'all');
    expect(await bench.settle(requestId, 40)).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 0 });
  });
}
