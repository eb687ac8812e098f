// The stores that a run in memory is asked of once more: SQLite, and PostgreSQL with its faults.

import { applyBatch, type LedgerStore } from '../../../src/ledger/ledger.ts';
import { ConnectionWriter, SqliteLedgerStore } from '../../../src/storage/sqlite/sqlite.ts';
import { type OpenedSqlite, openSqlite } from '../../storage/open-sqlite.ts';
import { Chance } from './chance.ts';
import { contend } from './contention/contend.ts';
import { type Decided, drawFate, PostgresNodes } from './postgres-nodes.ts';
import type { Follower } from './replay.ts';
import { sqliteRows } from './stored-rows.ts';

const POSTGRES_NODES = 6;
const BUNDLES_AT_ONCE = 400;

export interface OpenedFollower extends AsyncDisposable {
  /** This seed draws the faults. */
  follow(seed: number): Follower;
  /** Asks very much at once. Null, or what went wrong. Absent where there is one process. */
  contend?(seed: number): Promise<string | null>;
}

export const followers = { sqlite: async () => followSqlite(), postgres: followPostgres };

export type FollowerName = keyof typeof followers;

/** One process at a time, on a file of its own each time. */
function followSqlite(): OpenedFollower {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs };
  let opened: OpenedSqlite | null = null;
  let store: SqliteLedgerStore | null = null;
  const follower: Follower = {
    nodes: 1,
    clear() {
      opened?.close();
      opened = openSqlite(clock);
      opened.database.run('PRAGMA synchronous = OFF');
      store = opened.store;
    },
    crash() {
      store = new SqliteLedgerStore(
        (opened as OpenedSqlite).database,
        clock,
        new ConnectionWriter((opened as OpenedSqlite).database),
      );
    },
    ask(_, bundles, atMs) {
      nowMs = atMs;
      let decided: Decided | undefined;
      (store as LedgerStore).transact(bundles, (rows) => {
        decided = applyBatch(rows, bundles);
        return decided.changes;
      });
      return decided as unknown as Decided;
    },
    rows: () => sqliteRows((opened as OpenedSqlite).database),
    sums: () => (opened as OpenedSqlite).sums(),
  };
  return { follow: () => follower, [Symbol.asyncDispose]: async () => opened?.close() };
}

async function followPostgres(): Promise<OpenedFollower> {
  const nodes = await PostgresNodes.open(POSTGRES_NODES);
  return {
    follow(seed) {
      const chance = new Chance(seed);
      return {
        nodes: POSTGRES_NODES,
        clear: () => nodes.clear(),
        crash: (node) => nodes.crash(node),
        ask(node, bundles, nowMs) {
          nodes.nowMs = nowMs;
          return nodes.ask(
            node,
            bundles,
            drawFate((n) => chance.below(n)),
          );
        },
        rows: () => nodes.rows(),
        sums: () => nodes.sums(),
      };
    },
    contend: (seed) => contend(seed, BUNDLES_AT_ONCE, nodes),
    [Symbol.asyncDispose]: () => nodes[Symbol.asyncDispose](),
  };
}
