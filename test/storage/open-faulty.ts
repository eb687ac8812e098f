// A node with one lane to PostgreSQL through a proxy that injects faults, and invariants that hold after any fault.

import { expect } from 'bun:test';
import type { LaneOptions } from '../../src/storage/postgres/ledger-store.ts';
import { PostgresGate, postgresStores, sumLedger } from '../../src/storage/postgres/postgres.ts';
import { ask, openWorkbench, type Workbench } from '../money/ledger/workbench.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { runOn, type TestPostgres } from '../support/start-postgres.ts';

/** Silence is detected quickly. The server's limits are below the node's, as in production. */
export const SHORT: LaneOptions = {
  limits: { lockMsMax: 400, statementMsMax: 600, idleMsMax: 500, roundTripMsMax: 1_000 },
  outcomeMsMax: 3_000,
};
/** The node gives up first, so that an abandoned request can arrive late. */
export const IMPATIENT: LaneOptions = {
  limits: { lockMsMax: 3_000, statementMsMax: 5_000, idleMsMax: 5_000, roundTripMsMax: 400 },
  outcomeMsMax: 3_000,
};
/** No timeout ends while a server restarts. */
export const PATIENT: LaneOptions = {
  limits: { lockMsMax: 3_000, statementMsMax: 5_000, idleMsMax: 10_000, roundTripMsMax: 10_000 },
};
const LEFT_MS_MAX = 10_000;

export interface Faulty extends AsyncDisposable {
  /** Bypasses the proxy. Has an account, a key, and the lease of a node. */
  bench: Workbench;
  proxy: FaultProxy;
  /** Address of the database itself. */
  url: string;
  /** The node's address of the proxy. It is already connected. */
  gate: PostgresGate;
  /** Address for another node that bypasses the proxy; closed with the rest. */
  openGate(options: LaneOptions): PostgresGate;
  /** Rows in the database. */
  isHeld(requestId: string): Promise<boolean>;
  /** Cost in the message's record; null if it has none. */
  costOf(requestId: string): Promise<number | null>;
}

/** Disposal ends all faults and checks every invariant. */
export async function openFaulty(server: TestPostgres, balance: number, options = SHORT): Promise<Faulty> {
  const database = await server.newDatabase();
  const { url } = database;
  const proxy = await startFaultProxy(server.port);
  const gates: PostgresGate[] = [];
  const bench = await openWorkbench((clock) => {
    const gate = new PostgresGate(url, { clock });
    const stores = postgresStores(url, gate);
    gates.push(gate);
    const close = async () => {
      await Promise.all([...gates.map((one) => one.close()), stores.close()]);
      await proxy.close();
      await database[Symbol.asyncDispose]();
    };
    return { stores, sums: () => sumLedger(url), close };
  }, balance);
  const openGate = (to: string, how: LaneOptions) => {
    const gate = new PostgresGate(to, { clock: bench.clock, ...how });
    gates.push(gate);
    return gate;
  };
  const gate = openGate(proxy.through(url), options);
  await expectTakesWork(gate, bench);
  const read = async (text: string) => (await runOn(url, text))[0];
  return {
    bench,
    proxy,
    url,
    gate,
    openGate: (how) => openGate(url, how),
    isHeld: async (requestId) => (await read(`SELECT 1 FROM holds WHERE request_id = '${requestId}'`)) !== undefined,
    async costOf(requestId) {
      const row = await read(`SELECT cost::int AS cost FROM usage_records WHERE request_id = '${requestId}'`);
      return row === undefined ? null : Number(row['cost']);
    },
    async [Symbol.asyncDispose]() {
      proxy.heal();
      try {
        await expectTakesWork(gate, bench);
        await expectNothingLeftOpen(url);
      } finally {
        await bench[Symbol.asyncDispose]();
      }
    },
  };
}

/** Recovers by itself, at the latest at the second request. */
async function expectTakesWork(gate: PostgresGate, bench: Workbench): Promise<void> {
  const admission = bench.admission(0);
  const answer = await ask(gate, admission).catch(() => ask(gate, admission));
  expect(answer).toMatchObject({ ok: true, kind: 'admitted' });
  const record = bench.record(admission.requestId, { cost: 0 });
  expect(await ask(gate, { kind: 'settle', requestId: admission.requestId, record })).toMatchObject({ ok: true });
}

/** No backend is left in a transaction, and none waits. */
async function expectNothingLeftOpen(url: string): Promise<void> {
  const text = `SELECT pid, state, query FROM pg_stat_activity WHERE datname = current_database()
    AND pid <> pg_backend_pid() AND state <> 'idle'`;
  let left = await runOn(url, text);
  for (const untilMs = Date.now() + LEFT_MS_MAX; left.length > 0 && Date.now() < untilMs; left = await runOn(url, text))
    await Bun.sleep(50);
  expect(left).toEqual([]);
}
