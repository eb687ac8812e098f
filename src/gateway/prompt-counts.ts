// Counts of prompts that providers are asked for before a message is refused. They cost their callers nothing, so that
// they are bounded: at once for all, and for an account within a minute those that made nothing payable.

import { FairRoom } from '../base/fair-room.ts';
import { bounds } from '../config.ts';

const MINUTE_MS = 60_000;

interface Minute {
  startMs: number;
  /** Asked for in it, without those that made a message payable. */
  inVain: number;
}

export class PromptCounts {
  readonly #room = new FairRoom(() => bounds.promptCountsMax);
  /** By account, oldest minute first. */
  readonly #minutes = new Map<number, Minute>();

  /** Whether a provider may be asked for one more count; then `giveBack` follows. */
  take(accountId: number, nowMs: number): boolean {
    const minute = this.#minuteOf(accountId, nowMs);
    if (minute.inVain >= bounds.promptCountsInVainPerMinuteMax) return false;
    if (this.#room.take(accountId, 1) !== null) return false;
    minute.inVain++;
    return true;
  }

  /** It has come, or will not come. */
  giveBack(accountId: number): void {
    this.#room.giveBack(accountId, 1);
  }

  /** It made its message payable. */
  noteUseful(accountId: number): void {
    const minute = this.#minutes.get(accountId);
    if (minute !== undefined) minute.inVain = Math.max(0, minute.inVain - 1);
  }

  #minuteOf(accountId: number, nowMs: number): Minute {
    const known = this.#minutes.get(accountId);
    if (known !== undefined && nowMs - known.startMs < MINUTE_MS) return known;
    this.#minutes.delete(accountId);
    const [oldest] = this.#minutes.keys();
    if (this.#minutes.size >= bounds.promptCountAccountsMax && oldest !== undefined) this.#minutes.delete(oldest);
    const minute = { startMs: nowMs, inVain: 0 };
    this.#minutes.set(accountId, minute);
    return minute;
  }
}
