// The ledger's thread as the main thread sees it: bundles go over as text, gathered once a turn of
// the event loop; answers come back when they are durable. A thread that fails ends the process.

import { asTurnpikeError, TurnpikeError } from '../../errors.ts';
import type { Answer, Bundle, LedgerGate } from '../../ledger/ledger.ts';

/** What the main thread sends: what to open, then bundles by number. */
export type ToThread = { open: { path: string } } | { bundles: [number, Bundle][] } | { close: true };
/** What comes back: when it is durable, or why it is not. */
export type FromThread =
  | { opened: true }
  | { failed: string }
  | { answers: [number, Answer[] | ThreadFailure][]; batches: number }
  | { closed: true };

export interface ThreadFailure {
  cause: string;
  /** False when the bundle itself is at fault: asking again would not help. */
  isStoreGone: boolean;
}

interface Pending {
  resolve(answers: Answer[]): void;
  reject(failure: unknown): void;
}

export class LedgerThread implements LedgerGate {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #outbox: [number, Bundle][] = [];
  #lastNumber = 0;
  #batches = 0;
  #closed: (() => void) | null = null;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** Starts the thread at `script` and opens the database at `path` in it. `onDeath` must end the process: what was not answered may or may not be durable. */
  static async start(script: URL, path: string, onDeath: (cause: unknown) => void): Promise<LedgerThread> {
    const worker = new Worker(script.href);
    const thread = new LedgerThread(worker);
    await new Promise<void>((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        const message = JSON.parse(data) as FromThread;
        if ('opened' in message) resolve();
        else if ('failed' in message) reject(new Error(message.failed));
        else thread.#receive(message);
      };
      worker.onerror = (event) => {
        reject(new Error(event.message));
        onDeath(event.message);
      };
      worker.addEventListener('close', () => {
        if (thread.#closed === null) onDeath('the thread of the ledger ended');
      });
      worker.postMessage(JSON.stringify({ open: { path } } satisfies ToThread));
    });
    return thread;
  }

  batches(): number {
    return this.#batches;
  }

  submit(bundle: Bundle): Promise<Answer[]> {
    return new Promise((resolve, reject) => {
      const number = ++this.#lastNumber;
      this.#pending.set(number, { resolve, reject });
      this.#outbox.push([number, bundle]);
      if (this.#outbox.length === 1) setImmediate(() => this.#flush());
    });
  }

  /** Waits for what is under way, closes the database and ends the thread. */
  async close(): Promise<void> {
    await this.submit({ operations: [] }); // answered after everything that was asked before it
    const closed = new Promise<void>((resolve) => {
      this.#closed = resolve;
    });
    this.#worker.postMessage(JSON.stringify({ close: true } satisfies ToThread));
    await closed;
    this.#worker.terminate();
  }

  #flush(): void {
    if (this.#outbox.length === 0) return;
    this.#worker.postMessage(JSON.stringify({ bundles: this.#outbox } satisfies ToThread));
    this.#outbox = [];
  }

  #receive(message: FromThread): void {
    if ('closed' in message) this.#closed?.();
    if (!('answers' in message)) return;
    this.#batches = message.batches;
    for (const [number, answers] of message.answers) {
      const pending = this.#pending.get(number);
      this.#pending.delete(number);
      if (Array.isArray(answers)) pending?.resolve(answers);
      else pending?.reject(asError(answers));
    }
  }
}

function asError({ cause, isStoreGone }: ThreadFailure): TurnpikeError {
  return isStoreGone
    ? new TurnpikeError('store_unavailable', 'The ledger cannot be written at the moment.', { cause })
    : asTurnpikeError(new Error(cause));
}
