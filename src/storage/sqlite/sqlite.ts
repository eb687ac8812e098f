// The door of the SQLite store: one file in the data directory, one writer thread, and concurrent readers.

import type { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { bounds } from '../../config/config.ts';
import { type LedgerGate, ResidentLedger } from '../../ledger/ledger.ts';
import type { CoCommittedRow } from '../co-committed.ts';
import { type OutboxReads, outboxReads } from '../event-reads.ts';
import { reportReads as allReports } from '../report-reads.ts';
import { DAYS_TO_ROLL_UP } from '../rolled-totals.ts';
import { shortReads } from '../short-reads.ts';
import type { SqlReader } from '../sql-reader.ts';
import type { MaintenanceResult } from '../stores.ts';
import { assembleStores, guardReads, type ReportReads, readsAfterFlush, type Stores } from '../stores.ts';
import { retentionReads } from './co-committed.ts';
import { SqliteLedgerStore } from './ledger-store.ts';
import type { LedgerWriter } from './ledger-writer.ts';
import { monthReads } from './month-reads.ts';
import { openForReading } from './open-database.ts';
import { sqliteReader } from './reader.ts';

export { describeMark, type MoveMark } from '../move.ts';
export type { ReportReads } from '../stores.ts';
export { type CommitLoss, CommitMark, describeLoss } from './commit-mark.ts';
export { SqliteLedgerStore } from './ledger-store.ts';
export { type FromThread, LedgerThread, type ToThread } from './ledger-thread.ts';
export { ConnectionWriter, type RowCommit } from './ledger-writer.ts';
export { openTables, readMoveMark, removeMoveMark, writeMoveMark } from './move.ts';
export {
  type Copied,
  closeForWriting,
  copyDatabase,
  DirectoryLocked,
  type FromBackup,
  findCommitLoss,
  findDamage,
  findFileFaults,
  hashFile,
  isDirectoryLocked,
  lockDirectory,
  openForReading,
  openForWriting,
  readStoredVersion,
  refuseUnfinishedRestore,
  type StoredVersion,
  stagingPath,
  type ToBackup,
} from './open-database.ts';
export { openSignIn, signInPath } from './open-sign-in.ts';
export { answerReport, heading, ReportThread, type ToReports } from './report-thread.ts';
export { findUnreadableRows, readHoldsOfNodes, readProof, sumLedger, surveyStore } from './survey-store.ts';

export function databasePath(dataDirectory: string): string {
  return join(dataDirectory, 'turnpike.db');
}

/** Lists and reports over one connection. Bounded by the rows they read, not by time: SQLite cannot be interrupted here. */
export function reportReads(database: Database): ReportReads {
  return allReports(sqliteReader(database), monthReads(database));
}

/** The ledger of one process over the database at `path`: decided in this thread, written by `writer`. `onBroken` must end the process. */
export function sqliteLedger(
  path: string,
  clock: Clock,
  writer: LedgerWriter,
  onBroken: (cause: unknown) => void,
): { gate: ResidentLedger; close(): Promise<void> } {
  const database = openForReading(path);
  const gate = new ResidentLedger(new SqliteLedgerStore(database, clock, writer), onBroken);
  return {
    gate,
    async close() {
      await gate.submit({ operations: [] }); // answered after everything before it
      database.close();
    },
  };
}

/**
 * The stores over a database that a ledger's thread has open. Writes go through `gate`, the thread or a wrapper that
 * sees every change. `reports` serves lists and reports; by default the same connection does.
 */
export function sqliteStores(
  path: string,
  gate: LedgerGate,
  reports?: ReportReads,
  onUnreadable?: SqlReader['onUnreadable'],
): Stores & {
  outbox: OutboxReads;
  /** Rolls up the days that have ended, each in a transaction of the ledger. Ends early if aborted. */
  maintain(nowMs: number, signal: AbortSignal): Promise<MaintenanceResult>;
  close(): void;
} {
  const database = openForReading(path);
  const reader = sqliteReader(database, onUnreadable);
  const reads = guardReads(shortReads(reader));
  const { openHolds, accountMeters, keyMeters, callerMeters, personMeters, openMessage } = reads;
  const meters = readsAfterFlush(gate, {
    openHolds,
    accountMeters,
    keyMeters,
    callerMeters,
    personMeters,
    openMessage,
  });
  const lists = reports ?? guardReads(reportReads(database));
  const holds = readsAfterFlush(gate, { listHolds: lists.listHolds });
  const retention = guardReads(retentionReads(database));
  return {
    ...assembleStores(gate, { ...reads, ...meters }, { ...lists, ...holds }, retention),
    outbox: guardReads(outboxReads(reader)),
    async maintain(nowMs, signal) {
      let daysRolledUp = 0;
      for (const { day_ms: dayMs } of await reader.read<{ day_ms: number }>(
        DAYS_TO_ROLL_UP,
        nowMs - bounds.rolledUpAfterMs,
      )) {
        if (signal.aborted) break;
        await gate.submit({
          operations: [],
          coCommitted: [{ table: 'rolled_days', roll: { dayMs } } satisfies CoCommittedRow],
        });
        daysRolledUp++;
        await Bun.sleep(bounds.dropRestMs);
      }
      return { monthsMade: [], monthsDropped: [], monthsLeft: [], leasesDropped: 0, daysRolledUp };
    },
    close: () => database.close(),
  };
}
