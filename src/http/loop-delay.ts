// The lasting delay of the event loop: the minimum of the last samples, because a single stall is not load.

import { bounds } from '../config/config.ts';

export class LoopDelay {
  readonly #latestMs = new Float64Array(bounds.loopDelaysSeen);
  #next = 0;
  #standingMs = 0;

  /** Reading it costs nothing. */
  get standingMs(): number {
    return this.#standingMs;
  }

  /** Records how late a timer of `bounds.eventLoopSampleMs` fired. */
  see(delayMs: number): void {
    this.#latestMs[this.#next] = delayMs;
    this.#next = (this.#next + 1) % this.#latestMs.length;
    this.#standingMs = Math.min(...this.#latestMs);
  }
}
