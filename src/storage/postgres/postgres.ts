// The door of the PostgreSQL store: one database for any number of nodes.

import { bounds } from '../../config/config.ts';
import type { LedgerGate } from '../../ledger/ledger.ts';
import { type OutboxReads, outboxReads } from '../event-reads.ts';
import { queueReports, reportReads } from '../report-reads.ts';
import { shortReads } from '../short-reads.ts';
import type { SignInDatabase } from '../sign-in-database.ts';
import type { SqlReader } from '../sql-reader.ts';
import { assembleStores, guardReads, type Stores } from '../stores.ts';
import { retentionReads } from './co-committed.ts';
import { monthReads } from './month-reads.ts';
import { ReadPool } from './read-pool.ts';
import { postgresReader } from './reader.ts';

export { awaitDatabase } from './await-database.ts';
export { type Change, ChangeFeed } from './change-feed.ts';
export {
  examineServer,
  examineTables,
  refuseLending,
  refusePooler,
  type ServerState,
  type TablesState,
} from './examine-database.ts';
export { type DatabaseFailure, describeDatabaseFailure, nameDatabase } from './failure-words.ts';
export {
  commitMove,
  type Filled,
  fillDatabase,
  findMove,
  MoveCut,
  type MoveSession,
  openMoveSession,
  refuseRows,
} from './fill-database.ts';
export { PostgresGate } from './ledger-gate.ts';
export {
  grantRole,
  listHoldsOf,
  maintainDatabase,
  migrateDatabase,
  prepareDatabase,
  readTablesVersion,
} from './open-database.ts';
export { takeLock, tryLock } from './read-pool.ts';
export { describeMissing, listed, type RoleState } from './roles.ts';
export { findUnreadableRows, readHoldsOfNodes, readProof, sumLedger, surveyStore } from './survey-store.ts';

/** The sign-in tables. Only the sign-in thread loads what they need. */
export async function openSignIn(url: string): Promise<SignInDatabase> {
  return (await import('./open-sign-in.ts')).openSignIn(url);
}

/**
 * The stores over a database at `url`, whose tables are made. Writes go through `gate`, which is this node's lanes, or what
 * stands before them and must hear of every change. Reads have connections of their own, reports fewer others; each is made
 * when it is needed, and again when it was lost.
 */
export function postgresStores(
  url: string,
  gate: LedgerGate,
  onUnreadable?: SqlReader['onUnreadable'],
): Stores & { outbox: OutboxReads; close(): Promise<void> } {
  const pool = new ReadPool(url, { connections: bounds.readConnections, statementMsMax: bounds.readStatementMsMax });
  const reportPool = new ReadPool(url, {
    connections: bounds.reportConnections,
    statementMsMax: bounds.reportStatementMsMax,
  });
  const reads = guardReads(shortReads(postgresReader(pool, onUnreadable)));
  const reports = guardReads(
    queueReports(
      reportReads(postgresReader(reportPool, onUnreadable), monthReads(reportPool)),
      bounds.reportConnections,
    ),
  );
  return {
    ...assembleStores(gate, reads, reports, guardReads(retentionReads(pool))),
    outbox: guardReads(outboxReads(postgresReader(pool, onUnreadable))),
    async close() {
      await Promise.all([pool.close(), reportPool.close()]);
    },
  };
}
