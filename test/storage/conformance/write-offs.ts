// A cost above the hold is taken from the available balance; the rest is written off, reported, and never takes a
// balance below its floor.

import { expect, test } from 'bun:test';
import { systemAccounts } from '../../../src/ledger/ledger.ts';
import { type OpenStores, openWorkbench } from '../../money/ledger/workbench.ts';

export function writeOffConformance(open: OpenStores): void {
  test('nothing while the wallet can pay the excess over the hold', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(10);
    expect(await bench.settle(requestId, 100)).toMatchObject({ ok: true, kind: 'ended', cost: 100, writtenOff: 0 });
    expect(await bench.wallet()).toEqual({ balance: 0, held: 0 });
  });

  test('amounts that other messages hold, and amounts below the floor', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.setAccount({ creditLine: 20 });
    const other = await bench.begin(50);
    const requestId = await bench.begin(10);
    expect(await bench.settle(requestId, 100)).toMatchObject({ ok: true, kind: 'ended', cost: 100, writtenOff: 30 });
    expect(await bench.wallet()).toEqual({ balance: 30, held: 50 });
    expect((await bench.entries()).slice(0, 2)).toEqual([
      { kind: 'write_off', amount: 30, debit: systemAccounts.writeOffs, credit: systemAccounts.revenue },
      { kind: 'usage', amount: 70, debit: bench.account, credit: systemAccounts.revenue },
    ]);
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 100, writtenOff: 30 });
    await bench.settle(other, 50);
    expect(await bench.wallet()).toEqual({ balance: -20, held: 0 });
  });

  test('a cost beyond the quota of the key, even if the wallet could pay it', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 50 });
    const requestId = await bench.begin(10);
    expect(await bench.settle(requestId, 80)).toMatchObject({ cost: 80, writtenOff: 30 });
    expect(await bench.stores.ledger.keyMeters(bench.key, bench.clock.nowMs())).toMatchObject({ quotaUsed: 50 });
    expect(await bench.wallet()).toEqual({ balance: 950, held: 0 });
  });

  test('nothing up to a hold whose quota was lowered meanwhile, and everything beyond it', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 50 });
    const requestId = await bench.begin(40);
    await bench.setKey({ quota: 5 });
    expect(await bench.settle(requestId, 45)).toMatchObject({ cost: 45, writtenOff: 5 });
    expect(await bench.stores.ledger.keyMeters(bench.key, bench.clock.nowMs())).toMatchObject({ quotaUsed: 40 });
  });

  test('all of a cost that nothing can pay, without a usage entry', async () => {
    await using bench = await openWorkbench(open, 0);
    const requestId = await bench.begin(0);
    expect(await bench.settle(requestId, 9)).toMatchObject({ cost: 9, writtenOff: 9 });
    expect(await bench.entries()).toMatchObject([{ kind: 'write_off', amount: 9 }]);
    expect(await bench.wallet()).toEqual({ balance: 0, held: 0 });
  });

  test('and caps the usage of a key without a quota at the largest number', async () => {
    await using bench = await openWorkbench(open, Number.MAX_SAFE_INTEGER);
    for (let turn = 0; turn < 2; turn++) {
      await bench.settle(await bench.begin(Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
      await bench.credit(Number.MAX_SAFE_INTEGER);
    }
    expect(await bench.stores.ledger.keyMeters(bench.key, bench.clock.nowMs())).toMatchObject({
      quotaUsed: Number.MAX_SAFE_INTEGER,
    });
    expect(await bench.admit(1)).toMatchObject({ ok: true });
    await bench.setKey({ quota: 5 });
    expect(await bench.admit(1)).toMatchObject({ ok: false, meter: 'quota', behindHolds: false });
  });
}
