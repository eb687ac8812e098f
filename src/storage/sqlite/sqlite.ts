// The door of the SQLite store: one file in the data directory, one writer in a thread of its own,
// reads beside it.

import { join } from 'node:path';
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
import type { Stores } from '../stores.ts';
import { openForReading } from './open-database.ts';
import { readStore } from './read-store.ts';
import { type ReportReads, reportReads } from './report-reads.ts';
import { retentionReads } from './retention-reads.ts';

export { type MoveMark, markInWords } from '../moved-mark.ts';
export {
  copyDatabase,
  type FromBackup,
  findFileFaults,
  readStoredVersion,
  type StoredVersion,
  type ToBackup,
} from './copy-database.ts';
export { SqliteLedgerStore } from './ledger-store.ts';
export { type FromThread, LedgerThread, type ThreadFailure, type ToThread } from './ledger-thread.ts';
export { DirectoryLocked, isDirectoryLocked, lockDirectory } from './lock-directory.ts';
export { readMoveMark, removeMoveMark, writeMoveMark } from './move-mark.ts';
export { closeForWriting, openForReading, openForWriting } from './open-database.ts';
export { openSignIn, signInPath } from './open-sign-in.ts';
export { openTables } from './read-tables.ts';
export { type ReportReads, reportReads } from './report-reads.ts';
export { answerReport, heading, type ToReports } from './report-text.ts';
export { ReportThread } from './report-thread.ts';
export { sumLedger } from './sum-ledger.ts';
export { listDependents, readProof, surveyStore } from './survey-store.ts';

export function databasePath(dataDirectory: string): string {
  return join(dataDirectory, 'turnpike.db');
}

/**
 * The stores over a database that a ledger's thread has open. Writes go through `gate`, which is the
 * thread, or what stands before it and must hear of every change. `reports` are read by whoever is
 * given; left out, over the same connection as everything else.
 */
export function sqliteStores(path: string, gate: LedgerGate, reports?: ReportReads): Stores & { close(): void } {
  const database = openForReading(path);
  const reads = guardReads(readStore(database));
  const { listAudit, listEntries, listHolds, listUsage, readMonth, readTimeline, searchUsage, topUsage, totalUsage } =
    reports ?? guardReads(reportReads(database));
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
    retention: retentionStore(
      gate,
      guardReads({ ...retentionReads(database), readInstallation: reads.readInstallation }),
    ),
    close: () => database.close(),
  };
}
