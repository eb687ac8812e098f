// Yields the targets of a message in order: none twice, none of a route that was given up. Bounded in number and
// time, and leaves attempts for other routes when one route has many credentials.

import { bounds } from '../../config.ts';
import type { Target } from './target.ts';

export class AttemptIterator {
  readonly #targets: readonly Target[];
  readonly #lastStartMs: number;
  #place = 0;
  #begun = 0;
  /** Route keys tried so far, and whether they were given up. null until a second target is requested. */
  #isGivenUp: Map<string, boolean> | null = null;

  constructor(targets: readonly Target[], secondsMax: number) {
    this.#targets = targets;
    this.#lastStartMs = performance.now() + secondsMax * 1000;
  }

  /** null when no target is left or a bound is reached. */
  next(): Target | null {
    if (this.#begun >= bounds.attemptsMax || performance.now() > this.#lastStartMs) return null;
    for (; ; this.#place++) {
      const target = this.#targets[this.#place];
      if (target === undefined) return null;
      if (this.#isGivenUp?.get(target.routeKey) === true || this.#crowdsOut(target)) continue;
      this.#place++;
      return target;
    }
  }

  /** The target is tried. */
  begin({ routeKey }: Target): void {
    this.#begun++;
    if (this.#targets.length < 2) return;
    this.#isGivenUp ??= new Map();
    this.#isGivenUp.set(routeKey, false);
  }

  /** No other credential of this route will succeed. */
  giveUp({ routeKey }: Target): void {
    this.#isGivenUp?.set(routeKey, true);
  }

  /** Whether the target repeats a tried route while the remaining attempts just suffice for untried routes. */
  #crowdsOut({ routeKey }: Target): boolean {
    const tried = this.#isGivenUp;
    if (this.#targets.length <= bounds.attemptsMax || tried?.has(routeKey) !== true) return false;
    const untried = new Set<string>();
    for (const later of this.#targets.slice(this.#place)) if (!tried.has(later.routeKey)) untried.add(later.routeKey);
    return this.#begun + untried.size >= bounds.attemptsMax;
  }
}
