// The ledger of a store with one process: decides in memory, on the caller's thread, and writes afterwards. An ending is
// answered once it is durable; admissions and extensions at once. A failed write is repeated until it succeeds. A bundle
// of changes may fail for good, so it is decided only while memory and disk agree, and other decisions wait for its outcome.

import { BrokenInvariant } from '../base/assert.ts';
import { machineTimers, sleep, type Timers, within } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import { admit, take } from './admit.ts';
import { applyOperation } from './apply-batch.ts';
import { type BatchFacts, GroupCommit } from './group-commit.ts';
import type {
  Admit,
  Answer,
  Bundle,
  Extend,
  Leave,
  Release,
  Settle,
  Settlement,
  Take,
  UsageRecord,
} from './operation.ts';
import type { ResidentRows } from './resident-rows.ts';
import type { Changes, Rows } from './rows.ts';
import type { LedgerGate, LedgerStore, MessageGate, ResidentStore } from './store.ts';
import { NothingTaken, storeIsSilent, storeUnavailable } from './store-failure.ts';
import { emptyRecord } from './usage-record.ts';

const RETRY_MS_FIRST = 50;
const RETRY_MS_MAX = 500;
const FLUSH_MS_MAX = 1_000;
const LATE_MS = 100; // between two looks for endings that have waited too long

const ENDED: Settlement = { ok: false, reason: 'ended' };

/** Answered once it is durable: an ending, or everything decided until now. */
interface Unfinished {
  account: number | null;
  /** When its submitter stops waiting. */
  untilMs: number;
  answer: Settlement;
  told: PromiseWithResolvers<Settlement>;
}

export class ResidentLedger implements LedgerGate, MessageGate, LedgerStore {
  onCommitted: (facts: BatchFacts) => void = () => {};
  onFailure: (failure: unknown) => void = () => {};
  readonly #store: ResidentStore;
  readonly #rows: ResidentRows;
  readonly #onBroken: (cause: unknown) => void;
  readonly #timers: Timers;
  readonly #bundles: GroupCommit;
  /** Endings only. */
  readonly #unfinished = new Set<Unfinished>();
  /** Answered after the next write. */
  #whenDurable: Unfinished[] = [];
  #isWriteDue = false;
  /** The next write includes young holds. */
  #isAllDue = false;
  #isTicking = false;
  #isLooking = false;
  /** Resolves when the write in progress has ended; null without one. */
  #writing: Promise<void> | null = null;
  #writingSinceMs = 0;
  #failure: TurnpikeError | null = null;
  /** Ends the pause before a failed write is repeated; null without one. */
  #retryNow: (() => void) | null = null;
  /** A bundle waits for a write, and fails with it. */
  #failBundle: ((failure: unknown) => void) | null = null;
  /** Decisions that wait for the outcome of a bundle; null without one. */
  #waiting: Set<() => void> | null = null;
  #batches = 0;

  /**
   * `onBroken` must end the process: the disk refuses what was decided, so no repetition can succeed, and a restart
   * continues with what is on the disk.
   */
  constructor(store: ResidentStore, onBroken: (cause: unknown) => void, timers: Timers = machineTimers) {
    this.#store = store;
    this.#rows = store.rows;
    this.#onBroken = onBroken;
    this.#timers = timers;
    this.#bundles = new GroupCommit(this, (facts) => this.onCommitted(facts), timers);
  }

  get queued(): number {
    return this.#waiting?.size ?? 0;
  }

  get unfinished(): number {
    return this.#unfinished.size;
  }

  batches(): number {
    return this.#batches + this.#bundles.batches();
  }

  admit(operation: Admit | Take): Answer | Promise<Answer> {
    if (this.#waiting !== null) return this.#afterBundle(() => this.admit(operation));
    this.#requireRoom(operation.account);
    this.#requireStore();
    const { isAhead } = this.#rows;
    const effect =
      operation.kind === 'take' ? take(this.#rowsNow(), operation) : admit(this.#rowsNow(), operation, true);
    this.#rows.put(effect);
    this.#writeLater();
    const { answer } = effect;
    if (answer.ok || answer.reason !== 'claim_answered' || !isAhead) return answer;
    // Told only once the answer of the first request is durable.
    return within(this.#timers, bounds.admissionWaitMsMax, this.finish(), storeIsSilent).then(() => answer);
  }

  change(operation: Extend | Leave): Answer | Promise<Answer> {
    if (this.#waiting !== null) return this.#afterBundle(() => this.change(operation));
    if (operation.kind !== 'leave') this.#requireStore();
    this.#writeLater();
    return applyOperation(this.#rowsNow(), operation);
  }

  end(operation: Settle | Release, waitMs: number, coCommitted: unknown[]): Promise<Settlement> {
    const told = Promise.withResolvers<Settlement>();
    const untilMs = performance.now() + waitMs;
    const ending: Unfinished = { account: operation.record.account, untilMs, answer: ENDED, told };
    this.#unfinished.add(ending);
    if (this.#waiting === null) this.#endNow(ending, operation, coCommitted);
    else this.#waiting.add(() => this.#endNow(ending, operation, coCommitted));
    this.#lookForLate();
    return told.promise;
  }

  /** Renewals of the lease are decided in memory, too, and all other bundles while memory and disk agree. */
  submit(bundle: Bundle): Promise<Answer[]> {
    return isRenewal(bundle) ? this.#renew(bundle) : this.#bundles.submit(bundle);
  }

  finish(): Promise<unknown> {
    const told = Promise.withResolvers<Settlement>();
    this.#whenDurable.push({ account: null, untilMs: Number.POSITIVE_INFINITY, answer: ENDED, told });
    this.#writeSoon();
    return told.promise;
  }

  /** Writes everything decided so far, so that reads of the database see it. A store that fails is not waited for. */
  async flush(): Promise<void> {
    if (!this.#rows.isAhead || this.#failure !== null) return;
    this.#isAllDue = true;
    await within(this.#timers, FLUSH_MS_MAX, this.finish(), storeIsSilent).catch(() => {});
  }

  /** For the bundles' group commit: one batch, decided while memory and disk agree. */
  async transact(bundles: readonly Bundle[], decideBatch: (rows: Rows) => Changes): Promise<void> {
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => {});
    this.#failBundle = failed.reject;
    try {
      if (this.#failure !== null && this.#isWriteLate()) throw new NothingTaken(this.#failure.cause);
      this.#retryNow?.();
      while (this.#writing !== null) await Promise.race([this.#writing, failed.promise]);
      this.#waiting = new Set();
      this.#isAllDue = true;
      this.#isWriteDue = true;
      this.#begin();
      await Promise.race([this.#writing, failed.promise]);
      this.#failBundle = null;
      this.#writingSinceMs = performance.now();
      this.#lookForLate();
      await this.#store.transact(bundles, decideBatch);
      this.#note(null);
    } finally {
      this.#failBundle = null;
      if (this.#store.isDoubtful) await this.#reload();
      const waiting = this.#waiting;
      this.#waiting = null;
      if (waiting !== null) for (const decide of waiting) decide();
      if (this.#isWriteDue) this.#timers.soon(() => this.#begin());
    }
  }

  #rowsNow(): ResidentRows {
    this.#store.readClock();
    return this.#rows;
  }

  #endNow(ending: Unfinished, operation: Settle | Release, coCommitted: unknown[]): void {
    try {
      const answer = applyOperation(this.#rowsNow(), operation);
      if (answer.ok && answer.kind === 'ended') ending.answer = answer;
      if (answer.ok) this.#rows.putCoCommitted(coCommitted);
    } catch (failure) {
      ending.told.reject(failure);
      this.#releaseUncharged(operation);
    }
    this.#whenDurable.push(ending);
    this.#writeSoon();
  }

  /** The hold must not stay open, whatever the record is. */
  #releaseUncharged({ requestId, record }: Settle | Release): void {
    try {
      const uncharged: UsageRecord = { ...emptyRecord(record), outcome: 'failed' };
      applyOperation(this.#rowsNow(), { kind: 'release', requestId, record: uncharged });
    } catch {
      // The record is of another message: there is no hold to release.
    }
  }

  /** The node renews its lease and ends lapsed holds: answered when durable, and never failed by the disk. */
  async #renew({ operations }: Bundle): Promise<Answer[]> {
    if (this.#waiting !== null) return this.#afterBundle(() => this.#renew({ operations }));
    let isRefused = false;
    const answers = operations.map((operation): Answer => {
      if (isRefused) return { ok: false, reason: 'bundle_refused' };
      const answer = applyOperation(this.#rowsNow(), operation);
      isRefused = !answer.ok;
      return answer;
    });
    await this.finish();
    return answers;
  }

  #afterBundle<Value>(decide: () => Value | Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting as Set<() => void>;
      const decideNow = () => {
        stopWaiting();
        try {
          resolve(decide());
        } catch (failure) {
          reject(failure);
        }
      };
      const stopWaiting = this.#timers.after(bounds.admissionWaitMsMax, () => {
        waiting.delete(decideNow);
        reject(storeIsSilent());
      });
      waiting.add(decideNow);
    });
  }

  #requireStore(): void {
    if (this.#failure !== null) throw new NothingTaken(this.#failure.cause);
  }

  /** Endings that wait for a slow disk are bounded, and so is each account's part of them. */
  #requireRoom(account: number): void {
    if (this.#unfinished.size < bounds.ledgerQueuePerAccountMax) return;
    let ofAccount = 0;
    for (const ending of this.#unfinished) if (ending.account === account) ofAccount++;
    if (this.#unfinished.size >= bounds.ledgerQueueMax || ofAccount >= bounds.ledgerQueuePerAccountMax)
      throw overloaded('The service is overloaded. Try again shortly.');
  }

  #writeLater(): void {
    if (this.#isTicking) return;
    this.#isTicking = true;
    this.#timers.after(bounds.ledgerWriteMs, () => {
      this.#isTicking = false;
      this.#writeSoon();
    });
  }

  #writeSoon(): void {
    if (this.#isWriteDue) return;
    this.#isWriteDue = true;
    if (this.#writing === null) this.#timers.soon(() => this.#begin());
  }

  /** Under load, endings are gathered a moment longer: a commit costs the same for one as for thirty. */
  #begin(): void {
    const isBundleWriting = this.#waiting !== null && this.#failBundle === null;
    if (this.#writing !== null || isBundleWriting || !this.#isWriteDue) return;
    this.#isWriteDue = false;
    const told = this.#whenDurable;
    this.#whenDurable = [];
    this.#writing = this.#write(told).then(() => {
      this.#writing = null;
      if (!this.#isWriteDue) return;
      if (told.length < bounds.ledgerGatherFrom) this.#timers.soon(() => this.#begin());
      else this.#timers.after(bounds.ledgerGatherMs, () => this.#begin());
    });
  }

  async #write(whenDurable: readonly Unfinished[]): Promise<void> {
    this.#writingSinceMs = performance.now();
    this.#store.readClock();
    const changes = this.#rows.takeUnwritten(this.#isAllDue);
    this.#isAllDue = false;
    if (this.#rows.hasYoungHolds) this.#writeLater();
    if (changes !== null) {
      this.#lookForLate();
      await this.#writeUntilDurable(changes);
      this.onCommitted({ bundles: whenDurable.length, ms: performance.now() - this.#writingSinceMs });
    }
    for (const unfinished of whenDurable) {
      this.#unfinished.delete(unfinished);
      unfinished.told.resolve(unfinished.answer);
    }
  }

  async #writeUntilDurable(changes: Changes): Promise<void> {
    const write = this.#store.prepareWrite(changes);
    for (let pauseMs = RETRY_MS_FIRST; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
      try {
        this.#batches++;
        this.#writingSinceMs = performance.now();
        await write();
        this.#rows.written();
        this.#note(null);
        return;
      } catch (failure) {
        if (failure instanceof BrokenInvariant) this.#onBroken(failure);
        this.#note(failure);
        await this.#pause(pauseMs);
      }
    }
  }

  /** Until the time is over, or a bundle asks for the repetition now. */
  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const stop = this.#timers.after(ms, resolve);
      this.#retryNow = () => {
        stop();
        resolve();
      };
    });
    this.#retryNow = null;
  }

  /** A bundle's outcome is unknown: its rows are read from the disk before anything else is decided. */
  async #reload(): Promise<void> {
    for (;;) {
      try {
        return this.#store.reload();
      } catch (failure) {
        this.#note(failure);
        await sleep(this.#timers, RETRY_MS_MAX);
      }
    }
  }

  #note(failure: unknown): void {
    if (failure === null && this.#failure === null) return;
    if (failure === null) this.#failure = null;
    else this.#failure = failure instanceof TurnpikeError ? failure : storeUnavailable(failure);
    this.onFailure(this.#failure);
    if (this.#failure !== null) this.#failBundle?.(new NothingTaken(this.#failure.cause));
  }

  #isWriteLate(): boolean {
    return performance.now() - this.#writingSinceMs > bounds.admissionWaitMsMax;
  }

  /** Submitters of endings stop waiting after their time. A write that does not return counts as failed. */
  #lookForLate(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#timers.after(LATE_MS, () => {
      this.#isLooking = false;
      const nowMs = performance.now();
      for (const { untilMs, told } of this.#unfinished) if (untilMs <= nowMs) told.reject(storeIsSilent());
      const isWriting = this.#writing !== null || this.#waiting !== null;
      if (isWriting && this.#failure === null && this.#isWriteLate())
        this.#note(new NothingTaken('a write to the disk has not returned'));
      if (isWriting || this.#unfinished.size > 0) this.#lookForLate();
    });
  }
}

/** A node renews its lease, and ends lapsed holds in the same bundle. */
function isRenewal({ operations: [renewal, expiry, ...others] }: Bundle): boolean {
  if (renewal?.kind !== 'renew' || renewal.epoch === null || others.length > 0) return false;
  return expiry === undefined || expiry.kind === 'expire';
}
