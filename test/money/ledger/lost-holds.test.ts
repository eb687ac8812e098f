// Holds of a node that are none of its messages, as after a failover that has undone their endings.

import { expect, test } from 'bun:test';
import { LostHolds } from '../../../src/ledger/ledger.ts';
import { openPostgres } from '../../storage/open-postgres.ts';
import { memoryStores, sumMemory } from '../../support/memory-store/memory-store.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { type OpenStores, openWorkbench } from './workbench.ts';

test('a hold is lost if two looks find no message for it', async () => {
  const stored = ['req_a', 'req_b', 'req_c'];
  const running = new Set(['req_a']);
  const ended: string[][] = [];
  const lost = new LostHolds(
    async () => stored,
    async (requestIds) => ended.push([...requestIds]),
  );
  await lost.look(() => running);
  expect(ended).toEqual([]);
  running.add('req_b'); // it was being admitted
  stored.push('req_d');
  await lost.look(() => running);
  expect(ended).toEqual([['req_c']]);
});

test('a message that is admitted while the holds are listed is not suspected', async () => {
  const running = new Set<string>();
  const ended: string[][] = [];
  const list = async () => {
    running.add('req_a');
    return ['req_a'];
  };
  const lost = new LostHolds(list, async (requestIds) => ended.push([...requestIds]));
  for (let looks = 0; looks < 3; looks++) await lost.look(() => running);
  expect(ended).toEqual([]);
});

const stores: readonly (readonly [name: string, open: OpenStores, isSkipped: boolean])[] = [
  [
    'in memory',
    (clock) => {
      const made = memoryStores(clock);
      return { stores: made, sums: () => sumMemory(made.tables), close: () => {} };
    },
    false,
  ],
  ['in PostgreSQL', openPostgres, cannotStartPostgres],
];

for (const [name, open, isSkipped] of stores)
  test.skipIf(isSkipped)(
    `a lost hold ${name} is ended at its checkpoint, although its node lives, and others stay`,
    async () => {
      await using bench = await openWorkbench(open, 1_000);
      const [lost, running] = [await bench.begin(50), await bench.begin(70)];
      await bench.extend(lost, 50, bench.record(lost, { cost: 30, outputTokens: 3, outcome: 'service_cut' }));
      expect(await bench.ask({ kind: 'expire', lost: [lost, 'req_unknown'] })).toMatchObject({
        ok: true,
        holds: 1,
        stuck: [],
      });
      expect(await bench.wallet()).toEqual({ balance: 970, held: 70 });
      await bench.settle(running, 60);
      expect(await bench.wallet()).toEqual({ balance: 910, held: 0 });
      // The ending that was lost may still come, and corrects the bill.
      expect(await bench.settle(lost, 40)).toMatchObject({ ok: false, reason: 'ended' });
      expect(await bench.wallet()).toEqual({ balance: 900, held: 0 });
    },
  );
