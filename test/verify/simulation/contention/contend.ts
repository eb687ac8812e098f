// Many clients at once on several nodes over one PostgreSQL database, about few accounts: every answer must be one that they could have
// had one after the other. What is asked is from a seed; which of it meets is chance.

import {
  type Answer,
  checkLedger,
  GroupCommit,
  type LedgerGate,
  type Operation,
} from '../../../../src/ledger/ledger.ts';
import { World } from '../../../money/ledger/simulation/world.ts';
import { Chance } from '../chance.ts';
import { DOUBTS, drawFate, type Fate, type PostgresNodes } from '../postgres-nodes.ts';
import { History } from './history.ts';
import { Judge } from './judge.ts';

const CLIENTS = 12;
const LEASE_MS = 150; // so that some lapse
const ONE_IN_DOUBT_OF = 60; // each costs its node OUTCOME_MS_MAX
const FAULTS_SHOWN = 3;
const BEGIN_TRIES_MAX = 20;

/** For `PostgresNodes.open`: how long a node tries to learn what became of a commit, so that some stay in doubt. */
export const OUTCOME_MS_MAX = 300;

/** Fates that each run meets, and what must come of them. */
export const owed: readonly (readonly [Fate, string])[] = [
  ['cut-before', 'begun again'],
  ['doubt-made', 'in doubt'],
  ['doubt-lost', 'in doubt'],
];

/** Asks about so many bundles over lanes of `nodes`, whose rows it takes out first. Null, or what could not have been. */
export async function contend(seed: number, bundles: number, nodes: PostgresNodes): Promise<string | null> {
  const chance = new Chance(seed);
  const draw = (n: number) => chance.below(n);
  const world = new World(draw, LEASE_MS);
  const history = new History();
  // A lane each: which of them takes a bundle is chance, since rows decide and not lanes.
  const gates = Array.from(
    { length: nodes.count },
    (_, index) =>
      new GroupCommit(
        history.watch(
          { transact: (...asked) => nodes.storeOf(index, nextFate(nodes, draw)).transact(...asked) },
          (failure) => nodes.wasMade(failure),
        ),
      ),
  );
  nodes.nowMs = null;
  await nodes.clear();
  const faults: string[] = [];
  // All there is at first is made by several at once, and by each in the end.
  const begin = async (gate: LedgerGate) => {
    for (let tries = 0; tries < BEGIN_TRIES_MAX && !(await ask(world, gate, world.begin(), faults)); tries++);
  };
  await Promise.all(gates.map(begin));
  let left = bundles;
  const client = async () => {
    while (left-- > 0) await ask(world, chance.pick(gates), bundleOf(world), faults);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const judge = new Judge();
  for (const [index, decision] of history.decisions.entries()) {
    const fault = judge.next(decision);
    if (fault !== null) faults.push(`decision ${index}: ${fault}\n${JSON.stringify(decision.bundles)}`);
    if (faults.length >= FAULTS_SHOWN) break;
  }
  const rows = faults.length > 0 ? null : judge.compareRows(await nodes.rows());
  if (rows !== null) faults.push(`in the end: ${rows}`);
  faults.push(...checkLedger(await nodes.sums()).faults);
  return faults.length === 0 ? null : faults.join('\n');
}

/** Required events come first, however few batches a busy machine makes. */
function nextFate({ met }: PostgresNodes, draw: (n: number) => number): Fate {
  const drawn = drawDoubtOrFate(draw);
  return owed.find(([fate, how]) => !met.has(`${fate}: ${how}`))?.[0] ?? drawn;
}

function drawDoubtOrFate(draw: (n: number) => number): Fate {
  return draw(ONE_IN_DOUBT_OF) === 0 ? (DOUBTS[draw(DOUBTS.length)] as Fate) : drawFate(draw);
}

/** Whether it was answered. A store that cannot be had is part of the run; anything else that is thrown is a fault of ours. */
/**
 * Without an extension of a reserve, which no node asks for: once another node has given it back, nothing tells its account, whose lock
 * would order the two.
 */
function bundleOf(world: World): Operation[] {
  for (;;) {
    const operations = world.bundle();
    if (!operations.some((one) => one.kind === 'extend' && one.requestId.startsWith('rsv_'))) return operations;
  }
}

async function ask(world: World, gate: LedgerGate, operations: Operation[], faults: string[]): Promise<boolean> {
  let answers: Answer[];
  try {
    answers = await gate.submit({ operations });
  } catch (failure) {
    if ((failure as { code?: string }).code === 'store_unavailable') return false;
    faults.push(`it was refused with ${(failure as Error).stack}: ${JSON.stringify(operations)}`);
    return false;
  }
  for (const [at, operation] of operations.entries())
    world.heard(operation, answers[at] as unknown as Record<string, unknown>);
  return true;
}
