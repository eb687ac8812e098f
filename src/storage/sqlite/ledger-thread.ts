// The ledger's thread as the main thread sees it: bundles are sent as text, once per event loop turn; answers return
// when they are durable. If the thread fails, the process ends.

import { bounds } from '../../config.ts';
import { asTurnpikeError, TurnpikeError } from '../../errors.ts';
import { type Answer, type BatchFacts, type Bundle, type LedgerGate, NothingTaken } from '../../ledger/ledger.ts';

/** Messages to the thread: the database to open, then bundles, one parcel at a time. */
export type ToThread = { open: { path: string } } | { bundles: Bundle[] } | { close: true };
/** Messages from the thread: answers when durable, or the failure. */
export type FromThread =
  | { opened: true }
  | { failed: string }
  /** `committed`: the batches that contained it. */
  | { answers: (Answer[] | ThreadFailure)[]; batches: number; committed: BatchFacts[] }
  | { closed: true };

export interface ThreadFailure {
  cause: string;
  /** False if the bundle itself is at fault: retrying would not help. */
  isStoreUnavailable: boolean;
  /** Nothing was applied. */
  isNothingTaken: boolean;
}

interface PendingBundle {
  bundle: Bundle;
  resolve(answers: Answer[]): void;
  reject(failure: unknown): void;
}

export class LedgerThread implements LedgerGate {
  /** Called for each batch, when its answers have arrived. */
  onCommitted: (facts: BatchFacts) => void = () => {};
  readonly #worker: Worker;
  /** Not sent yet; sent and not answered yet. Answers arrive in the order of the bundles. */
  #waiting: PendingBundle[] = [];
  #sent: PendingBundle[] = [];
  #lastSize = 0;
  #isFlushSet = false;
  #batches = 0;
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
        if ('opened' in message) resolve();
        else if ('failed' in message) reject(new Error(message.failed));
        else thread.#receive(message);
      };
      worker.onerror = (event) => {
        reject(new Error(event.message));
        onDeath(event.message);
      };
      worker.addEventListener('close', () => {
        if (thread.#closed === null) onDeath('the ledger thread exited');
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

  /** Waits for pending bundles, closes the database and ends the thread. */
  async close(): Promise<void> {
    await this.submit({ operations: [] }); // answered after everything before it
    const closed = new Promise<void>((resolve) => {
      this.#closed = resolve;
    });
    this.#worker.postMessage(JSON.stringify({ close: true } satisfies ToThread));
    await closed;
    this.#worker.terminate();
  }

  /**
   * One parcel at a time: bundles that arrive meanwhile form the next. Under load a parcel is collected a moment
   * longer, because a commit costs the same CPU for one bundle as for thirty.
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

function asError({ cause, isStoreUnavailable, isNothingTaken }: ThreadFailure): TurnpikeError {
  if (isNothingTaken) return new NothingTaken(cause);
  return isStoreUnavailable
    ? new TurnpikeError('store_unavailable', 'The ledger cannot be written.', { cause })
    : asTurnpikeError(new Error(cause));
}
