// Bounds the token counts requested from providers before a message is refused. They are free for clients, so they
// are limited: in number at once, and per account and minute those that did not lead to admission.

import { FairShareQuota } from '../base/fair-share-quota.ts';
import { bounds } from '../config.ts';

const MINUTE_MS = 60_000;

interface Minute {
  startMs: number;
  /** Counts in this minute that did not lead to admission. */
  unsuccessful: number;
}

export class PromptCounts {
  readonly #room = new FairShareQuota(() => bounds.promptCountsMax);
  /** By account, oldest minute first. */
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
