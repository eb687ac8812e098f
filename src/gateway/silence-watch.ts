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

/** Of one message, in milliseconds. */
export interface WatchBounds {
  /** From the beginning of an attempt to its first event, or to its whole answer. */
  firstMs: number;
  /** Between events. */
  silenceMs: number;
  /** From the beginning of an attempt to its end. */
  totalMs: number;
  /** When an attempt is long under way without an answer. */
  slowMs: number;
}

export interface WatchHooks {
  /** A bound was reached. May be called again for a later wait. */
  onLate(): void;
  /** Once an attempt that is slow to answer. */
  onSlow?(): void;
  /** Once, when it is long since the first wait began and the message is not closed: its attempts and its billing may each be quick, and all of them not. */
  onLong?(): void;
}

/** The bounds of one message. */
export class SilenceWatch implements Placed {
  place = ABSENT;
  readonly #watches: SilenceWatches;
  readonly #bounds: WatchBounds;
  readonly #hooks: WatchHooks;
  #firstWaitMs: number | null = null;
  #attemptSinceMs: number | null = null;
  #waitingSinceMs: number | null = null;
  #hasAnswered = false;
  #isSlowTold = false;
  #isLongTold = false;
  #isFinished = false;

  constructor(watches: SilenceWatches, watchBounds: WatchBounds, hooks: WatchHooks) {
    this.#watches = watches;
    this.#bounds = watchBounds;
    this.#hooks = hooks;
  }

  /** An attempt begins, and is waited for. */
  beginAttempt(): void {
    if (this.#isFinished) return;
    this.#hasAnswered = false;
    this.#isSlowTold = false;
    this.begin();
    this.#attemptSinceMs = this.#waitingSinceMs;
  }

  /** A wait for the upstream begins. Time in which nobody waits (a client that reads slowly) is no silence. */
  begin(): void {
    if (this.#isFinished) return; // a reader that resumes when its message was ended elsewhere
    this.#waitingSinceMs = performance.now();
    this.#firstWaitMs ??= this.#waitingSinceMs;
    this.#watches.add(this);
  }

  /** The upstream made progress. */
  end(): void {
    this.#waitingSinceMs = null;
    this.#hasAnswered = true;
  }

  /** The attempt has failed. */
  endAttempt(): void {
    this.#waitingSinceMs = null;
    this.#attemptSinceMs = null;
  }

  /** The upstream is waited for no more; the caller may still wait, until `close`. */
  finish(): void {
    this.#isFinished = true;
    this.endAttempt();
  }

  close(): void {
    this.finish();
    this.#watches.remove(this);
  }

  look(nowMs: number): void {
    if (!this.#isLongTold && passed(this.#firstWaitMs, nowMs) >= LONG_MS) this.#tellLong();
    const { firstMs, silenceMs, totalMs, slowMs } = this.#bounds;
    const waitMs = this.#hasAnswered ? silenceMs : firstMs;
    const isLate = passed(this.#waitingSinceMs, nowMs) >= waitMs || passed(this.#attemptSinceMs, nowMs) >= totalMs;
    if (isLate) {
      this.endAttempt();
      this.#hooks.onLate();
    } else if (!this.#hasAnswered && !this.#isSlowTold && passed(this.#attemptSinceMs, nowMs) >= slowMs) {
      this.#isSlowTold = true;
      this.#hooks.onSlow?.();
    }
  }

  #tellLong(): void {
    this.#isLongTold = true;
    this.#hooks.onLong?.();
  }
}

function passed(sinceMs: number | null, nowMs: number): number {
  return sinceMs === null ? Number.NEGATIVE_INFINITY : nowMs - sinceMs;
}
