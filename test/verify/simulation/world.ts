// All that takes part in one run, put together from a seed.

import { DAY_MS } from '../../../src/base/clock.ts';
import { GroupCommit } from '../../../src/ledger/ledger.ts';
import { Auditor } from './auditor.ts';
import { Chance } from './chance.ts';
import { Database } from './database.ts';
import type { Network } from './network.ts';
import { SimulatedNode } from './node.ts';
import { Process, Scheduler } from './scheduler.ts';
import { Trace } from './trace.ts';

export interface World {
  scheduler: Scheduler;
  chance: Chance;
  trace: Trace;
  database: Database;
  network: Network;
  auditor: Auditor;
  nodes: SimulatedNode[];
  accounts: number[];
  /** `person`: whose key it is. */
  callers: { account: number; key: number; person: number | null }[];
  people: { person: number; account: number }[];
}

/** How many of each there are. */
export interface Numbers {
  nodes: number;
  accounts: number;
  keysPerAccount: number;
  /** Accounts are below others, and some keys are of people. */
  isCompany: boolean;
  /** Nodes reckon with others: they end what those left only when they have had time to renew their leases. */
  hasPeers: boolean;
}

/** Time, chance and trace of a run, which its worlds share if there are several. */
export interface Course {
  scheduler: Scheduler;
  chance: Chance;
  trace: Trace;
}

export function beginCourse(seed: number): Course {
  return { scheduler: new Scheduler(), chance: new Chance(seed), trace: new Trace() };
}

/** `index`: of the world in its course, from 0. */
export function makeWorld(
  { nodes, accounts, keysPerAccount, isCompany, hasPeers }: Numbers,
  course: Course,
  index = 0,
): World {
  const { scheduler, chance, trace } = course;
  // Some runs see midnight, some the end of a week and a month.
  const startMs = Date.UTC(2026, 10, 30) - chance.below(3 * DAY_MS);
  const database = new Database(scheduler, chance, trace, startMs);
  const auditor = new Auditor(database.tables, trace);
  database.auditor = auditor;
  const process = new Process();
  const late = new GroupCommit(database.connect({ process, crash: () => {} }), () => {}, scheduler.timersOf(process));
  const network: Network = {
    scheduler,
    chance,
    trace,
    faults: null,
    delayMsMax: chance.between(0, 8),
    late: { gate: late, process },
    mayAdmitAgain: ({ operations }) =>
      operations.every((operation) => operation.kind !== 'admit' || auditor.isDecided(operation)),
  };
  const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
  const ids = range(accounts).map((account) => 1_000_000 + 10_000 * index + account);
  const people = isCompany ? ids.map((account) => ({ person: account * 1_000, account })) : [];
  return {
    scheduler,
    chance,
    trace,
    database,
    network,
    auditor,
    nodes: range(nodes).map(
      (node) => new SimulatedNode(`node-${10 * index + node}`, network, database, startMs, hasPeers),
    ),
    accounts: ids,
    people,
    callers: ids.flatMap((account) =>
      range(keysPerAccount).map((key) => {
        const person = isCompany && (key + account) % 2 === 0 ? account * 1_000 : null;
        return { account, key: account * 100 + key, person };
      }),
    ),
  };
}
