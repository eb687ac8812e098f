// How late the event loop runs, smoothed: the least of the last delays that were seen. A single stall (a
// large body that is parsed, a machine that was busy elsewhere) is over when it is seen; what stands is load.

import { bounds } from '../config.ts';

export class LoopDelay {
  readonly #latestMs = new Float64Array(bounds.loopDelaysSeen);
  #next = 0;
  #standingMs = 0;

  /** Costs whoever asks nothing. */
  get standingMs(): number {
    return this.#standingMs;
  }

  /** How late a timer of `bounds.eventLoopSampleMs` was called. */
  see(delayMs: number): void {
    this.#latestMs[this.#next] = delayMs;
    this.#next = (this.#next + 1) % this.#latestMs.length;
    this.#standingMs = Math.min(...this.#latestMs);
  }
}
