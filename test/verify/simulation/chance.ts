// Random choices that are the same for the same seed.

import { makeRandom } from '../../support/random.ts';

export class Chance {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = makeRandom(seed);
  }

  /** A whole number from 0 to below `n`. */
  below(n: number): number {
    return Math.floor(this.#random() * n);
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True that often: 0 is never, 1 always. */
  is(probability: number): boolean {
    return this.#random() < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }
}
