// One run from a seed: nodes, callers, operators and faults for so many steps, every commit held against the
// invariants; then the faults stop, and everything must come to its end.

import { bounds } from '../../../src/config/config.ts';
import type { MemoryTables } from '../../support/memory-store/memory-store.ts';
import { findFaultsAtEnd, hashRows } from './audit-end.ts';
import { Batches } from './batches.ts';
import { Chance } from './chance.ts';
import { Clients, type Load } from './clients.ts';
import type { Commit } from './database.ts';
import { drawFaults, FaultMaker, type FaultPlan } from './faults.ts';
import { Operators, type Rule } from './operators.ts';
import { beginCourse, makeWorld, type Numbers, type World } from './world.ts';

const CALM_MS_MAX = 30 * 60_000; // virtual, for messages that run to end
const SLACK_MS = 6_000; // virtual, for what is tried again after a pause
const CALM_STEPS_MAX = 2_000_000;

/** Parameters of a run, chosen by a seed or a test. */
export interface Plan {
  numbers: Numbers;
  load: Load;
  rule: Rule;
  faults: FaultPlan;
  /** The most messages of a batch; 0: there are no batches. */
  batchItemsMax: number;
  /** Messages that are submitted in the moment in which the first node serves. */
  atOnce: number;
}

/** All that another store needs to be asked the same as the one in memory was. */
export interface Recording {
  commits: Commit[];
  /** In the end. */
  tables: MemoryTables;
}

export interface RunResult {
  seed: number;
  steps: number;
  /** A hash of every event, and of all rows at the end. */
  hash: string;
  counts: ReadonlyMap<string, number>;
  /** Null: no invariant was broken. */
  fault: string | null;
}

export function drawPlan(seed: number): Plan {
  const chance = new Chance(seed ^ 0x5eed);
  const limits = (concurrency: number | null, isBounded: boolean) => ({
    requestsPerMinute: isBounded ? chance.between(5, 60) : null,
    inputTokensPerMinute: isBounded ? chance.between(500, 20_000) : null,
    outputTokensPerMinute: isBounded ? chance.between(500, 20_000) : null,
    concurrency,
  });
  const costMax = chance.pick([20, 100, 1_000]);
  const orNull = (value: number) => (chance.is(0.5) ? null : value);
  const nodes = chance.between(1, 4);
  return {
    numbers: {
      nodes,
      accounts: chance.between(1, 3),
      keysPerAccount: chance.between(1, 2),
      isCompany: seed % 3 !== 0,
      hasPeers: nodes > 1 || seed % 2 === 0,
    },
    load: {
      burstMax: chance.between(1, 8),
      pauseMsMax: chance.between(500, 12_000),
      claimed: chance.pick([0, 0.5, 1]),
      streamed: chance.pick([0.3, 0.8, 1]),
      costMax,
      chunkMsMax: chance.pick([100, 800, 3_000]),
      groups: new Map([
        ['default', limits(null, false)],
        ['vip', limits(orNull(chance.between(1, 6)), chance.is(0.3))],
      ]),
    },
    rule: {
      pauseMsMax: chance.between(1_000, 20_000),
      creditMax: costMax * chance.pick([3, 15, 100]),
      quotaMax: orNull(costMax * chance.between(5, 60)),
      allowanceMax: orNull(costMax * chance.between(5, 60)),
      creditLineMax: chance.pick([0, costMax * 5]),
      concurrencyMax: orNull(6),
    },
    faults: drawFaults(chance),
    batchItemsMax: chance.pick([0, 3, 12]),
    atOnce: 0,
  };
}

/** As `simulate`, and tells what was committed. */
export function record(seed: number, steps: number): { result: RunResult; recording: Recording } {
  const plan = drawPlan(seed);
  const world = makeWorld(plan.numbers, beginCourse(seed));
  const commits: Commit[] = [];
  world.database.onCommit = (commit) => commits.push(commit);
  const result = run(seed, steps, plan, world);
  return { result, recording: { commits, tables: world.database.tables } };
}

/** Runs it to its end, or to the first invariant that is broken. */
export function simulate(seed: number, steps: number, plan: Plan = drawPlan(seed)): RunResult {
  return run(seed, steps, plan, makeWorld(plan.numbers, beginCourse(seed)));
}

function run(seed: number, steps: number, plan: Plan, world: World): RunResult {
  const { scheduler, trace, nodes, database } = world;
  const clients = new Clients(world, plan.load);
  const batches = new Batches(world, clients, plan.batchItemsMax);
  const operators = new Operators(world, plan.rule);
  const faults = new FaultMaker(world, plan.faults);
  database.write([{ operations: operators.firstTerms() }]);
  for (const node of nodes) node.start();
  const step = () => {
    trace.step++;
    return scheduler.step() && trace.fault === null;
  };
  try {
    // Faults of the store begin with the nodes; the others, callers and operators when one of them serves.
    while (nodes.every(({ run }) => run === null) && step());
    for (let turn = 0; turn < plan.atOnce; turn++) clients.submit();
    clients.start();
    operators.start();
    batches.start();
    faults.start();
    while (trace.step < steps && step());
    clients.isStopped = true;
    operators.isStopped = true;
    batches.isStopped = true;
    faults.stop();
    trace.note('faults have stopped');
    comeToEnd(world, clients, step, plan.numbers.hasPeers);
    if (trace.fault === null) for (const fault of findFaultsAtEnd(world)) trace.fail(fault);
  } catch (failure) {
    trace.fail(`the simulation threw: ${(failure as Error).stack}`);
  }
  trace.note(hashRows(database.tables));
  return { seed, steps: trace.step, hash: trace.hash, counts: trace.counts, fault: trace.fault };
}

/** Lets messages end, and leases lapse: by the clock of the store, since it is by that that they do. */
export function comeToEnd(world: World, clients: Clients, step: () => boolean, hasPeers: boolean): void {
  const { scheduler, database, auditor, trace, nodes } = world;
  const stoppedAtMs = scheduler.nowMs;
  const lapsedAtMs = database.nowMs() + bounds.leaseMs;
  // With peers, a node that has just started, or lost its store, first allows each of them the time of a lease.
  const patienceMs = hasPeers ? bounds.leaseMs + bounds.leaseRenewMs : 0;
  const settledMs = patienceMs + bounds.leaseRenewMs + SLACK_MS;
  // An ending that is asked for twice may be under way once more.
  const isIdle = () => nodes.every(({ run }) => run === null || run.ledger.unfinished === 0);
  let endMs = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < CALM_STEPS_MAX && !(scheduler.nowMs >= endMs && isIdle()); turn++) {
    if (!step()) return;
    // Who is down ends what it left when it begins anew, where there is no other to do it before.
    const isUp = nodes.some(({ run }) => run !== null);
    const isLapsed = isUp && clients.running === 0 && database.nowMs() >= lapsedAtMs;
    if (isLapsed && endMs === Number.POSITIVE_INFINITY) endMs = scheduler.nowMs + settledMs;
    if (scheduler.nowMs > stoppedAtMs + CALM_MS_MAX) {
      trace.fail(`${clients.running} messages never end`);
      return;
    }
  }
  for (const { requestId, owner } of auditor.holds.values())
    trace.fail(`${requestId} of ${owner.node}, epoch ${owner.epoch}, outlived its lease`);
}
