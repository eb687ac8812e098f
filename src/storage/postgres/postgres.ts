// The door of the PostgreSQL store: one database for any number of nodes.

import { bounds } from '../../config.ts';
import type { LedgerGate } from '../../ledger/ledger.ts';
import {
  accountWrites,
  catalogWrites,
  installationWrites,
  learnedWrites,
  personWrites,
  tokenWrites,
} from '../account-writes.ts';
import { answerRow } from '../alongside.ts';
import { guardReads } from '../guard-reads.ts';
import { retentionStore } from '../retention.ts';
import type { SignInDatabase } from '../sign-in-database.ts';
import type { Stores } from '../stores.ts';
import { ReadPool } from './read-pool.ts';
import { readStore } from './read-store.ts';
import { inTurns, reportReads } from './report-reads.ts';
import { retentionReads } from './retention-reads.ts';

export { type Change, ChangeFeed, type ChangesSince } from './change-feed.ts';
export type { ConnectionLimits } from './connection.ts';
export {
  type ActivityState,
  examineActivity,
  examineTables,
  type NodesState,
  type TablesState,
} from './examine-database.ts';
export { examineServer, examineSessions, type ServerState, type SessionState } from './examine-session.ts';
export { type DatabaseFailure, describeDatabaseFailure, nameDatabase } from './failure-words.ts';
export { type Filled, fillDatabase } from './fill-database.ts';
export { type GateOptions, PostgresGate } from './ledger-gate.ts';
export { type LaneOptions, PostgresLedgerStore } from './ledger-store.ts';
export { MoveCut, type MoveSession, openMoveSession } from './move-session.ts';
export { commitMove, findMove, refuseRows } from './move-target.ts';
export { connectionsPerNode } from './node-connections.ts';
export { monthsAhead, prepareDatabase } from './open-database.ts';
export { type LockName, type SessionLock, takeLock, tryLock } from './session-lock.ts';
export { readTablesVersion, type TablesVersion } from './stored-version.ts';
export { sumLedger } from './sum-ledger.ts';
export { listDependents, readProof, surveyStore } from './survey-store.ts';
export { type Tended, tendDatabase } from './tend-database.ts';

/** The tables of who signs in. Only the thread of sign-in loads what it needs. */
export async function openSignIn(url: string): Promise<SignInDatabase> {
  return (await import('./open-sign-in.ts')).openSignIn(url);
}

/**
 * The stores over a database at `url`, whose tables are made. Writes go through `gate`, which is this node's lanes, or what
 * stands before them and must hear of every change. Reads have connections of their own, reports fewer others; each is made
 * when it is needed, and again when it was lost.
 */
export function postgresStores(url: string, gate: LedgerGate): Stores & { close(): Promise<void> } {
  const pool = new ReadPool(url, { connections: bounds.readConnections, statementMsMax: bounds.readStatementMsMax });
  const reportPool = new ReadPool(url, {
    connections: bounds.reportConnections,
    statementMsMax: bounds.reportStatementMsMax,
  });
  const reads = guardReads(readStore(pool));
  const reports = guardReads(inTurns(reportReads(reportPool), bounds.reportConnections));
  const { listAudit, listEntries, listHolds, listUsage, readMonth, readTimeline, searchUsage, topUsage, totalUsage } =
    reports;
  return {
    gate,
    accounts: { ...reads, ...accountWrites(gate) },
    tokens: { ...reads, ...tokenWrites(gate) },
    people: { ...reads, ...personWrites(gate) },
    audit: { ...reads, listAudit },
    catalog: { loadCatalog: reads.loadCatalog, ...catalogWrites(gate) },
    ledger: { ...reads, listEntries, listHolds, readMonth },
    usage: { ...reads, listUsage, searchUsage, topUsage, totalUsage, readTimeline },
    answers: { findAnswer: reads.findAnswer, answerRow },
    installation: { readInstallation: reads.readInstallation, ...installationWrites(gate) },
    learned: { loadLearned: reads.loadLearned, ...learnedWrites(gate) },
    retention: retentionStore(gate, guardReads({ ...retentionReads(pool), readInstallation: reads.readInstallation })),
    async close() {
      await Promise.all([pool.close(), reportPool.close()]);
    },
  };
}
