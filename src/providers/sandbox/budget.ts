// The work that one schema may cause, however it multiplies: a step is a value, a keyword, a character or a comparison.

export class Budget {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  /** Whether that many steps are left; once they are not, every further request is refused. */
  spend(steps = 1): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }
}
