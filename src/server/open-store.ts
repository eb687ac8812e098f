// Opens what is kept: the secret, the threads of ledger and reports, the stores over them. Holds of an earlier run
// are ended here, before anybody is answered.

import { existsSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { NodeLedger } from '../ledger/ledger.ts';
import { describeFailure, type LogLine, type LogWriter } from '../observability/observability.ts';
import { loadInstallationSecrets, openVault, type Vault } from '../secrets/secrets.ts';
import { databasePath, LedgerThread, ReportThread, sqliteStores } from '../storage/sqlite/sqlite.ts';
import type { Closing } from './server.ts';

const NODE = 'local'; // SQLite has one node

export interface OpenStore {
  vault: Vault;
  stores: ReturnType<typeof sqliteStores>;
  ledger: NodeLedger;
  /** The ledger's, for what it tells of its batches. */
  thread: LedgerThread;
}

/** Opens the ledger's thread, ends what an earlier run left open, and gives the stores over it. */
export async function openStore(config: Config, clock: Clock, log: LogWriter, closing: Closing): Promise<OpenStore> {
  const path = databasePath(config.dataDirectory);
  const { present, previous } = loadInstallationSecrets(config, !existsSync(path));
  const vault = openVault(present, previous);
  const thread = await LedgerThread.start(new URL('../ledger-worker.ts', import.meta.url), path, (cause) => {
    // What was not answered may or may not be durable: only a new start, which reads it from the disk, can tell.
    log.write({ at: new Date().toISOString(), event: 'ledger_thread_failed', cause: String(cause) });
    log.flush();
    process.exit(1);
  });
  closing.push(() => thread.close());
  const ledger = new NodeLedger(thread, clock, NODE);
  ledger.onStoreChange = (failure) => log.write(storeLine(failure));
  closing.push(() => ledger.close());
  const expired = await ledger.open();
  if (expired > 0) log.write({ at: new Date().toISOString(), event: 'holds_of_earlier_run_ended', holds: expired });
  const reports = new ReportThread(new URL('../report-worker.ts', import.meta.url), path, (cause) =>
    log.write({ at: new Date().toISOString(), event: 'report_thread_failed', cause: String(cause) }),
  );
  closing.push(() => reports.close());
  const stores = sqliteStores(path, ledger, reports.reads);
  closing.push(() => stores.close());
  return { vault, stores, ledger, thread };
}

/** Where nobody sends a message, this is all that tells of a disk that is full. */
function storeLine(failure: unknown): LogLine {
  const at = new Date().toISOString();
  if (failure === null) return { at, event: 'store_resumed' };
  const cause = failure instanceof TurnpikeError ? failure.cause : failure; // its own words are for callers
  return { at, event: 'store_failed', cause: describeFailure(cause) };
}
