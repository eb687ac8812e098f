// Group commit: everything that queued up while the last batch was committing goes into the next.
// One batch is under way at a time, so that operations are decided in the order they came. Those that need what somebody else has
// locked are set aside, in their order: they wait, and the others do not wait with them.

import { BrokenInvariant } from '../base/assert.ts';
import { machineTimers, type Timers } from '../base/timers.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { applyBatch } from './apply-batch.ts';
import type { Answer, Bundle } from './operation.ts';
import type { LedgerGate, LedgerStore } from './store.ts';
import { LockedForLong, RowsLocked, storeUnavailable } from './store-failure.ts';

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

interface Aside extends Waiting {
  /** The row that it needs, */
  row: number;
  /** and since when it waits for that. */
  sinceMs: number;
}

export class GroupCommit implements LedgerGate {
  readonly #store: LedgerStore;
  readonly #onCommitted: (facts: BatchFacts) => void;
  readonly #timers: Timers;
  #queue: Waiting[] = [];
  /** They need rows that were found locked. */
  #aside: Aside[] = [];
  /** What was found so, until nothing is set aside any more. */
  #locked: RowsLocked['neededBy'][] = [];
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
    while (this.#queue.length + this.#aside.length > 0) {
      const batch = this.#setAside(this.#queue.splice(0, bounds.batchOperationsMax));
      if (batch.length > 0) await this.#commit(batch);
      if (this.#aside.length > 0) await this.#commitAside();
    }
    this.#isScheduled = false;
  }

  /** Gives the others. */
  #setAside(batch: readonly Waiting[]): readonly Waiting[] {
    if (this.#locked.length === 0) return batch;
    const sinceMs = performance.now();
    return batch.filter((waiting) => {
      const row = this.#rowOf(waiting);
      if (row !== null) this.#aside.push({ ...waiting, row, sinceMs });
      return row === null;
    });
  }

  #rowOf({ bundle }: Waiting): number | null {
    for (const neededBy of this.#locked) {
      const row = neededBy(bundle);
      if (row !== null) return row;
    }
    return null;
  }

  /** Of one row at a time, in turns: whoever waits for one must not have another that somebody else waits for. */
  async #commitAside(): Promise<void> {
    const row = this.#aside[0]?.row;
    const ofRow = this.#aside.filter((waiting) => waiting.row === row);
    this.#aside = this.#aside.filter((waiting) => waiting.row !== row);
    const tried = ofRow.splice(0, bounds.batchOperationsMax);
    const why = await this.#commit(tried, true);
    if (why !== null) ofRow.unshift(...tried.filter((waiting) => isPatient(waiting, why)));
    this.#aside.push(...ofRow);
    if (this.#aside.length === 0) this.#locked = [];
  }

  /** Where it was tried briefly, and others are still in the way, nothing of it is answered: gives why. */
  async #commit(batch: readonly Waiting[], isBrief = false): Promise<RowsLocked | null> {
    let answers: Answer[][] = [];
    const startedMs = performance.now();
    try {
      this.#batches++;
      const bundles = batch.map((waiting) => waiting.bundle);
      const committed = this.#store.transact(
        bundles,
        (rows) => {
          const decided = applyBatch(rows, bundles);
          answers = decided.answers;
          return decided.changes;
        },
        isBrief,
      );
      if (committed !== undefined) await committed;
    } catch (failure) {
      if (isBrief && failure instanceof RowsLocked) return failure;
      await this.#fail(batch, failure);
      return null;
    }
    this.#onCommitted({ bundles: batch.length, ms: performance.now() - startedMs });
    for (let index = 0; index < batch.length; index++) (batch[index] as Waiting).done(answers[index] as Answer[], null);
    return null;
  }

  /** One bundle that breaks an invariant must not take the others with it: they are tried again by halves, until it is alone. */
  async #fail(batch: readonly Waiting[], failure: unknown): Promise<void> {
    if (failure instanceof RowsLocked) {
      this.#locked.push(failure.neededBy);
      const others = this.#setAside(batch);
      if (others.length < batch.length) {
        if (others.length > 0) await this.#commit(others);
        return;
      }
    }
    if (isOfBundle(failure) && batch.length > 1) {
      const half = batch.length >> 1;
      await this.#commit(batch.slice(0, half));
      await this.#commit(batch.slice(half));
      return;
    }
    const error = isOfBundle(failure) || failure instanceof TurnpikeError ? failure : storeUnavailable(failure);
    for (const { done } of batch) done(null, error);
  }
}

/** One that has waited for too long is told so. */
function isPatient({ sinceMs, done }: Aside, why: RowsLocked): boolean {
  if (performance.now() - sinceMs < bounds.lockedWaitMsMax) return true;
  done(null, new LockedForLong(why));
  return false;
}

/** Whether a bundle is at fault, by a mistake of our own, and not the store: the store would take the others. */
function isOfBundle(failure: unknown): boolean {
  return failure instanceof BrokenInvariant || failure instanceof TypeError || failure instanceof RangeError;
}
