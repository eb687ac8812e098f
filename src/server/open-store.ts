// Opens what is kept: the secret, the way to the ledger, the stores over it: SQLite in the data directory, or PostgreSQL
// for any number of nodes. Holds of an earlier run are ended here, before anybody is answered.

import type { Clock } from '../base/clock.ts';
import type { Config } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { BatchFacts, NodeLedger } from '../ledger/ledger.ts';
import { describeFailure, type LogLine, type LogWriter } from '../observability/observability.ts';
import type { Vault } from '../secrets/secrets.ts';
import type { ChangeFeed, Tended } from '../storage/postgres/postgres.ts';
import type { Stores } from '../storage/storage.ts';
import type { Closing } from './server.ts';

export interface OpenStore {
  vault: Vault;
  stores: Stores;
  ledger: NodeLedger;
  /** The way to the ledger, for what it tells of its batches. */
  gate: { onCommitted: (facts: BatchFacts) => void };
  /** The time that the ledger goes by. */
  clock: Clock;
  /** What other nodes change; null where there are none. */
  feed: ChangeFeed | null;
  /** Had while an installation is prepared: its first catalogue, account and secret are made by one node. */
  lockStart(): Promise<AsyncDisposable>;
  /** Runs it while no other node does; resolves to false, without having run it, where another is at it. */
  runAlone(run: () => Promise<void>): Promise<boolean>;
  /** What the store itself needs from time to time, at whichever node. Null where it needs nothing. */
  tend: (() => Promise<Tended>) | null;
}

/** Opens the ledger, ends what was left open by who is gone, and gives the stores over it. */
export async function openStore(config: Config, clock: Clock, log: LogWriter, closing: Closing): Promise<OpenStore> {
  const store = await openEither(config, clock, log, closing);
  store.ledger.onStoreChange = (failure) => log.write(storeLine(failure));
  return store;
}

/** Only that which is used is loaded. */
async function openEither(config: Config, clock: Clock, log: LogWriter, closing: Closing): Promise<OpenStore> {
  const { databaseUrl } = config;
  if (databaseUrl === null) return (await import('./open-sqlite.ts')).openSqlite(config, clock, log, closing);
  return (await import('./open-postgres.ts')).openPostgres({ ...config, databaseUrl }, log, closing);
}

/** Where nobody sends a message, this is all that tells of a disk that is full, or of a database that is away. */
function storeLine(failure: unknown): LogLine {
  const at = new Date().toISOString();
  if (failure === null) return { at, event: 'store_resumed' };
  const cause = failure instanceof TurnpikeError ? failure.cause : failure; // its own words are for callers
  return { at, event: 'store_failed', cause: describeFailure(cause) };
}
