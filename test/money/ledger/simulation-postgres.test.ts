// The same seeds and operations on PostgreSQL: several nodes take turns, with and without lanes, and now and then one
// dies or loses its connection at the worst moment. SIMULATION_SEEDS and SIMULATION_SEED work as for SQLite.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Clock } from '../../../src/base/clock.ts';
import { GroupCommit } from '../../../src/ledger/ledger.ts';
import { PostgresGate } from '../../../src/storage/postgres/postgres.ts';
import { makeRandom } from '../../support/random.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { drawFate, PostgresNodes } from '../../verify/simulation/postgres-nodes.ts';
import { expectEveryAnswer, type OpenStore, simulate } from './simulation/simulate.ts';

const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 12);
const FIRST_SEED = Number(process.env['SIMULATION_SEED'] ?? 1);
const NODES = 2;
const TEST_MS_MAX = 300_000;
const VAIN_OF = 4; // Only some failed writes are tried, since each takes longer than a batch.

describe.skipIf(cannotStartPostgres)('on PostgreSQL', () => {
  const answered = new Map<string, number>();
  let nodes: PostgresNodes;
  beforeAll(async () => {
    nodes = await PostgresNodes.open(NODES);
  });
  afterAll(async () => {
    await nodes[Symbol.asyncDispose]();
    if (SEEDS < 10) return;
    expectEveryAnswer(answered);
    for (const fates of [['cut-before: begun again'], ['cut-twice: failed'], ['cut-after: made', 'lose-answer: made']])
      expect([fates, fates.some((fate) => nodes.met.has(fate))]).toEqual([fates, true]);
  });
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    test(
      `no sequence of operations breaks an invariant (seed ${seed})`,
      () => simulate(seed, openOver(nodes), answered),
      TEST_MS_MAX,
    );
  }
});

function openOver(nodes: PostgresNodes): OpenStore {
  return async (clock, seed) => {
    await nodes.clear();
    const random = makeRandom(seed + 1_000_000); // Has random numbers of its own, so that the operations are the same as on SQLite.
    const draw = (n: number) => Math.floor(random() * n);
    let withLanes = openLanes(nodes.url, clock);
    return {
      async submit(bundles) {
        nodes.nowMs = clock.nowMs();
        if (draw(3) === 0) return await inTurn(withLanes, bundles);
        const batch = bundles.map((operations) => ({ operations }));
        return (await nodes.ask(draw(NODES), batch, drawFate(draw))).answers;
      },
      async crash() {
        if (draw(2) === 0) return await nodes.crash(draw(NODES));
        await withLanes.close();
        withLanes = openLanes(nodes.url, clock);
      },
      async submitInVain(bundles) {
        if (draw(VAIN_OF) > 0) return [];
        nodes.nowMs = clock.nowMs();
        const gate = new GroupCommit(nodes.storeOf(draw(NODES), 'cut-twice'));
        return await Promise.allSettled(bundles.map((operations) => gate.submit({ operations })));
      },
      rows: () => nodes.rows(),
      sums: () => nodes.sums(),
      close: () => withLanes.close(),
    };
  };
}

function openLanes(url: string, clock: Clock): PostgresGate {
  return new PostgresGate(url, { clock });
}

/** Sequential: lanes keep no order between accounts. */
async function inTurn(gate: PostgresGate, bundles: Parameters<Awaited<ReturnType<OpenStore>>['submit']>[0]) {
  const answers = [];
  for (const operations of bundles) answers.push(await gate.submit({ operations }));
  return answers;
}
