// Bounds how long upstreams may be waited for. One clock looks at all messages of a gateway: a
// timer for each of them would cost more than the rest of its bookkeeping.

import { ABSENT, type Placed, Roster } from '../base/roster.ts';

const LOOK_MS = 250;

export class SilenceWatches {
  readonly #watches = new Roster<SilenceWatch>();
  #timer: ReturnType<typeof setInterval> | null = null;

  add(watch: SilenceWatch): void {
    this.#watches.add(watch);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS);
  }

  remove(watch: SilenceWatch): void {
    this.#watches.remove(watch);
  }

  #look(): void {
    const nowMs = performance.now();
    for (const watch of this.#watches.list()) watch.look(nowMs);
    if (this.#watches.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

const LONG_MS = 10_000; // well below what a socket may idle

/**
 * The bound of one message. `onSilence` may be called again for a later wait; `onLong` once, when it is long since
 * the first wait began and the message is not closed: its attempts and its billing may each be quick, and all of them not.
 */
export class SilenceWatch implements Placed {
  place = ABSENT;
  readonly #watches: SilenceWatches;
  readonly #boundMs: number;
  readonly #onSilence: () => void;
  #onLong: (() => void) | null;
  #firstWaitMs: number | null = null;
  #waitingSinceMs: number | null = null;
  #isFinished = false;

  constructor(watches: SilenceWatches, boundMs: number, onSilence: () => void, onLong: (() => void) | null = null) {
    this.#watches = watches;
    this.#boundMs = boundMs;
    this.#onSilence = onSilence;
    this.#onLong = onLong;
  }

  /** A wait for the upstream begins. Time in which nobody waits (a client that reads slowly) does not count. */
  begin(): void {
    if (this.#isFinished) return; // a reader that resumes when its message was ended elsewhere
    this.#waitingSinceMs = performance.now();
    this.#firstWaitMs ??= this.#waitingSinceMs;
    this.#watches.add(this);
  }

  /** The upstream made progress. */
  end(): void {
    this.#waitingSinceMs = null;
  }

  /** The upstream is waited for no more; the caller may still wait, until `close`. */
  finish(): void {
    this.#isFinished = true;
    this.#waitingSinceMs = null;
  }

  close(): void {
    this.finish();
    this.#watches.remove(this);
  }

  look(nowMs: number): void {
    if (this.#firstWaitMs !== null && nowMs - this.#firstWaitMs >= LONG_MS) this.#tellLong();
    if (this.#waitingSinceMs === null || nowMs - this.#waitingSinceMs < this.#boundMs) return;
    this.#waitingSinceMs = null;
    this.#onSilence();
  }

  #tellLong(): void {
    this.#onLong?.();
    this.#onLong = null;
  }
}
