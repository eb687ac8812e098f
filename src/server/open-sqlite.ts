// The store of one process: a database in its data directory, written by the ledger's thread.

import { existsSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/config.ts';
import { NodeLedger } from '../ledger/ledger.ts';
import type { LogWriter } from '../observability/observability.ts';
import { loadInstallationSecrets, openVault } from '../secrets/secrets.ts';
import {
  databasePath,
  LedgerThread,
  ReportThread,
  refuseUnfinishedRestore,
  sqliteLedger,
  sqliteStores,
} from '../storage/sqlite/sqlite.ts';
import { workerScript } from '../threads/threads.ts';
import { type OpenStore, reportLedgerFaults, reportUnreadable } from './open-store.ts';
import type { Closing } from './server.ts';

const NODE = 'local'; // the only node

/** The directory is locked: no other process uses it. */
const alone: Pick<OpenStore, 'lockStart' | 'runAlone'> = {
  lockStart: async () => ({ async [Symbol.asyncDispose]() {} }),
  async runAlone(run) {
    await run();
    return true;
  },
};

export async function openSqlite(config: Config, clock: Clock, log: LogWriter, closing: Closing): Promise<OpenStore> {
  refuseUnfinishedRestore(config.dataDirectory);
  const path = databasePath(config.dataDirectory);
  const { present, previous } = loadInstallationSecrets(config, !existsSync(path));
  const vault = openVault(present, previous);
  // Unwritten changes may or may not be durable: only a restart, which reads them from disk, can tell.
  const exit = (cause: unknown) => {
    log.writeEvent('ledger_thread_failed', { cause: String(cause) });
    log.flush();
    process.exit(1);
  };
  const thread = await LedgerThread.start(workerScript('ledger-worker'), path, exit);
  closing.push(() => thread.close());
  const { gate, close } = sqliteLedger(path, clock, thread, exit);
  closing.push(close);
  const ledger = new NodeLedger(gate, clock, NODE);
  closing.push(() => ledger.close());
  reportLedgerFaults(ledger, log);
  const expired = await ledger.open();
  if (expired > 0) log.writeEvent('holds_of_earlier_run_ended', { holds: expired });
  const reports = new ReportThread(workerScript('report-worker'), path, (cause) =>
    log.writeEvent('report_thread_failed', { cause: String(cause) }),
  );
  closing.push(() => reports.close());
  const stores = sqliteStores(path, ledger, reports.reads, reportUnreadable(log));
  closing.push(() => stores.close());
  return {
    vault,
    stores,
    outbox: stores.outbox,
    ledger,
    gate,
    clock,
    feed: null,
    endLostHolds: null,
    maintain: (signal) => stores.maintain(clock.nowMs(), signal),
    damage: thread.damage,
    onFailure: () => {},
    ...alone,
  };
}
