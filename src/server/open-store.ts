// Opens the storage: the secret, the ledger, and the stores over SQLite in the data directory or PostgreSQL. Holds of
// an earlier run are ended here, before any request is answered.

import type { Clock } from '../base/clock.ts';
import { bounds, type Config } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { BatchFacts, NodeLedger } from '../ledger/ledger.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import type { Vault } from '../secrets/secrets.ts';
import type { ChangeFeed } from '../storage/postgres/postgres.ts';
import type { MaintenanceResult, OutboxReads, Stores } from '../storage/storage.ts';
import type { Closing } from './server.ts';

export interface OpenStore {
  vault: Vault;
  stores: Stores;
  outbox: OutboxReads;
  ledger: NodeLedger;
  /** The ledger gate, with a callback for its batches. */
  gate: { onCommitted: (facts: BatchFacts) => void };
  /** The ledger's clock. */
  clock: Clock;
  /** Changes of other nodes; null with SQLite. */
  feed: ChangeFeed | null;
  /** Held while an installation is prepared: one node creates its first catalog, account and secret. */
  lockStart(): Promise<AsyncDisposable>;
  /** Runs it unless another node does; resolves to false if another node does. */
  runAlone(run: () => Promise<void>): Promise<boolean>;
  /** Ends holds of this node that belong to no message; resolves to their number. null if the store loses no endings. */
  endLostHolds: ((runningIds: () => ReadonlySet<string>) => Promise<number>) | null;
  /** Why a part of the store that every message may need cannot be read; null if nothing is known. Found at the start. */
  damage: string | null;
  /** Called with the cause of each failure of the ledger. */
  onFailure(cause: unknown): void;
  /** Periodic maintenance of the store, on any node. Ends early if aborted. */
  maintain(signal: AbortSignal): Promise<MaintenanceResult>;
}

/** Reports each row once: lists and jobs come across it again and again. */
export function reportUnreadable(log: LogWriter): (key: string, reason: string) => void {
  const reported = new Set<string>();
  return (key, reason) => {
    const name = `${reason} ${key}`;
    if (reported.has(name) || reported.size >= bounds.unreadableRowsReportedMax) return;
    reported.add(name);
    log.writeEvent('row_unreadable', { key, cause: reason });
  };
}

/** Before the ledger opens, which already ends holds. */
export function reportLedgerFaults(ledger: NodeLedger, log: LogWriter): void {
  ledger.onStuck = ({ requestId, reason }) => log.writeEvent('hold_stuck', { request_id: requestId, cause: reason });
  ledger.onFault = (fault) => log.writeEvent('lease_renewal_failed', { cause: describeFailure(fault) });
}

/** Opens the ledger, ends holds of dead nodes, and returns the stores. Loads only the store in use. */
export async function openStore(config: Config, clock: Clock, log: LogWriter, closing: Closing): Promise<OpenStore> {
  const { databaseUrl } = config;
  const store =
    databaseUrl === null
      ? await (await import('./open-sqlite.ts')).openSqlite(config, clock, log, closing)
      : await (await import('./open-postgres.ts')).openPostgres({ ...config, databaseUrl }, log, closing);
  // Without messages, this line is the only report of a full disk or an unavailable database.
  store.ledger.onStoreChange = (failure) => {
    const cause = failure instanceof TurnpikeError ? failure.cause : failure; // its message is for clients
    store.onFailure(cause);
    if (failure === null) log.writeEvent('store_resumed');
    else log.writeEvent('store_failed', { cause: describeFailure(cause) });
  };
  return store;
}
