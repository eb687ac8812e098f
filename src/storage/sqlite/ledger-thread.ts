// The ledger's thread as the main thread sees it: bundles go over as text, gathered once a turn of
// the event loop; answers come back when they are durable. A thread that fails ends the process.

import { bounds } from '../../config.ts';
import { asTurnpikeError, TurnpikeError } from '../../errors.ts';
import { type Answer, type BatchFacts, type Bundle, type LedgerGate, NothingTaken } from '../../ledger/ledger.ts';

/** What the main thread sends: what to open, then bundles; the next ones only when these are answered. */
export type ToThread = { open: { path: string } } | { bundles: Bundle[] } | { close: true };
/** What comes back: when it is durable, or why it is not. */
export type FromThread =
  | { opened: true }
  | { failed: string }
  /** `committed`: the batches in which it was done. */
  | { answers: (Answer[] | ThreadFailure)[]; batches: number; committed: BatchFacts[] }
  | { closed: true };

export interface ThreadFailure {
  cause: string;
  /** False when the bundle itself is at fault: asking again would not help. */
  isStoreGone: boolean;
  /** Nothing of it was taken. */
  isNothingTaken: boolean;
}

interface Asked {
  bundle: Bundle;
  resolve(answers: Answer[]): void;
  reject(failure: unknown): void;
}

export class LedgerThread implements LedgerGate {
  /** Told of each batch, when its answers are here. */
  onCommitted: (facts: BatchFacts) => void = () => {};
  readonly #worker: Worker;
  /** Asked and not yet sent; sent and not yet answered. Answers come in the order of the bundles. */
  #waiting: Asked[] = [];
  #sent: Asked[] = [];
  #lastSize = 0;
  #isFlushSet = false;
  #batches = 0;
  #closed: (() => void) | null = null;

  /** For `start` alone, which hands it out when the database is open. */
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
      this.#waiting.push({ bundle, resolve, reject });
      this.#setFlush();
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

  /**
   * One parcel is under way at a time: what comes meanwhile goes into the next. Under load a parcel is
   * gathered for a moment longer, since a commit costs the processor the same for one bundle as for thirty.
   */
  #setFlush(): void {
    if (this.#isFlushSet || this.#sent.length > 0 || this.#waiting.length === 0) return;
    this.#isFlushSet = true;
    if (this.#lastSize < bounds.ledgerGatherFrom) setImmediate(() => this.#flush());
    else setTimeout(() => this.#flush(), bounds.ledgerGatherMs);
  }

  #flush(): void {
    this.#isFlushSet = false;
    this.#sent = this.#waiting;
    this.#waiting = [];
    this.#lastSize = this.#sent.length;
    this.#worker.postMessage(JSON.stringify({ bundles: this.#sent.map((asked) => asked.bundle) } satisfies ToThread));
  }

  #receive(message: FromThread): void {
    if ('closed' in message) this.#closed?.();
    if (!('answers' in message)) return;
    this.#batches = message.batches;
    for (const facts of message.committed) this.onCommitted(facts);
    const asked = this.#sent;
    this.#sent = [];
    this.#setFlush();
    for (const [index, answers] of message.answers.entries()) {
      if (Array.isArray(answers)) asked[index]?.resolve(answers);
      else asked[index]?.reject(asError(answers));
    }
  }
}

function asError({ cause, isStoreGone, isNothingTaken }: ThreadFailure): TurnpikeError {
  if (isNothingTaken) return new NothingTaken(cause);
  return isStoreGone
    ? new TurnpikeError('store_unavailable', 'The ledger cannot be written at the moment.', { cause })
    : asTurnpikeError(new Error(cause));
}
