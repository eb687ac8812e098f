// The meters in a usage record: before its message ended, and after.

import { expect, test } from 'bun:test';
import { type OpenStores, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';

const metersOf = async (bench: Workbench, requestId: string) =>
  (await bench.stores.usage.getUsage(requestId))?.meters ?? null;

export function meterConformance(open: OpenStores): void {
  test('the balance, the quota and the allowance before and after a message, with their limits', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 50, quotaPeriod: 'day' });
    await bench.setAccount({ allowance: 80, allowancePeriod: 'month' });
    const [first, second] = [await bench.begin(20), await bench.begin(20)];
    await bench.settle(second, 7);
    await bench.settle(first, 12);
    expect(await metersOf(bench, second)).toEqual({
      balance: { before: 100, after: 93 },
      quota: { limit: 50, period: 'day', before: 0, after: 7 },
      allowance: { limit: 80, period: 'month', before: 0, after: 7 },
    });
    expect(await metersOf(bench, first)).toEqual({
      balance: { before: 93, after: 81 },
      quota: { limit: 50, period: 'day', before: 7, after: 19 },
      allowance: { limit: 80, period: 'month', before: 7, after: 19 },
    });
  });

  test('only the charged amount, without the write-off', async () => {
    await using bench = await openWorkbench(open, 10);
    const requestId = await bench.begin(10);
    await bench.settle(requestId, 25);
    expect((await metersOf(bench, requestId))?.balance).toEqual({ before: 10, after: 0 });
    const released = await bench.begin(0);
    await bench.release(released);
    expect((await metersOf(bench, released))?.balance).toEqual({ before: 0, after: 0 });
  });

  test('the same meters after a refund, which is an entry of its own', async () => {
    await using bench = await openWorkbench(open, 100, { quota: 50 });
    const requestId = await bench.begin(20);
    await bench.settle(requestId, 20);
    const before = await metersOf(bench, requestId);
    await bench.ask({ kind: 'refund', requestId, amount: 5, note: null });
    expect(await metersOf(bench, requestId)).toEqual(before);
    expect(before?.quota).toEqual({ limit: 50, period: 'total', before: 0, after: 20 });
  });
}
