// Which of its ways a message tries next: none twice, none of a route that was given up, so many in all and
// so long, and never so many credentials of one route that another route is not tried for it.

import { bounds } from '../../config.ts';
import type { Candidate } from './candidate.ts';

export class Tour {
  readonly #candidates: readonly Candidate[];
  readonly #lastStartMs: number;
  #place = 0;
  #begun = 0;
  /** Of lanes that were tried: whether they were given up. Null until a second way is asked for. */
  #isGivenUp: Map<string, boolean> | null = null;

  constructor(candidates: readonly Candidate[], secondsMax: number) {
    this.#candidates = candidates;
    this.#lastStartMs = performance.now() + secondsMax * 1000;
  }

  /** Null when nothing is left, or no more may be tried. */
  next(): Candidate | null {
    if (this.#begun >= bounds.attemptsMax || performance.now() > this.#lastStartMs) return null;
    for (; ; this.#place++) {
      const candidate = this.#candidates[this.#place];
      if (candidate === undefined) return null;
      if (this.#isGivenUp?.get(candidate.lane) === true || this.#crowdsOut(candidate)) continue;
      this.#place++;
      return candidate;
    }
  }

  /** It is tried. */
  begin({ lane }: Candidate): void {
    this.#begun++;
    if (this.#candidates.length < 2) return;
    this.#isGivenUp ??= new Map();
    this.#isGivenUp.set(lane, false);
  }

  /** No other credential will do better. */
  giveUp({ lane }: Candidate): void {
    this.#isGivenUp?.set(lane, true);
  }

  /** Whether it is one more of a route that was tried, and the attempts that are left are just enough for the others. */
  #crowdsOut({ lane }: Candidate): boolean {
    const tried = this.#isGivenUp;
    if (this.#candidates.length <= bounds.attemptsMax || tried?.has(lane) !== true) return false;
    const untried = new Set<string>();
    for (const later of this.#candidates.slice(this.#place)) if (!tried.has(later.lane)) untried.add(later.lane);
    return this.#begun + untried.size >= bounds.attemptsMax;
  }
}
