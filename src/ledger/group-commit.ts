// Group commit: everything that queued up while the last batch was committing goes into the next.
// One batch is under way at a time, so that operations are decided in the order they came.

import { BrokenInvariant } from '../base/assert.ts';
import { machineTimers, type Timers } from '../base/timers.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { applyBatch } from './apply-batch.ts';
import type { Answer, Bundle } from './operation.ts';
import type { LedgerGate, LedgerStore } from './store.ts';

type Done = (answers: Answer[] | null, failure: unknown) => void;

/** How many bundles one batch had, and how long it took to be decided and made durable. */
export interface BatchFacts {
  bundles: number;
  ms: number;
}

interface Waiting {
  bundle: Bundle;
  done: Done;
}

export class GroupCommit implements LedgerGate {
  readonly #store: LedgerStore;
  readonly #onCommitted: (facts: BatchFacts) => void;
  readonly #timers: Timers;
  #queue: Waiting[] = [];
  #isScheduled = false;
  #batches = 0;

  /** `onCommitted` is told of each batch that the store took, before its answers are given. */
  constructor(store: LedgerStore, onCommitted: (facts: BatchFacts) => void = () => {}, timers: Timers = machineTimers) {
    this.#store = store;
    this.#onCommitted = onCommitted;
    this.#timers = timers;
  }

  batches(): number {
    return this.#batches;
  }

  submit(bundle: Bundle): Promise<Answer[]> {
    return new Promise((resolve, reject) => {
      this.enqueue(bundle, (answers, failure) => (answers === null ? reject(failure) : resolve(answers)));
    });
  }

  /** As `submit`, without a promise: `done` is called when the answers are durable or the batch failed. */
  enqueue(bundle: Bundle, done: Done): void {
    this.#queue.push({ bundle, done });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#timers.soon(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, bounds.batchOperationsMax);
      await this.#commit(batch);
    }
    this.#isScheduled = false;
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    let answers: Answer[][] = [];
    const startedMs = performance.now();
    try {
      this.#batches++;
      const bundles = batch.map((waiting) => waiting.bundle);
      const committed = this.#store.transact(bundles, (rows) => {
        const decided = applyBatch(rows, bundles);
        answers = decided.answers;
        return decided.changes;
      });
      if (committed !== undefined) await committed;
    } catch (failure) {
      await this.#fail(batch, failure);
      return;
    }
    this.#onCommitted({ bundles: batch.length, ms: performance.now() - startedMs });
    for (let index = 0; index < batch.length; index++) (batch[index] as Waiting).done(answers[index] as Answer[], null);
  }

  /** One bundle that breaks an invariant must not take the others with it: they are tried again, each alone. */
  async #fail(batch: readonly Waiting[], failure: unknown): Promise<void> {
    if (isOfBundle(failure) && batch.length > 1) {
      for (const waiting of batch) await this.#commit([waiting]);
      return;
    }
    const error =
      isOfBundle(failure) || failure instanceof TurnpikeError
        ? failure
        : new TurnpikeError('store_unavailable', 'The ledger cannot be written at the moment.', { cause: failure });
    for (const { done } of batch) done(null, error);
  }
}

/** Whether a bundle is at fault, by a mistake of our own, and not the store: the store would take the others. */
function isOfBundle(failure: unknown): boolean {
  return failure instanceof BrokenInvariant || failure instanceof TypeError || failure instanceof RangeError;
}
