// Time limits of upstreams and of clients that do not read. One interval checks all messages of a gateway: a timer
// per message would cost more than the rest of its bookkeeping.

import { ABSENT, type Placed, Roster } from '../base/roster.ts';
import type { Settings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { Serves } from '../wire/wire.ts';

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

const LONG_MS = 10_000; // well below the socket idle timeout
const PAUSE_MS = 250; // of backpressure, after which a broken upstream may have given up a blocked write
const CAUGHT_UP_MS = 3_000; // of waiting for the upstream, after which buffered data is used up and the upstream is known to be alive

/** Time limits of one message, in milliseconds. */
export interface WatchBounds {
  /** From the start of an attempt to its first event or whole answer. */
  firstMs: number;
  /** Between events. */
  silenceMs: number;
  /** From the start of an attempt to its end, without time spent waiting for the client; a whole message has no such limit. */
  totalMs: number;
  /** Total time spent waiting for the client of a stream. */
  clientMs: number;
  /** After which an attempt without an answer is slow. */
  slowMs: number;
}

export function watchBounds(settings: Settings, isStream: boolean, serves: Serves): WatchBounds {
  const isWhole = !isStream && serves === 'messages';
  return {
    firstMs: (isStream ? settings.upstreamFirstEventSeconds : settings.upstreamAnswerSeconds) * 1000,
    silenceMs: settings.upstreamSilenceSeconds * 1000,
    totalMs: isWhole ? Number.POSITIVE_INFINITY : settings.upstreamStreamSeconds * 1000,
    clientMs: bounds.clientPausedSecondsMax * 1000,
    slowMs: (settings.upstreamConnectSeconds * 1000) / 2,
  };
}

/**
 * `silent`: the time limit of a wait was exceeded; `overlong`: that of the whole attempt; each may be reported again for a later
 * wait. `client_slow`: the client's time limit. `slow`: an attempt is slow to answer. `long`: the message is still open long after
 * its first wait began, in however many attempts.
 */
export type WatchEvent = 'silent' | 'overlong' | 'client_slow' | 'slow' | 'long';

/** The time limits of one message. */
export class SilenceWatch implements Placed {
  place = ABSENT;
  readonly #watches: SilenceWatches;
  readonly #bounds: WatchBounds;
  readonly #onEvent: (event: WatchEvent) => void;
  #firstWaitMs: number | null = null;
  #attemptSinceMs: number | null = null;
  #waitingSinceMs: number | null = null;
  /** Start of the current backpressure, and total time of earlier backpressure. */
  #pausedSinceMs: number | null = null;
  #pausedMs = 0;
  #isBehind = false;
  /** While behind: time spent waiting for the upstream since the last backpressure. */
  #awaitedMs = 0;
  /** Value of `#pausedMs` when the attempt began. */
  #pausedBeforeMs = 0;
  #hasAnswered = false;
  #isSlowReported = false;
  #isLongReported = false;
  #isFinished = false;

  constructor(watches: SilenceWatches, watchBounds: WatchBounds, onEvent: (event: WatchEvent) => void) {
    this.#watches = watches;
    this.#bounds = watchBounds;
    this.#onEvent = onEvent;
  }

  /** An attempt begins. */
  beginAttempt(): void {
    if (this.#isFinished) return;
    this.#hasAnswered = false;
    this.#isSlowReported = false;
    this.begin();
    this.#attemptSinceMs = this.#waitingSinceMs;
    this.#pausedBeforeMs = this.pausedMs(performance.now());
  }

  /** Backpressure begins: the client does not take more, so nothing is read from the upstream. */
  pause(nowMs = performance.now()): void {
    this.#pausedSinceMs ??= nowMs;
  }

  /** The client took it, or disconnected. */
  resume(nowMs = performance.now()): void {
    if (this.#pausedSinceMs === null) return;
    const lastedMs = nowMs - this.#pausedSinceMs;
    this.#pausedMs += lastedMs;
    this.#pausedSinceMs = null;
    if (lastedMs < PAUSE_MS) return;
    this.#isBehind = true;
    this.#awaitedMs = 0;
  }

  /** Total backpressure until `nowMs`. */
  pausedMs(nowMs: number): number {
    return this.#pausedMs + (this.#pausedSinceMs === null ? 0 : nowMs - this.#pausedSinceMs);
  }

  /** A clock that stops during backpressure, when elapsed time says nothing about the upstream. */
  activeMs(): number {
    const nowMs = performance.now();
    return nowMs - this.pausedMs(nowMs);
  }

  /**
   * There was backpressure and the upstream has not been seen alive since: if it breaks off, it may have given up a
   * blocked write.
   */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** A wait for the upstream begins. Backpressure does not count as silence. */
  begin(nowMs = performance.now()): void {
    if (this.#isFinished) return; // a reader that resumes after the message was ended elsewhere
    this.#waitingSinceMs = nowMs;
    this.#firstWaitMs ??= this.#waitingSinceMs;
    this.#watches.add(this);
  }

  /** The upstream made progress. */
  end(nowMs = performance.now()): void {
    if (this.#isBehind) {
      this.#awaitedMs += Math.max(0, passed(this.#waitingSinceMs, nowMs));
      this.#isBehind = this.#awaitedMs < CAUGHT_UP_MS;
    }
    this.#waitingSinceMs = null;
    this.#hasAnswered = true;
  }

  /** The attempt failed. */
  endAttempt(): void {
    this.#waitingSinceMs = null;
    this.#attemptSinceMs = null;
  }

  /** No more waiting for the upstream. The client may still wait, until `close`. */
  finish(): void {
    this.#isFinished = true;
    this.endAttempt();
  }

  close(): void {
    this.finish();
    this.#watches.remove(this);
  }

  look(nowMs: number): void {
    if (!this.#isLongReported && passed(this.#firstWaitMs, nowMs) >= LONG_MS) {
      this.#isLongReported = true;
      this.#onEvent('long');
    }
    const { firstMs, silenceMs, totalMs, clientMs, slowMs } = this.#bounds;
    const pausedMs = this.pausedMs(nowMs);
    const waitMs = this.#hasAnswered ? silenceMs : firstMs;
    const attemptMs = passed(this.#attemptSinceMs, nowMs) - (pausedMs - this.#pausedBeforeMs);
    if (pausedMs >= clientMs && !this.#isFinished) {
      this.finish();
      this.#onEvent('client_slow');
    } else if (passed(this.#waitingSinceMs, nowMs) >= waitMs || attemptMs >= totalMs) {
      this.endAttempt();
      this.#onEvent(attemptMs >= totalMs ? 'overlong' : 'silent');
    } else if (!this.#hasAnswered && !this.#isSlowReported && passed(this.#attemptSinceMs, nowMs) >= slowMs) {
      this.#isSlowReported = true;
      this.#onEvent('slow');
    }
  }
}

function passed(sinceMs: number | null, nowMs: number): number {
  return sinceMs === null ? Number.NEGATIVE_INFINITY : nowMs - sinceMs;
}
