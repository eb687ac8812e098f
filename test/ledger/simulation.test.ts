// The main proof of the ledger: random operations from a seed, on memory and on SQLite, each answer held
// against a model and each invariant checked after every step. SIMULATION_SEEDS sets how many seeds are
// run, SIMULATION_SEED the first of them.

import type { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { isDeepStrictEqual } from 'node:util';
import { manualClock } from '../../src/base/clock.ts';
import { type Answer, checkLedger, GroupCommit, type LedgerGate, type Operation } from '../../src/ledger/ledger.ts';
import { memoryStores } from '../../src/storage/memory/memory.ts';
import { SqliteLedgerStore } from '../../src/storage/sqlite/sqlite.ts';
import { openSqlite } from '../storage/open-sqlite.ts';
import { makeRandom } from '../support/random.ts';
import { findFaults, memoryRows, sqliteRows } from './simulation/compare.ts';
import { type Expected, expectBundle, usedOf } from './simulation/model.ts';
import { type Model, newModel } from './simulation/model-rows.ts';
import { World } from './simulation/world.ts';
import { START_MS } from './workbench.ts';

const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 12);
const FIRST_SEED = Number(process.env['SIMULATION_SEED'] ?? 1);
const STEPS = 250;
const CLAIM_REFUSALS = ['claim_running', 'claim_answered', 'claim_mismatch'];
const REFUSALS = ['insufficient', 'requests_rate', 'input_tokens_rate', 'output_tokens_rate', 'concurrency'];

/** How often each kind of answer was given, so that a simulation that tests nothing is seen. */
const answered = new Map<string, number>();

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
  test(`no sequence of operations breaks an invariant (seed ${seed})`, () => simulate(seed), 60_000);
}

afterAll(() => {
  if (SEEDS < 10) return;
  for (const kind of ['admitted', 'extended', 'ended', 'credited', 'refunded', 'lease', 'expired', 'done'])
    expect([kind, (answered.get(kind) ?? 0) > 0]).toEqual([kind, true]);
  for (const reason of [...REFUSALS, ...CLAIM_REFUSALS, 'ended', 'not_owner', 'unknown_message', 'bundle_refused'])
    expect([reason, (answered.get(`not: ${reason}`) ?? 0) > 0]).toEqual([reason, true]);
});

async function simulate(seed: number): Promise<void> {
  const random = makeRandom(seed);
  const draw = (n: number) => Math.floor(random() * n);
  const clock = manualClock(START_MS);
  const world = new World(draw);
  const model = newModel(clock.nowMs());
  const memory = memoryStores(clock);
  const sqlite = openSqlite(clock);
  sqlite.database.run('PRAGMA synchronous = OFF');
  let gate = sqlite.stores.gate;
  try {
    for (let step = 0; step < STEPS; step++) {
      clock.advance(world.pauseMs());
      model.nowMs = clock.nowMs();
      // A crash: what was in memory is gone, and what is on the disk goes on.
      if (draw(40) === 0) gate = new GroupCommit(new SqliteLedgerStore(sqlite.database, clock));
      const bundles = step === 0 ? [world.begin()] : Array.from({ length: 1 + draw(4) }, () => world.bundle());
      if (step > 0 && draw(20) === 0) await failToCommit(sqlite.database, gate, bundles);
      const expected = bundles.map((operations) => expectBundle(model, operations));
      const [inMemory, onDisk] = await Promise.all(
        [memory.gate, gate].map((one) => Promise.all(bundles.map((operations) => one.submit({ operations })))),
      );
      const where = `seed ${seed}, step ${step}`;
      expectSame(where, inMemory, onDisk, 'SQLite answers as memory does');
      compareAnswers(where, bundles, expected, inMemory as Answer[][], world);
      const faults = [...findFaults(model, memory.tables), ...(await findWrongUse(model, memory))];
      if (faults.length > 0) throw new Error(`${where}: ${faults.join('; ')}\n${JSON.stringify(bundles)}`);
    }
    expectSame(
      `seed ${seed}`,
      sqliteRows(sqlite.database),
      memoryRows(memory.tables),
      'SQLite stores what memory does',
    );
    expect(checkLedger(sqlite.sums())).toMatchObject({ ok: true, faults: [] });
  } finally {
    sqlite.close();
  }
}

/** A disk that takes nothing for once: whoever wrote is told so, and what is asked again finds nothing changed. */
async function failToCommit(database: Database, gate: LedgerGate, bundles: Operation[][]): Promise<void> {
  database.run('PRAGMA query_only = ON');
  const asked = await Promise.allSettled(bundles.map((operations) => gate.submit({ operations })));
  database.run('PRAGMA query_only = OFF');
  for (const answer of asked)
    if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'store_unavailable' });
}

function expectSame(where: string, one: unknown, other: unknown, claim: string): void {
  if (isDeepStrictEqual(one, other)) return;
  console.error(`${where}: not so: ${claim}`);
  expect(other).toEqual(one);
}

function compareAnswers(
  where: string,
  bundles: Operation[][],
  expected: Expected[][],
  answers: Answer[][],
  world: World,
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
