// A cost above what is held is taken from what is available then; the rest is written off, shown, and
// never takes a balance below its floor.

import { expect, test } from 'bun:test';
import { systemAccounts } from '../../../src/ledger/ledger.ts';
import { type OpenStores, openWorkbench } from '../../ledger/workbench.ts';

export function writeOffConformance(open: OpenStores): void {
  test('nothing while the wallet can pay more than was held', async () => {
    await using bench = await openWorkbench(open, 100);
    const requestId = await bench.begin(10);
    expect(await bench.settle(requestId, 100)).toEqual({ ok: true, kind: 'ended', cost: 100, writtenOff: 0 });
    expect(await bench.wallet()).toEqual({ balance: 0, held: 0 });
  });

  test('what other messages hold of the wallet, and what is below the floor', async () => {
    await using bench = await openWorkbench(open, 100);
    await bench.setAccount({ creditLine: 20 });
    const other = await bench.begin(50);
    const requestId = await bench.begin(10);
    expect(await bench.settle(requestId, 100)).toEqual({ ok: true, kind: 'ended', cost: 100, writtenOff: 30 });
    expect(await bench.wallet()).toEqual({ balance: 30, held: 50 });
    expect((await bench.entries()).slice(0, 2)).toEqual([
      { kind: 'write_off', amount: 30, debit: systemAccounts.writeOffs, credit: systemAccounts.revenue },
      { kind: 'usage', amount: 70, debit: bench.account, credit: systemAccounts.revenue },
    ]);
    expect(await bench.stores.usage.getUsage(requestId)).toMatchObject({ cost: 100, writtenOff: 30 });
    await bench.settle(other, 50);
    expect(await bench.wallet()).toEqual({ balance: -20, held: 0 });
  });

  test('what the quota of the key does not have, though the wallet has it', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 50 });
    const requestId = await bench.begin(10);
    expect(await bench.settle(requestId, 80)).toMatchObject({ cost: 80, writtenOff: 30 });
    expect(await bench.stores.ledger.keyMeters(bench.key, bench.clock.nowMs())).toMatchObject({ quotaUsed: 50 });
    expect(await bench.wallet()).toEqual({ balance: 950, held: 0 });
  });

  test('nothing of a hold whose quota was lowered meanwhile, but all beyond it', async () => {
    await using bench = await openWorkbench(open, 1000, { quota: 50 });
    const requestId = await bench.begin(40);
    await bench.setKey({ quota: 5 });
    expect(await bench.settle(requestId, 45)).toMatchObject({ cost: 45, writtenOff: 5 });
    expect(await bench.stores.ledger.keyMeters(bench.key, bench.clock.nowMs())).toMatchObject({ quotaUsed: 40 });
  });

  test('all of a cost that nothing can pay, and no usage entry is written', async () => {
    await using bench = await openWorkbench(open, 0);
    const requestId = await bench.begin(0);
    expect(await bench.settle(requestId, 9)).toMatchObject({ cost: 9, writtenOff: 9 });
    expect(await bench.entries()).toMatchObject([{ kind: 'write_off', amount: 9 }]);
    expect(await bench.wallet()).toEqual({ balance: 0, held: 0 });
  });

  test('and what a key without a quota has used goes on being counted at the largest number', async () => {
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
