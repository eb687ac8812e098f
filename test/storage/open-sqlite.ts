// SQLite stores for tests: in a temporary directory, in this process with a clock that the test sets, or through the
// ledger's own thread.

import type { Database } from 'bun:sqlite';
import { readFileSync, writeFileSync } from 'node:fs';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { GroupCommit, type LedgerGate, type LedgerSums } from '../../src/ledger/ledger.ts';
import type { LedgerWriter } from '../../src/storage/sqlite/ledger-writer.ts';
import {
  ConnectionWriter,
  closeForWriting,
  databasePath,
  LedgerThread,
  openForWriting,
  ReportThread,
  type RowCommit,
  SqliteLedgerStore,
  sqliteLedger,
  sqliteStores,
  sumLedger,
} from '../../src/storage/sqlite/sqlite.ts';
import { workerScript } from '../../src/threads/threads.ts';
import type { OpenedStores } from '../money/ledger/workbench.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export interface OpenedSqlite extends OpenedStores {
  path: string;
  /** The connection that writes. */
  database: Database;
  store: SqliteLedgerStore;
  maintain: ReturnType<typeof sqliteStores>['maintain'];
  sums(): LedgerSums;
}

/** A writer on this connection that gets each commit as the thread does: as text. */
function textWriter(database: Database): LedgerWriter {
  const writer = new ConnectionWriter(database);
  return { write: (commit) => writer.write(JSON.parse(JSON.stringify(commit)) as RowCommit) };
}

let emptyFile: Buffer | null = null;

/** Writes a new database to `path`: a copy, because the migrations take longer than most tests. */
export function writeEmpty(path: string): void {
  emptyFile ??= makeEmpty();
  writeFileSync(path, emptyFile);
}

/** Opens a new database at `path`. */
export function openEmpty(path: string): Database {
  writeEmpty(path);
  return openForWriting(path);
}

function makeEmpty(): Buffer {
  using directory = temporaryDirectory();
  const path = databasePath(directory.path);
  closeForWriting(openForWriting(path));
  return readFileSync(path);
}

/** The store in this process. Its answers are as durable as the thread's. */
export function openSqlite(
  clock: Clock,
  gateOver?: (gate: LedgerGate) => LedgerGate,
  openReports?: (path: string) => ReportThread,
): OpenedSqlite {
  const directory = temporaryDirectory();
  const path = databasePath(directory.path);
  const database = openEmpty(path);
  const store = new SqliteLedgerStore(database, clock, textWriter(database));
  const commit = new GroupCommit(store);
  const reports = openReports?.(path);
  const stores = sqliteStores(path, gateOver === undefined ? commit : gateOver(commit), reports?.reads);
  const close = () => {
    reports?.close();
    stores.close();
    database.close();
    directory[Symbol.dispose]();
  };
  return { stores, sums: () => sumLedger(path), close, path, database, store, maintain: stores.maintain };
}

/** The store in this process, with reports in a thread of their own. */
export function openSqliteReports(clock: Clock): OpenedSqlite {
  const script = workerScript('report-worker');
  return openSqlite(clock, undefined, (path) => new ReportThread(script, path, (cause) => console.error(cause)));
}

/** The store of a service: decided in memory, written by the real thread. */
export function openSqliteThread(): Promise<OpenedStores> {
  return openResident(async (path, die) => {
    const script = workerScript('ledger-worker');
    writeEmpty(path);
    return await LedgerThread.start(script, path, die);
  });
}

/** The same without the thread, which takes longer to start than most tests. */
export function openSqliteResident(): Promise<OpenedStores> {
  return openResident(async (path) => {
    const database = openEmpty(path);
    return { ...textWriter(database), close: () => database.close() };
  });
}

async function openResident(
  openWriter: (
    path: string,
    die: (cause: unknown) => void,
  ) => Promise<LedgerWriter & { close(): Promise<void> | void }>,
): Promise<OpenedStores> {
  const directory = temporaryDirectory();
  const path = databasePath(directory.path);
  const deaths: unknown[] = [];
  const die = (cause: unknown) => void deaths.push(cause);
  const writer = await openWriter(path, die);
  const ledger = sqliteLedger(path, systemClock(), writer, die);
  const stores = sqliteStores(path, ledger.gate);
  const close = async () => {
    stores.close();
    await ledger.close();
    await writer.close();
    directory[Symbol.dispose]();
    if (deaths.length > 0) throw new Error(`the ledger broke: ${deaths.join(', ')}`);
  };
  const sums = async () => {
    await ledger.gate.flush();
    return sumLedger(path);
  };
  return { stores, sums, close };
}
