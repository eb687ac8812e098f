// The ledger's thread: composes the pure core, group commit and the SQLite store. Bundles come in
// as text, answers go out when they are durable; nothing else lives here.

import { systemClock } from './base/clock.ts';
import { TurnpikeError } from './errors.ts';
import { type Bundle, GroupCommit } from './ledger/ledger.ts';
import {
  type FromThread,
  openForWriting,
  SqliteLedgerStore,
  type ThreadFailure,
  type ToThread,
} from './storage/sqlite/sqlite.ts';

declare const self: Worker;

let commit: GroupCommit | null = null;
let close: () => void = () => {};

self.onmessage = ({ data }: MessageEvent<string>) => {
  const message = JSON.parse(data) as ToThread;
  if ('bundles' in message) void decide(message.bundles);
  else if ('open' in message) open(message.open.path);
  else {
    close();
    post({ closed: true });
  }
};

/** Decides one parcel; its answers go back together, in its order. */
async function decide(bundles: readonly Bundle[]): Promise<void> {
  const gate = commit;
  if (gate === null) return;
  const answers = await Promise.all(bundles.map((bundle) => gate.submit(bundle).catch(describeFailure)));
  post({ answers, batches: gate.batches() });
}

function open(path: string): void {
  try {
    const database = openForWriting(path);
    commit = new GroupCommit(new SqliteLedgerStore(database, systemClock()));
    close = () => database.close();
    post({ opened: true });
  } catch (failure) {
    post({
      failed: `the database ${path} cannot be opened: ${failure instanceof Error ? failure.message : String(failure)}`,
    });
  }
}

function post(message: FromThread): void {
  self.postMessage(JSON.stringify(message));
}

function describeFailure(failure: unknown): ThreadFailure {
  const cause = failure instanceof Error ? (failure.cause ?? failure) : failure;
  return {
    cause: String(cause),
    isStoreGone: failure instanceof TurnpikeError && failure.code === 'store_unavailable',
  };
}
