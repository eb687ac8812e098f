// The ledger thread: composes the ledger core, group commit and the SQLite store. Bundles come in as text; their results
// go out when they are durable.

import { systemClock } from './base/clock.ts';
import { TurnpikeError } from './errors.ts';
import { type Answer, type BatchFacts, type Bundle, GroupCommit, NothingTaken } from './ledger/ledger.ts';
import {
  closeForWriting,
  type FromThread,
  openForWriting,
  SqliteLedgerStore,
  type ThreadFailure,
  type ToThread,
} from './storage/sqlite/sqlite.ts';

declare const self: Worker;

let commit: GroupCommit | null = null;
/** Reported with the next results. */
let committed: BatchFacts[] = [];
let close: () => void = () => {};

self.onmessage = ({ data }: MessageEvent<string>) => {
  const message = JSON.parse(data) as ToThread;
  if ('bundles' in message) decide(commit as GroupCommit, message.bundles);
  else if ('open' in message) open(message.open.path);
  else {
    close();
    post({ closed: true });
  }
};

/** Decides one batch of bundles. Their results are posted together, in the same order. */
function decide(gate: GroupCommit, bundles: readonly Bundle[]): void {
  const answers: (Answer[] | ThreadFailure)[] = [];
  for (const [index, bundle] of bundles.entries()) {
    gate.enqueue(bundle, (given, failure) => {
      answers[index] = given ?? describeFailure(failure);
      if (index === bundles.length - 1) postAnswers(answers, gate.batches()); // results come in order
    });
  }
}

function postAnswers(answers: (Answer[] | ThreadFailure)[], batches: number): void {
  post({ answers, batches, committed });
  committed = [];
}

function open(path: string): void {
  try {
    const database = openForWriting(path);
    commit = new GroupCommit(new SqliteLedgerStore(database, systemClock()), (facts) => committed.push(facts));
    close = () => closeForWriting(database);
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
    isStoreUnavailable: failure instanceof TurnpikeError && failure.code === 'store_unavailable',
    isNothingTaken: failure instanceof NothingTaken,
  };
}
