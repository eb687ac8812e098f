// Group commit: bundles that arrive while a batch commits form the next batch. Batches run one at a time, so
// operations are decided in arrival order. Bundles that need locked rows are set aside in order and do not delay the
// others.

import { BrokenInvariant } from '../base/assert.ts';
import { machineTimers, type Timers } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { applyBatch } from './apply-batch.ts';
import type { Answer, Bundle } from './operation.ts';
import type { LedgerGate, LedgerStore } from './store.ts';
import { LockedForLong, RowsLocked, storeUnavailable } from './store-failure.ts';

type Done = (answers: Answer[] | null, failure: unknown) => void;

/** Number of bundles in a batch, and the time to decide and commit it. */
export interface BatchFacts {
  bundles: number;
  ms: number;
}

interface Waiting {
  bundle: Bundle;
  done: Done;
}

interface Aside extends Waiting {
  /** The locked row that it needs. */
  row: number;
  /** When the wait began. */
  sinceMs: number;
}

export class GroupCommit implements LedgerGate {
  readonly #store: LedgerStore;
  readonly #onCommitted: (facts: BatchFacts) => void;
  readonly #timers: Timers;
  #queue: Waiting[] = [];
  /** Bundles that need rows found locked. */
  #aside: Aside[] = [];
  /** Locks found so far; cleared when no bundle is set aside. */
  #locked: RowsLocked['neededBy'][] = [];
  #isScheduled = false;
  #batches = 0;

  /** `onCommitted` is called after each commit, before its answers are delivered. */
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

  /** Like `submit`, without a promise: `done` is called when the answers are durable or the batch failed. */
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

  /** Sets aside bundles that need locked rows; returns the rest. */
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

  /**
   * One locked row at a time, round-robin: a transaction that waits for one row must not hold another that someone
   * else waits for.
   */
  async #commitAside(): Promise<void> {
    const row = this.#aside[0]?.row;
    const ofRow = this.#aside.filter((waiting) => waiting.row === row);
    this.#aside = this.#aside.filter((waiting) => waiting.row !== row);
    const tried = ofRow.splice(0, bounds.batchOperationsMax);
    const why = await this.#commit(tried, true);
    if (why !== null) ofRow.unshift(...tried.filter((waiting) => mayStillWait(waiting, why)));
    this.#aside.push(...ofRow);
    if (this.#aside.length === 0) this.#locked = [];
  }

  /** A brief attempt that finds rows still locked answers nothing and returns the reason. */
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

  /**
   * If one bundle breaks an invariant, or needs a locked row without naming it, the batch is retried in halves until that
   * bundle is alone, so that the others succeed.
   */
  async #fail(batch: readonly Waiting[], failure: unknown): Promise<void> {
    if (failure instanceof RowsLocked) {
      this.#locked.push(failure.neededBy);
      const others = this.#setAside(batch);
      if (others.length < batch.length) {
        if (others.length > 0) await this.#commit(others);
        return;
      }
      this.#locked.pop();
    }
    if (isOfBundle(failure) && batch.length > 1) {
      const half = batch.length >> 1;
      await this.#commit(batch.slice(0, half));
      await this.#commit(batch.slice(half));
      return;
    }
    const error = errorOf(failure);
    for (const { done } of batch) done(null, error);
  }
}

/** Rejects a bundle that has waited too long. */
function mayStillWait({ sinceMs, done }: Aside, why: RowsLocked): boolean {
  if (performance.now() - sinceMs < bounds.lockedWaitMsMax) return true;
  done(null, new LockedForLong(why));
  return false;
}

function errorOf(failure: unknown): unknown {
  if (failure instanceof RowsLocked) return new LockedForLong(failure);
  return isOfBundle(failure) || failure instanceof TurnpikeError ? failure : storeUnavailable(failure);
}

/** Whether it fails because of a bundle, as opposed to the store, which would accept the others. */
function isOfBundle(failure: unknown): boolean {
  return [BrokenInvariant, TypeError, RangeError, RowsLocked].some((kind) => failure instanceof kind);
}
