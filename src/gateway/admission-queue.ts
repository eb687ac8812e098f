// Bounds on uncounted prompts. A prompt holds its worst case until its provider has counted it, usually within two
// seconds. If only such holds of the same account stand in the way, a message waits for them instead of being refused.

import { FairShareQuota } from '../base/fair-share-quota.ts';
import { nextTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';

interface AccountQueue {
  /** The account's messages on this node whose prompts are not counted yet. */
  uncounted: number;
  /** Messages that must run alone and wait for any other one to end. */
  watching: number;
  /** Changes each time money is given back. */
  version: number;
  readonly waiting: Set<() => void>;
}

export class AdmissionQueue {
  readonly #accounts = new Map<number, AccountQueue>();
  #version = 0;

  /** A message was admitted that holds the worst case of its prompt until `counted` is called. */
  hold(accountId: number): void {
    this.#queueOf(accountId).uncounted++;
  }

  /** Until it is disposed, `wait` waits for any message of the account, not only for uncounted ones. */
  watch(accountId: number, isNeeded: boolean): Disposable | null {
    if (!isNeeded) return null;
    const queue = this.#queueOf(accountId);
    queue.watching++;
    return {
      [Symbol.dispose]: () => {
        queue.watching--;
        this.#dropUnused(accountId, queue);
      },
    };
  }

  #queueOf(accountId: number): AccountQueue {
    const known = this.#accounts.get(accountId);
    if (known !== undefined) return known;
    const queue: AccountQueue = { uncounted: 0, watching: 0, version: ++this.#version, waiting: new Set() };
    this.#accounts.set(accountId, queue);
    return queue;
  }

  #dropUnused(accountId: number, queue: AccountQueue): void {
    if (queue.uncounted === 0 && queue.watching === 0) this.#accounts.delete(accountId); // nothing else to wait for
  }

  /** The prompt was counted and the hold lowered, or the message ended. */
  counted(accountId: number): void {
    const queue = this.#accounts.get(accountId);
    if (queue === undefined) return;
    queue.uncounted--;
    this.release(accountId);
  }

  /** A message of the account lowered its hold or ended: waiting messages ask the ledger again. */
  release(accountId: number): void {
    const queue = this.#accounts.get(accountId);
    if (queue === undefined) return;
    queue.version = ++this.#version;
    this.#dropUnused(accountId, queue);
    if (queue.waiting.size > 0) for (const wake of queue.waiting) wake();
  }

  /** Read before asking the ledger and passed to `wait`, so that money given back in between is not missed. */
  version(accountId: number): number | null {
    return this.#accounts.get(accountId)?.version ?? null;
  }

  /**
   * Resolves to true if money was given back after `version` and the ledger should be asked again. False: no money
   * will be given back soon, none was within `waitMs`, too many messages wait, or the client disconnected.
   */
  async wait(accountId: number, version: number | null, waitMs: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#accounts.has(accountId)) await nextTurn(); // messages admitted in the same batch have not called `hold` yet
    const queue = this.#accounts.get(accountId);
    if (queue === undefined) return version !== null;
    if (queue.version !== version) return true;
    if (waitMs <= 0 || signal.aborted) return false;
    if (queue.waiting.size >= bounds.waitingForHoldsPerAccountMax) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const wake = () => resolve(true);
    const giveUp = () => resolve(false);
    const timer = setTimeout(giveUp, waitMs);
    signal.addEventListener('abort', giveUp);
    queue.waiting.add(wake);
    try {
      return await promise;
    } finally {
      queue.waiting.delete(wake);
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    }
  }
}

const MINUTE_MS = 60_000;

interface Minute {
  startMs: number;
  /** Counts in this minute that did not lead to admission. */
  unsuccessful: number;
}

export class PromptCounts {
  readonly #room = new FairShareQuota(() => bounds.promptCountsMax);
  /** By account, oldest minute first. */
  readonly #counters = new Set<string>();
  readonly #minutes = new Map<number, Minute>();

  /** Counts in progress. */
  get taken(): number {
    return this.#room.taken;
  }

  /** Whether one more count may be requested; if true, `giveBack` must follow. */
  take(accountId: number, nowMs: number): boolean {
    const minute = this.#minuteOf(accountId, nowMs);
    if (minute.unsuccessful >= bounds.unsuccessfulPromptCountsPerMinuteMax) return false;
    if (this.#room.take(accountId, 1) !== null) return false;
    minute.unsuccessful++;
    return true;
  }

  /** The same for a count after the end of a message, which leads to no admission. */
  takeAfterEnd(accountId: number): boolean {
    return this.#room.take(accountId, 1) === null;
  }

  /** This provider has counted. */
  noteCounter(provider: string): void {
    if (this.#counters.size < bounds.countersKnownMax) this.#counters.add(provider);
  }

  /** Whether a provider has counted since the start: others may take a count for a message. */
  isCounter(provider: string): boolean {
    return this.#counters.has(provider);
  }

  /** The count has ended. */
  giveBack(accountId: number): void {
    this.#room.giveBack(accountId, 1);
  }

  /** The count led to admission. */
  noteUseful(accountId: number): void {
    const minute = this.#minutes.get(accountId);
    if (minute !== undefined) minute.unsuccessful = Math.max(0, minute.unsuccessful - 1);
  }

  #minuteOf(accountId: number, nowMs: number): Minute {
    const known = this.#minutes.get(accountId);
    if (known !== undefined && nowMs - known.startMs < MINUTE_MS) return known;
    this.#minutes.delete(accountId);
    const [oldest] = this.#minutes.keys();
    if (this.#minutes.size >= bounds.promptCountAccountsMax && oldest !== undefined) this.#minutes.delete(oldest);
    const minute = { startMs: nowMs, unsuccessful: 0 };
    this.#minutes.set(accountId, minute);
    return minute;
  }
}
