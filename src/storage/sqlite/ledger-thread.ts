// The ledger's thread as the main thread sees it: it writes one commit at a time, sent as text. If it fails, the
// process ends.

import { BrokenInvariant } from '../../base/assert.ts';
import { InDoubt, NothingTaken, Outpaced } from '../../ledger/ledger.ts';
import type { LedgerWriter, RowCommit } from './ledger-writer.ts';

/** Messages to the thread: the database to open, then commits. */
export type ToThread = { open: { path: string } } | { commit: RowCommit } | { close: true };
/** Messages from the thread. A commit is answered when it is durable, or with its failure. */
export type FromThread =
  | { opened: true; damage: string | null }
  | { failed: string }
  | { committed: true }
  | { refused: { cause: string; kind: 'outpaced' | 'broken' | 'doubtful' | 'nothing' } }
  | { closed: true };

export class LedgerThread implements LedgerWriter {
  readonly #worker: Worker;
  /** Why a table that every message may need cannot be read; null if it can, or was not looked at. */
  damage: string | null = null;
  #pending: PromiseWithResolvers<void> | null = null;
  #isClosing = false;
  #closed: (() => void) | null = null;

  /** Only for `start`, which returns it when the database is open. */
  constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** Starts the thread at `script` and opens the database at `path` in it. `onDeath` must end the process: what was not answered may or may not be durable. */
  static async start(script: URL, path: string, onDeath: (cause: unknown) => void): Promise<LedgerThread> {
    const worker = new Worker(script.href, { smol: true });
    const thread = new LedgerThread(worker);
    await new Promise<void>((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        const message = JSON.parse(data) as FromThread;
        if ('opened' in message) {
          thread.damage = message.damage;
          resolve();
        }
        if ('failed' in message) reject(new Error(message.failed));
        else if (!('opened' in message)) thread.#receive(message);
      };
      worker.onerror = (event) => {
        reject(new Error(event.message));
        onDeath(event.message);
      };
      worker.addEventListener('close', () => {
        if (!thread.#isClosing) onDeath('the ledger thread exited');
      });
      thread.#post({ open: { path } });
    });
    return thread;
  }

  /** One at a time: the next only after the answer. */
  write(commit: RowCommit): Promise<void> {
    this.#pending = Promise.withResolvers<void>();
    this.#post({ commit });
    return this.#pending.promise;
  }

  /** Closes the database and ends the thread. Only after the last commit was answered. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise<void>((resolve) => {
      this.#closed = resolve;
    });
    this.#post({ close: true });
    await closed;
    this.#worker.terminate();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(JSON.stringify(message));
  }

  #receive(message: FromThread): void {
    if ('closed' in message) this.#closed?.();
    else if ('committed' in message) this.#pending?.resolve();
    else if ('refused' in message) this.#pending?.reject(failureOf(message.refused));
  }
}

function failureOf({ cause, kind }: Extract<FromThread, { refused: unknown }>['refused']): Error {
  if (kind === 'outpaced') return new Outpaced(cause);
  if (kind === 'broken') return new BrokenInvariant(cause);
  return kind === 'doubtful' ? new InDoubt('the commit failed', { cause }) : new NothingTaken(cause);
}
