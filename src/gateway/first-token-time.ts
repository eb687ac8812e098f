// How long a target takes to the first content of a stream: a mean that decays, so that recent streams count most and a
// target that is not used is measured again.

import { bounds } from '../config/config.ts';

export class FirstTokenTime {
  #meanMs: number | null = null;
  #measurements = 0;
  #measuredAtMs = 0;
  /** The last stream that was sent to be measured. */
  #triedAtMs = Number.NEGATIVE_INFINITY;

  /** The mean in milliseconds; null before the first measurement. */
  get meanMs(): number | null {
    return this.#meanMs;
  }

  /** A stream is sent. */
  began(nowMs: number): void {
    this.#triedAtMs = nowMs;
  }

  /** Its first content arrived after `ms`. */
  measured(ms: number, nowMs: number): void {
    const before = this.#meanMs ?? ms;
    const counted = Math.min(ms, Math.max(before, 1) * bounds.firstTokenGrowthMax);
    // The first measurements count equally, later ones by the time since the one before.
    const share = Math.max(1 - this.#decay(nowMs), 1 / (this.#measurements + 1));
    this.#meanMs = before + (counted - before) * share;
    this.#measurements++;
    this.#measuredAtMs = nowMs;
  }

  /**
   * For comparison with other targets. Without measurements it falls with time, down to 0, so that the target is tried
   * again, by one stream per trial time: others expect the mean meanwhile, and the worst of a target that has none.
   */
  expectedMs(nowMs: number): number {
    const isTried = nowMs - this.#triedAtMs < bounds.firstTokenTrialMs;
    if (isTried) return this.#meanMs ?? Number.POSITIVE_INFINITY;
    return this.#meanMs === null ? 0 : this.#meanMs * this.#decay(nowMs);
  }

  #decay(nowMs: number): number {
    return Math.exp(-Math.max(0, nowMs - this.#measuredAtMs) / bounds.firstTokenDecayMs);
  }
}
