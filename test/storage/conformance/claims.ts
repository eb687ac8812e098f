// Claims: whatever is tried under one, its caller is answered once and charged once.

import { expect, test } from 'bun:test';
import { type OpenStores, openWorkbench, type Workbench } from '../../ledger/workbench.ts';

const claim = { name: 'order-17', requestHash: 'hash' };

export function claimConformance(open: OpenStores): void {
  test('nothing for what was no answer, once its caller asks again', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(50, { claim });
    await bench.settle(first, 30, { outcome: 'upstream_cut' });
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
    const second = await bench.begin(100, { claim });
    expect(await bench.wallet()).toEqual({ balance: 100, held: 100 });
    await bench.settle(second, 40);
    expect(await bench.settle(first, 30)).toEqual({ ok: false, reason: 'ended' });
    expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
  });

  for (const checkpointCost of [null, 0, 20]) {
    test(`one message where a node comes back late to a claim that is another’s (checkpoint: ${checkpointCost})`, async () => {
      await using bench = await openWorkbench(open, 100);
      const first = await bench.begin(50, { claim });
      if (checkpointCost !== null)
        await bench.extend(first, 50, bench.record(first, { cost: checkpointCost, outcome: 'service_cut' }));
      await expireAll(bench);
      const second = await bench.begin(50, { claim });
      expect(await bench.settle(first, 30)).toEqual({ ok: false, reason: 'ended' });
      await bench.settle(second, 40);
      expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
    });
  }

  test('what its caller left as well', async () => {
    await using bench = await openWorkbench(open, 100);
    const first = await bench.begin(50, { claim });
    await bench.settle(first, 30, { outcome: 'client_gone' });
    const second = await bench.begin(50, { claim });
    await bench.settle(second, 40);
    expect(await bench.wallet()).toEqual({ balance: 30, held: 0 });
  });
}

/** The node of all holds is gone, and begins anew. */
async function expireAll(bench: Workbench): Promise<void> {
  await bench.takeLease('node-1');
  expect(await bench.ask({ kind: 'expire' })).toMatchObject({ ok: true, kind: 'expired' });
}
