// One run from a seed: random operations, asked of the store in memory and of another one at once, each answer held against a
// model and each invariant checked after every step.

import { expect } from 'bun:test';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, manualClock } from '../../../src/base/clock.ts';
import { type Answer, checkLedger, type LedgerSums, type Operation } from '../../../src/ledger/ledger.ts';
import { memoryStores } from '../../../src/storage/memory/memory.ts';
import { memoryRows, type StoredRows } from '../../simulation/stored-rows.ts';
import { makeRandom } from '../../support/random.ts';
import { START_MS } from '../workbench.ts';
import { findFaults } from './compare.ts';
import { type Expected, expectBundle, usedOf } from './model.ts';
import { type Model, newModel } from './model-rows.ts';
import { World } from './world.ts';

/** A store that is asked what the one in memory is. */
export interface StoreUnderTest {
  /** Everything together, in this order; one list of answers a bundle. */
  submit(bundles: readonly Operation[][]): Promise<Answer[][]>;
  /** What was in memory is gone, and what is on the disk goes on. */
  crash(): Promise<void> | void;
  /** Asked while it takes nothing that is written, for once: nothing is changed. */
  submitInVain(bundles: readonly Operation[][]): Promise<PromiseSettledResult<Answer[]>[]>;
  rows(): Promise<StoredRows> | StoredRows;
  sums(): Promise<LedgerSums> | LedgerSums;
  close(): Promise<void> | void;
}

export type OpenStore = (clock: Clock, seed: number) => Promise<StoreUnderTest> | StoreUnderTest;

const STEPS = 250;

/** Runs it, and counts in `answered` how often each kind of answer was given. Throws at the first fault. */
export async function simulate(seed: number, open: OpenStore, answered: Map<string, number>): Promise<void> {
  const random = makeRandom(seed);
  const draw = (n: number) => Math.floor(random() * n);
  const clock = manualClock(START_MS);
  const world = new World(draw);
  const model = newModel(clock.nowMs());
  const memory = memoryStores(clock);
  const store = await open(clock, seed);
  try {
    for (let step = 0; step < STEPS; step++) {
      clock.advance(world.pauseMs());
      model.nowMs = clock.nowMs();
      if (draw(40) === 0) await store.crash();
      const bundles = step === 0 ? [world.begin()] : Array.from({ length: 1 + draw(4) }, () => world.bundle());
      if (step > 0 && draw(20) === 0) expectInVain(await store.submitInVain(bundles));
      const expected = bundles.map((operations) => expectBundle(model, operations));
      const inMemory = await Promise.all(bundles.map((operations) => memory.gate.submit({ operations })));
      const where = `seed ${seed}, step ${step}`;
      expectSame(where, inMemory, await store.submit(bundles), 'the store answers as memory does');
      compareAnswers(where, bundles, expected, inMemory, world, answered);
      const faults = [...findFaults(model, memory.tables), ...(await findWrongUse(model, memory))];
      if (faults.length > 0) throw new Error(`${where}: ${faults.join('; ')}\n${JSON.stringify(bundles)}`);
    }
    expectSame(`seed ${seed}`, memoryRows(memory.tables), await store.rows(), 'the store has the rows that memory has');
    expect(checkLedger(await store.sums())).toMatchObject({ ok: true, faults: [] });
  } finally {
    await store.close();
  }
}

/** Whoever wrote is told that it was not taken; what writes nothing may be answered. */
function expectInVain(asked: readonly PromiseSettledResult<Answer[]>[]): void {
  for (const answer of asked)
    if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'store_unavailable' });
}

function expectSame(where: string, one: unknown, other: unknown, claim: string): void {
  if (isDeepStrictEqual(one, other)) return;
  console.error(`${where}: not so: ${claim}`);
  expect(other).toEqual(one);
  throw new Error(`${where}: not so: ${claim}`); // by what the matcher takes for equal, such as undefined
}

function compareAnswers(
  where: string,
  bundles: Operation[][],
  expected: Expected[][],
  answers: Answer[][],
  world: World,
  answered: Map<string, number>,
): void {
  for (const [index, operations] of bundles.entries()) {
    for (const [place, operation] of operations.entries()) {
      const answer = answers[index]?.[place] as unknown as Record<string, unknown>;
      const facts = expected[index]?.[place] ?? {};
      const name = String(answer['ok'] ? answer['kind'] : `not: ${answer['reason']}`);
      answered.set(name, (answered.get(name) ?? 0) + 1);
      world.heard(operation, answer);
      if (Object.entries(facts).every(([fact, value]) => answer[fact] === value)) continue;
      throw new Error(
        `${where}: ${JSON.stringify(operation)} was answered ${JSON.stringify(answer)}, not ${JSON.stringify(facts)}`,
      );
    }
  }
}

/** What was used in the present period, as it is shown. */
async function findWrongUse(model: Model, stores: ReturnType<typeof memoryStores>): Promise<string[]> {
  const faults: string[] = [];
  for (const account of model.accounts.values()) {
    const meters = await stores.ledger.accountMeters(account.id, model.nowMs);
    if (meters?.allowanceUsed !== usedOf(model, account))
      faults.push(`used of ${account.id} is ${meters?.allowanceUsed}, should be ${usedOf(model, account)}`);
  }
  for (const key of model.keys.values()) {
    const meters = await stores.ledger.keyMeters(key.id, model.nowMs);
    if (meters?.quotaUsed !== usedOf(model, key))
      faults.push(`used of ${key.id} is ${meters?.quotaUsed}, should be ${usedOf(model, key)}`);
  }
  return faults;
}

const CLAIM_REFUSALS = ['claim_running', 'claim_answered', 'claim_mismatch'];
const REFUSALS = ['insufficient', 'requests_rate', 'input_tokens_rate', 'output_tokens_rate', 'concurrency'];

/** A simulation that tests nothing is seen: every kind of answer was given. */
export function expectEveryAnswer(answered: ReadonlyMap<string, number>): void {
  for (const kind of ['admitted', 'extended', 'ended', 'credited', 'refunded', 'lease', 'expired', 'done'])
    expect([kind, (answered.get(kind) ?? 0) > 0]).toEqual([kind, true]);
  for (const reason of [...REFUSALS, ...CLAIM_REFUSALS, 'ended', 'not_owner', 'unknown_message', 'bundle_refused'])
    expect([reason, (answered.get(`not: ${reason}`) ?? 0) > 0]).toEqual([reason, true]);
}
