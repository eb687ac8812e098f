// The ledger of a store with one process: decides in memory, on the caller's thread, and writes afterwards. An ending is
// answered once it is durable; admissions and extensions at once. A failed write is repeated until it succeeds. Bundles
// of changes may fail, so they are decided only while memory and disk agree, and nothing else is decided meanwhile.

import { BrokenInvariant } from '../base/assert.ts';
import { machineTimers, sleep, type Timers, within } from '../base/timers.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { admit } from './admit.ts';
import { decide } from './apply-batch.ts';
import { type BatchFacts, GroupCommit } from './group-commit.ts';
import type { Admit, Answer, Bundle, Extend, Leave, Release, Settle, Take } from './operation.ts';
import type { Changes, Effect, Rows } from './rows.ts';
import { StagedRows } from './staged-rows.ts';
import type { Commit, LedgerGate, LedgerStore, ResidentStore } from './store.ts';
import { NothingTaken, storeUnavailable } from './store-failure.ts';

const RETRY_MS_FIRST = 50;
const RETRY_MS_MAX = 2_000;
const FLUSH_MS_MAX = 1_000;

export class ResidentLedger implements LedgerGate, LedgerStore {
  onCommitted: (facts: BatchFacts) => void = () => {};
  onFailure: (failure: unknown) => void = () => {};
  readonly #store: ResidentStore;
  readonly #onBroken: (cause: unknown) => void;
  readonly #timers: Timers;
  readonly #bundles: GroupCommit;
  /** Decided since the last write began. */
  #staged: StagedRows;
  /** Endings in `#staged`, told when it is durable. */
  #ended: (() => void)[] = [];
  #isWriteDue = false;
  /** The next write includes young holds. */
  #isAllDue = false;
  #isTicking = false;
  /** Resolves when no write is in progress. */
  #writing: Promise<void> | null = null;
  #writingSinceMs = 0;
  #failure: TurnpikeError | null = null;
  /** A bundle waits for the write in progress, and fails with it. */
  #failBundle: ((failure: unknown) => void) | null = null;
  /** Resolves when the bundle in progress has its outcome: nothing is decided before. */
  #bundleEnd: Promise<void> | null = null;
  #batches = 0;

  /**
   * `onBroken` must end the process: the disk refuses what was decided, so no repetition can succeed, and a restart
   * continues with what is on the disk.
   */
  constructor(store: ResidentStore, onBroken: (cause: unknown) => void, timers: Timers = machineTimers) {
    this.#store = store;
    this.#onBroken = onBroken;
    this.#timers = timers;
    this.#staged = new StagedRows(store.rows);
    this.#bundles = new GroupCommit(this, (facts) => this.onCommitted(facts), timers);
  }

  batches(): number {
    return this.#batches + this.#bundles.batches();
  }

  async submit(bundle: Bundle): Promise<Answer[]> {
    const [operation] = bundle.operations;
    if (operation === undefined || bundle.operations.length > 1) return this.#bundles.submit(bundle);
    switch (operation.kind) {
      case 'admit':
      case 'take':
      case 'extend':
      case 'leave':
        while (this.#bundleEnd !== null) await this.#bundleEnd;
        return [this.#decide(operation, false)];
      case 'settle':
      case 'release':
        return [await this.#end(operation, bundle.coCommitted ?? [])];
      default:
        return this.#bundles.submit(bundle);
    }
  }

  decide(operation: Admit | Take): Answer | Promise<Answer> {
    if (this.#bundleEnd !== null) return this.#bundleEnd.then(() => this.decide(operation));
    return this.#decide(operation, true);
  }

  /** `isNew`: no message had the id before. */
  #decide(operation: Admit | Take | Extend | Leave, isNew: boolean): Answer {
    if (operation.kind !== 'leave') this.#requireStore();
    this.#store.readClock();
    const effect = operation.kind === 'admit' ? admit(this.#staged, operation, isNew) : decide(this.#staged, operation);
    this.#stage(effect);
    return effect.answer;
  }

  /** For the bundles' group commit: one batch, decided while memory and disk agree. */
  async transact(bundles: readonly Bundle[], decideBatch: (rows: Rows) => Changes): Promise<void> {
    const outcome = Promise.withResolvers<void>();
    this.#bundleEnd = outcome.promise;
    try {
      await this.#writeAll();
      await this.#store.transact(bundles, decideBatch);
    } finally {
      this.#bundleEnd = null;
      outcome.resolve();
    }
  }

  /** Writes everything decided so far, so that reads of the database see it. A store that fails is not waited for. */
  async flush(): Promise<void> {
    while (this.#bundleEnd !== null) await this.#bundleEnd;
    const isAhead = this.#writing !== null || this.#store.unwrittenHolds > 0 || !this.#staged.changes().isEmpty;
    if (!isAhead || this.#failure !== null) return;
    this.#isAllDue = true;
    const written = new Promise<void>((resolve) => {
      this.#ended.push(resolve);
      this.#writeSoon();
    });
    await within(this.#timers, FLUSH_MS_MAX, written, () => new Error('the store is slow')).catch(() => {});
  }

  async #end(operation: Settle | Release, coCommitted: unknown[]): Promise<Answer> {
    while (this.#bundleEnd !== null) await this.#bundleEnd;
    this.#store.readClock();
    const effect = decide(this.#staged, operation);
    this.#stage(effect);
    if (effect.answer.ok) this.#staged.putCoCommitted(coCommitted);
    await new Promise<void>((resolve) => {
      this.#ended.push(resolve);
      this.#writeSoon();
    });
    return effect.answer;
  }

  #stage(effect: Effect): void {
    this.#staged.put(effect);
    if (effect.accounts !== undefined) this.#writeLater();
  }

  #writeLater(): void {
    if (this.#isTicking) return;
    this.#isTicking = true;
    this.#timers.after(bounds.ledgerWriteMs, () => {
      this.#isTicking = false;
      this.#writeSoon();
    });
  }

  #requireStore(): void {
    if (this.#failure !== null) throw new NothingTaken(this.#failure.cause);
    if (this.#writing !== null && performance.now() - this.#writingSinceMs > bounds.admissionWaitMsMax)
      throw new NothingTaken('a write to the disk has not returned');
  }

  /** Under load, endings are gathered a moment longer: a commit costs the same for one as for thirty. */
  #writeSoon(): void {
    if (this.#isWriteDue) return;
    this.#isWriteDue = true;
    if (this.#writing === null) this.#timers.soon(() => this.#begin());
  }

  #begin(): void {
    if (this.#writing !== null || !this.#isWriteDue) return;
    this.#isWriteDue = false;
    const ended = this.#ended;
    this.#ended = [];
    this.#writing = this.#write(this.#takeOver(), ended).then(() => {
      this.#writing = null;
      if (!this.#isWriteDue) return;
      if (ended.length < bounds.ledgerGatherFrom) this.#timers.soon(() => this.#begin());
      else this.#timers.after(bounds.ledgerGatherMs, () => this.#begin());
    });
  }

  /** The rows to write; null if there are none. */
  #takeOver(): Commit | null {
    const changes = this.#staged.changes();
    this.#staged = new StagedRows(this.#store.rows);
    const commit = this.#store.takeOver(changes, this.#isAllDue);
    this.#isAllDue = false;
    if (this.#store.unwrittenHolds > 0) this.#writeLater();
    return commit;
  }

  async #write(commit: Commit | null, ended: readonly (() => void)[]): Promise<void> {
    this.#writingSinceMs = performance.now();
    if (commit !== null) await this.#writeUntilDurable(commit);
    this.onCommitted({ bundles: ended.length, ms: performance.now() - this.#writingSinceMs });
    for (const tell of ended) tell();
  }

  async #writeUntilDurable(commit: Commit): Promise<void> {
    for (let pauseMs = RETRY_MS_FIRST; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
      try {
        this.#batches++;
        await this.#store.write(commit);
        this.#note(null);
        return;
      } catch (failure) {
        if (failure instanceof BrokenInvariant) this.#onBroken(failure);
        this.#note(failure instanceof TurnpikeError ? failure : storeUnavailable(failure));
        await sleep(this.#timers, pauseMs);
      }
    }
  }

  /** Nothing is decided meanwhile. Rejects if a write fails. */
  async #writeAll(): Promise<void> {
    if (this.#failure !== null) throw new NothingTaken(this.#failure.cause);
    const failed = new Promise<void>((_, reject) => {
      this.#failBundle = reject;
    });
    try {
      while (this.#writing !== null) await Promise.race([this.#writing, failed]);
      const ended = this.#ended;
      this.#ended = [];
      this.#isWriteDue = false;
      this.#isAllDue = true;
      this.#writing = this.#write(this.#takeOver(), ended).then(() => {
        this.#writing = null;
        if (this.#isWriteDue) this.#begin();
      });
      await Promise.race([this.#writing, failed]);
    } finally {
      this.#failBundle = null;
    }
  }

  #note(failure: TurnpikeError | null): void {
    if (failure === null && this.#failure === null) return;
    this.#failure = failure;
    this.onFailure(failure);
    if (failure !== null) this.#failBundle?.(new NothingTaken(failure.cause));
  }
}
