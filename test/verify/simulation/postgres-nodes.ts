// Nodes over one PostgreSQL database, each with one lane through a proxy of its own: batch by batch in an order that is given, at
// times that are given, with faults between a node and the database at the worst moments. They remember nothing between batches.

import { SQL } from 'bun';
import {
  type Answer,
  applyBatch,
  type Bundle,
  type Changes,
  InDoubt,
  type LedgerStore,
  type LedgerSums,
} from '../../../src/ledger/ledger.ts';
import type { ConnectionLimits } from '../../../src/storage/postgres/connection.ts';
import { PostgresLedgerStore } from '../../../src/storage/postgres/ledger-store.ts';
import { sumLedger } from '../../../src/storage/postgres/postgres.ts';
import { type Fault, type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts';
import { sharedPostgres, type TestDatabase } from '../../support/start-postgres.ts';
import { POSTGRES_ROWS, readPostgresRows, type StoredRows } from './stored-rows.ts';

/**
 * A fault of one batch. After its decision: `cut-before`, `cut-after`, `cut-twice` (also when it is retried, so that it
 * is abandoned), `lose-answer`, `late` (its writes and their commit arrive long after the node has abandoned them).
 * Before it begins: `ended` (the server ends the connection), `refused` (no connection is available). `doubt-made` and
 * `doubt-lost` are `cut-after` and `cut-before` without a connection afterwards, until the node gives up without knowing
 * the outcome.
 */
export type Fate =
  | 'none'
  | 'cut-before'
  | 'cut-after'
  | 'cut-twice'
  | 'lose-answer'
  | 'late'
  | 'ended'
  | 'refused'
  | 'doubt-made'
  | 'doubt-lost';

const QUICK: readonly Fate[] = ['cut-before', 'cut-after', 'cut-twice', 'ended'];
/** They last until a time limit has passed. */
const SLOW: readonly Fate[] = ['lose-answer', 'late', 'refused'];

/** Only where the nodes give up soon (`outcomeMsMax`). */
export const DOUBTS: readonly Fate[] = ['doubt-made', 'doubt-lost'];

/** Mostly none; slow ones seldom. */
export function drawFate(draw: (n: number) => number): Fate {
  const turn = draw(400);
  if (turn < 12) return QUICK[draw(QUICK.length)] as Fate;
  return turn < 14 ? (SLOW[draw(SLOW.length)] as Fate) : 'none';
}

export interface Decided {
  answers: Answer[][];
  changes: Changes;
}

/** Short, since what is lost in silence is waited for; but the server ends no transaction by itself that a node has to end. */
const LIMITS: ConnectionLimits = { lockMsMax: 3_000, statementMsMax: 3_000, idleMsMax: 30_000, roundTripMsMax: 250 };
const RESOLVED_MS_MAX = 2 * LIMITS.idleMsMax;
const RESOLVE_REST_MS = 20;
const TRIES_MAX = 20; // on a machine that is so busy that round trips take longer than that

interface Node {
  proxy: FaultProxy;
  store: PostgresLedgerStore;
}

export class PostgresNodes implements AsyncDisposable {
  /** The time of the next batch; null: the database's. */
  nowMs: number | null = 0;
  /** How often each fate was met, and what came of it. */
  readonly met = new Map<string, number>();
  readonly url: string;
  readonly #database: TestDatabase;
  readonly #admin: SQL;
  readonly #nodes: Node[] = [];
  readonly #outcome: { outcomeMsMax?: number };

  private constructor(database: TestDatabase, outcomeMsMax: number | null) {
    this.#outcome = outcomeMsMax === null ? {} : { outcomeMsMax };
    this.url = database.url;
    this.#database = database;
    this.#admin = new SQL({ url: database.url, max: 1 });
  }

  get count(): number {
    return this.#nodes.length;
  }

  /** `outcomeMsMax`: how long they try to learn what became of a commit. */
  static async open(count: number, outcomeMsMax: number | null = null): Promise<PostgresNodes> {
    const server = await sharedPostgres();
    const nodes = new PostgresNodes(await server.newDatabase(), outcomeMsMax);
    for (let index = 0; index < count; index++) {
      const proxy = await startFaultProxy(server.port);
      nodes.#nodes.push({ proxy, store: nodes.#openStore(proxy) });
    }
    return nodes;
  }

  /** The outcome of the batch, after any number of tries: if it failed, nothing of it was committed. */
  async ask(node: number, bundles: readonly Bundle[], fate: Fate): Promise<Decided> {
    for (let tries = 1; ; tries++) {
      let decided: Decided | undefined;
      try {
        await this.storeOf(node, tries === 1 ? fate : 'none').transact(bundles, (rows) => {
          decided = applyBatch(rows, bundles);
          return decided.changes;
        });
        return decided as unknown as Decided;
      } catch (failure) {
        if (failure instanceof InDoubt && (await this.wasMade(failure))) return decided as unknown as Decided;
        if (failure instanceof InDoubt && tries < TRIES_MAX) continue;
        if ((failure as Error).name !== 'ConnectionLost' || tries >= TRIES_MAX) throw failure;
      }
    }
  }

  /** Asks the server itself, over a connection on which nothing fails, until its transaction is over. */
  async wasMade({ transaction }: InDoubt): Promise<boolean> {
    for (const untilMs = Date.now() + RESOLVED_MS_MAX; Date.now() < untilMs; await Bun.sleep(RESOLVE_REST_MS)) {
      const [row] = await this.#admin`SELECT pg_xact_status(${transaction}::text::xid8) AS outcome`;
      if (row.outcome !== 'in progress') return row.outcome === 'committed';
    }
    throw new Error(`transaction ${transaction} did not end`);
  }

  /** The node dies with all that it remembers, and another takes its place. */
  async crash(index: number): Promise<void> {
    const node = this.#node(index);
    node.proxy.cut('reset');
    await node.store.close();
    node.store = this.#openStore(node.proxy);
  }

  /** Takes all rows out, by what no node may do. */
  async clear(): Promise<void> {
    const tables =
      'account_meters key_meters person_meters holds leases claims entries usage_records daily_totals unit_totals month_changes'.split(
        ' ',
      );
    const texts = tables.map((table) => `DELETE FROM ${table}`).join('; ');
    await this.#admin.unsafe(`SET session_replication_role = replica; ${texts}`).simple();
  }

  async rows(): Promise<StoredRows> {
    const [row] = await this.#admin.unsafe(POSTGRES_ROWS).simple();
    return readPostgresRows((row as { rows: string }).rows);
  }

  sums(): Promise<LedgerSums> {
    return sumLedger(this.url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { proxy, store } of this.#nodes) {
      await store.close();
      await proxy.close();
    }
    await this.#admin.close({ timeout: 0 });
    await this.#database[Symbol.asyncDispose]();
  }

  /** The node's store, to which this happens at the next batch. */
  storeOf(index: number, fate: Fate): LedgerStore {
    const { proxy, store } = this.#node(index);
    return {
      transact: async (bundles, decide) => {
        await this.#prepare(proxy, fate);
        let decisions = 0;
        let isEmpty = false;
        try {
          await store.transact(bundles, (rows) => {
            const changes = decide(rows);
            decisions++;
            isEmpty = changes.isEmpty;
            if (!isEmpty) arm(proxy, fate, decisions);
            return changes;
          });
          this.#count(fate, decisions > 1 ? 'begun again' : isEmpty ? 'nothing to make' : 'made');
        } catch (failure) {
          this.#count(fate, failure instanceof InDoubt ? 'in doubt' : 'failed');
          throw failure;
        } finally {
          proxy.heal(); // what was held back arrives now
        }
      },
    };
  }

  async #prepare(proxy: FaultProxy, fate: Fate): Promise<void> {
    if (fate === 'ended')
      await this.#admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'turnpike ledger'`;
    if (fate !== 'refused') return;
    proxy.welcome('refuse');
    proxy.cut();
  }

  #count(fate: Fate, how: string): void {
    const name = `${fate}: ${how}`;
    this.met.set(name, (this.met.get(name) ?? 0) + 1);
  }

  #node(index: number): Node {
    return this.#nodes[index % this.#nodes.length] as Node;
  }

  #openStore(proxy: FaultProxy): PostgresLedgerStore {
    // Where it is asked for no time, it takes the database's.
    const clock = { nowMs: () => this.nowMs as number };
    return new PostgresLedgerStore(proxy.through(this.url), { clock, limits: LIMITS, ...this.#outcome });
  }
}

/** The next that goes to the server is what was decided, with its commit. */
function arm(proxy: FaultProxy, fate: Fate, decisions: number): void {
  const at = (fault: Fault) => proxy.at('toServer', () => true, fault);
  if (fate === 'cut-twice' && decisions <= 2) void at('cut-before');
  if (decisions > 1) return;
  if (fate === 'cut-before' || fate === 'cut-after' || fate === 'lose-answer') void at(fate);
  if (fate === 'late') void at('hold');
  if (DOUBTS.includes(fate))
    void at(fate === 'doubt-made' ? 'cut-after' : 'cut-before').then(() => proxy.welcome('refuse'));
}
