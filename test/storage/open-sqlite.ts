// SQLite stores for tests: in a temporary directory, in this process with a clock that the test sets, or through the
// ledger's own thread.

import type { Database } from 'bun:sqlite';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { GroupCommit, type LedgerGate, type LedgerSums } from '../../src/ledger/ledger.ts';
import {
  ConnectionWriter,
  databasePath,
  LedgerThread,
  type LedgerWriter,
  openForWriting,
  ReportThread,
  type RowCommit,
  SqliteLedgerStore,
  sqliteLedger,
  sqliteStores,
  sumLedger,
} from '../../src/storage/sqlite/sqlite.ts';
import { workerScript } from '../../src/worker-scripts.ts';
import type { OpenedStores } from '../money/ledger/workbench.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export interface OpenedSqlite extends OpenedStores {
  path: string;
  /** The connection that writes. */
  database: Database;
  store: SqliteLedgerStore;
  sums(): LedgerSums;
}

/** A writer on this connection that gets each commit as the thread does: as text. */
function textWriter(database: Database): LedgerWriter {
  const writer = new ConnectionWriter(database);
  return { write: (commit) => writer.write(JSON.parse(JSON.stringify(commit)) as RowCommit) };
}

/** The store in this process. Its answers are as durable as the thread's. */
export function openSqlite(
  clock: Clock,
  gateOver?: (gate: LedgerGate) => LedgerGate,
  openReports?: (path: string) => ReportThread,
): OpenedSqlite {
  const directory = temporaryDirectory();
  const path = databasePath(directory.path);
  const database = openForWriting(path);
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
  return { stores, sums: () => sumLedger(path), close, path, database, store };
}

/** The store in this process, with reports in a thread of their own. */
export function openSqliteReports(clock: Clock): OpenedSqlite {
  const script = workerScript('report-worker');
  return openSqlite(clock, undefined, (path) => new ReportThread(script, path, (cause) => console.error(cause)));
}

/** The store of a service: decided here, written by the real thread. */
export async function openSqliteThread(): Promise<OpenedStores> {
  const directory = temporaryDirectory();
  const path = databasePath(directory.path);
  const script = workerScript('ledger-worker');
  const deaths: unknown[] = [];
  const die = (cause: unknown) => void deaths.push(cause);
  const thread = await LedgerThread.start(script, path, die);
  const ledger = sqliteLedger(path, systemClock(), thread, die);
  const stores = sqliteStores(path, ledger.gate);
  const close = async () => {
    stores.close();
    await ledger.close();
    await thread.close();
    directory[Symbol.dispose]();
    if (deaths.length > 0) throw new Error(`the thread ended: ${deaths.join(', ')}`);
  };
  const sums = async () => {
    await ledger.gate.flush();
    return sumLedger(path);
  };
  return { stores, sums, close };
}
