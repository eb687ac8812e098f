// One run from a seed: random operations go to the in-memory store and to another store. Each answer is compared with
// a model, and every invariant is checked after each step.

import { expect } from 'bun:test';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../../src/base/clock.ts';
import { type Answer, checkLedger, type LedgerSums, type Operation } from '../../../../src/ledger/ledger.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { memoryStores } from '../../../support/memory-store/memory-store.ts';
import { makeRandom } from '../../../support/random.ts';
import { memoryRows, type StoredRows } from '../../../verify/simulation/stored-rows.ts';
import { START_MS } from '../workbench.ts';
import { findFaults } from './compare.ts';
import { type Expected, expectBundle } from './model.ts';
import { windowsOf } from './model-plans.ts';
import { usedOf } from './model-rooms.ts';
import { type Model, newModel } from './model-rows.ts';
import { World } from './world.ts';

/** A store that receives the same operations as the in-memory one. */
export interface StoreUnderTest {
  /** Applies all bundles in order and returns one list of answers per bundle. */
  submit(bundles: readonly Operation[][]): Promise<Answer[][]>;
  /** Loses everything in memory and continues from the disk. */
  crash(): Promise<void> | void;
  /** Applies the bundles while writes fail once: nothing changes. */
  submitInVain(bundles: readonly Operation[][]): Promise<PromiseSettledResult<Answer[]>[]>;
  rows(): Promise<StoredRows> | StoredRows;
  sums(): Promise<LedgerSums> | LedgerSums;
  close(): Promise<void> | void;
}

export type OpenStore = (clock: Clock, seed: number) => Promise<StoreUnderTest> | StoreUnderTest;

const STEPS = 250;

/** Runs the seed and counts in `answered` how often each kind of answer occurred. Throws at the first fault. */
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

/** Bundles that write are rejected. Bundles that write nothing may be answered. */
function expectInVain(asked: readonly PromiseSettledResult<Answer[]>[]): void {
  for (const answer of asked)
    if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'store_unavailable' });
}

function expectSame(where: string, one: unknown, other: unknown, claim: string): void {
  if (isDeepStrictEqual(one, other)) return;
  console.error(`${where}: not so: ${claim}`);
  expect(other).toEqual(one);
  throw new Error(`${where}: not so: ${claim}`); // The matcher takes undefined and absent fields for equal.
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
      const short = [`short: ${answer['meter']}`, `above: ${answer['above'] != null}`];
      const reserves = isOfReserve(operation) ? [`${operation.kind} of a reserve: ${name}`] : [];
      if (operation.kind === 'admit' && operation.isDone === true) reserves.push(`admit of done work: ${name}`);
      for (const one of [name, ...short, ...reserves]) answered.set(one, (answered.get(one) ?? 0) + 1);
      world.heard(operation, answer);
      if (Object.entries(facts).every(([fact, value]) => answer[fact] === value)) continue;
      throw new Error(
        `${where}: ${JSON.stringify(operation)} was answered ${JSON.stringify(answer)}, not ${JSON.stringify(facts)}`,
      );
    }
  }
}

function isOfReserve(operation: Operation): boolean {
  if (operation.kind === 'admit') return operation.reserve !== undefined;
  return 'requestId' in operation && operation.requestId.startsWith('rsv_');
}

/** Usage in the current period, as reads return it. */
async function findWrongUse(model: Model, stores: ReturnType<typeof memoryStores>): Promise<string[]> {
  const faults: string[] = [];
  for (const account of model.accounts.values()) {
    const meters = await stores.ledger.accountMeters(account.id, model.nowMs);
    if (meters?.allowanceUsed !== usedOf(model, account))
      faults.push(`used of ${account.id} is ${meters?.allowanceUsed}, should be ${usedOf(model, account)}`);
    const windows = windowsOf(model, account);
    const [stated, should] = [describeWindows(meters?.plan?.windows ?? []), describeWindows(windows)];
    if (stated !== should) faults.push(`the windows of ${account.id} are ${stated}, should be ${should}`);
  }
  for (const key of model.keys.values()) {
    const meters = await stores.ledger.keyMeters(key.id, model.nowMs);
    if (meters?.quotaUsed !== usedOf(model, key))
      faults.push(`used of ${key.id} is ${meters?.quotaUsed}, should be ${usedOf(model, key)}`);
  }
  return faults;
}

function describeWindows(windows: readonly { length: string; limit: number; used: number }[]): string {
  return windows.map(({ length, limit, used }) => `${length} ${used}/${limit}`).join(', ');
}

const CLAIM_REFUSALS = ['claim_running', 'claim_answered', 'claim_mismatch'];
const OTHERS = ['ended', 'not_owner', 'unknown_message', 'unknown_plan', 'below_available', 'bundle_refused'];
const OF_COMPANIES = ['wrong_parent', 'unknown_person', 'person_disabled', 'account_disabled'];
const REFUSALS = ['insufficient', 'requests_rate', 'input_tokens_rate', 'output_tokens_rate', 'concurrency'];

const OF_RESERVES = [
  ...['admitted', 'not: insufficient'].map((answer) => `reserve of a reserve: ${answer}`),
  'admit of a reserve: admitted',
  ...['insufficient', 'input_tokens_rate', 'concurrency', 'person_disabled', ...CLAIM_REFUSALS].map(
    (reason) => `admit of a reserve: not: ${reason}`,
  ),
  ...['admitted', 'not: insufficient', ...CLAIM_REFUSALS.map((reason) => `not: ${reason}`)].map(
    (answer) => `admit of done work: ${answer}`,
  ),
  ...['extended', 'not: ended'].map((answer) => `extend of a reserve: ${answer}`),
  'give-back of a reserve: done',
];

/** Checks that the simulation covered every kind of answer. */
export function expectEveryAnswer(answered: ReadonlyMap<string, number>): void {
  for (const kind of ['admitted', 'extended', 'ended', 'credited', 'refunded', 'lease', 'expired', 'done'])
    expect([kind, (answered.get(kind) ?? 0) > 0]).toEqual([kind, true]);
  for (const meter of [
    'short: wallet',
    'short: plan',
    'short: allowance',
    'short: budget',
    'short: quota',
    'above: true',
  ])
    expect([meter, (answered.get(meter) ?? 0) > 0]).toEqual([meter, true]);
  for (const reason of [...REFUSALS, ...CLAIM_REFUSALS, ...OTHERS, ...OF_COMPANIES])
    expect([reason, (answered.get(`not: ${reason}`) ?? 0) > 0]).toEqual([reason, true]);
  for (const answer of OF_RESERVES) expect([answer, answered.has(answer)]).toEqual([answer, true]);
}
