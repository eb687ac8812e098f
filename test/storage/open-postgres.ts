// PostgreSQL stores for tests: a database each on the shared server of this process, with a clock that the test sets.

import type { Clock } from '../../src/base/clock.ts';
import { GroupCommit, type LedgerGate } from '../../src/ledger/ledger.ts';
import { PostgresLedgerStore } from '../../src/storage/postgres/ledger-store.ts';
import { PostgresGate, postgresStores, sumLedger } from '../../src/storage/postgres/postgres.ts';
import type { OpenedStores } from '../money/ledger/workbench.ts';
import { sharedPostgres } from '../support/start-postgres.ts';

export interface OpenedPostgres extends OpenedStores {
  url: string;
}

/** Has one lane, which applies everything in the order of arrival. */
export function openPostgres(clock: Clock): Promise<OpenedPostgres> {
  return open((url) => {
    const store = new PostgresLedgerStore(url, { clock });
    return Object.assign(new GroupCommit(store), { close: () => store.close() });
  });
}

/** Has the lanes of a node. */
export function openPostgresLanes(clock: Clock, gateOver?: (gate: LedgerGate) => LedgerGate): Promise<OpenedPostgres> {
  return open((url) => new PostgresGate(url, { clock }), gateOver);
}

async function open(
  openGate: (url: string) => LedgerGate & { close(): Promise<void> },
  gateOver = (gate: LedgerGate) => gate,
): Promise<OpenedPostgres> {
  const server = await sharedPostgres();
  const database = await server.newDatabase();
  const gate = openGate(database.url);
  const stores = postgresStores(database.url, gateOver(gate));
  const close = async () => {
    await gate.close();
    await stores.close();
    await database[Symbol.asyncDispose]();
  };
  return { stores, sums: () => sumLedger(database.url), close, url: database.url };
}
