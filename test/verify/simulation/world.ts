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
  callers: { account: number; key: number }[];
}

/** How many of each there are. */
export interface Numbers {
  nodes: number;
  accounts: number;
  keysPerAccount: number;
  /** Nodes reckon with others: they end what those left only when they have had time to renew their leases. */
  hasPeers: boolean;
}

export function makeWorld(seed: number, { nodes, accounts, keysPerAccount, hasPeers }: Numbers): World {
  const scheduler = new Scheduler();
  const chance = new Chance(seed);
  const trace = new Trace();
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
  const ids = range(accounts).map((index) => 1_000_000 + index);
  return {
    scheduler,
    chance,
    trace,
    database,
    network,
    auditor,
    nodes: range(nodes).map((index) => new SimulatedNode(`node-${index}`, network, database, startMs, hasPeers)),
    accounts: ids,
    callers: ids.flatMap((account) => range(keysPerAccount).map((index) => ({ account, key: account * 100 + index }))),
  };
}
