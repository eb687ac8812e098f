// The ledger thread: writes commits to the SQLite database, so that a sync of the disk never stops the event loop.

import { BrokenInvariant } from '../base/assert.ts';
import { InDoubt, Outpaced } from '../ledger/ledger.ts';
import {
  CommitMark,
  ConnectionWriter,
  closeForWriting,
  type FromThread,
  findDamage,
  openForWriting,
  type RowCommit,
  type ToThread,
} from '../storage/sqlite/sqlite.ts';

declare const self: Worker;

let writer: ConnectionWriter | null = null;
let mark: CommitMark | null = null;
let close: () => void = () => {};

self.onmessage = ({ data }: MessageEvent<string>) => {
  const message = JSON.parse(data) as ToThread;
  if ('commit' in message) write(writer as ConnectionWriter, message.commit);
  else if ('open' in message) open(message.open.path);
  else {
    close();
    post({ closed: true });
  }
};

function write(to: ConnectionWriter, commit: RowCommit): void {
  try {
    to.write(commit);
    post({ committed: true });
    mark?.set(to.commits); // after the answer, which does not wait for it
  } catch (failure) {
    const kind = kindOf(failure);
    const cause = failure instanceof InDoubt ? failure.cause : failure;
    post({ refused: { cause: cause instanceof BrokenInvariant ? cause.message : String(cause), kind } });
  }
}

function kindOf(failure: unknown): 'outpaced' | 'broken' | 'doubtful' | 'nothing' {
  if (failure instanceof Outpaced) return 'outpaced';
  if (failure instanceof BrokenInvariant) return 'broken';
  return failure instanceof InDoubt ? 'doubtful' : 'nothing';
}

function open(path: string): void {
  try {
    const database = openForWriting(path);
    writer = new ConnectionWriter(database);
    mark = new CommitMark(path, writer.commits);
    close = () => {
      mark?.close();
      closeForWriting(database);
    };
    post({ opened: true, damage: findDamage(path) });
  } catch (failure) {
    post({
      failed: `the database ${path} cannot be opened: ${failure instanceof Error ? failure.message : String(failure)}`,
    });
  }
}

function post(message: FromThread): void {
  self.postMessage(JSON.stringify(message));
}
