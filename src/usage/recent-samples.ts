// The last samples of some figure, and their quantiles.

export class RecentSamples {
  readonly #values: Float64Array;
  #next = 0;
  #size = 0;

  /** Keeps the last `samplesMax`; `values` are those of before, oldest first. */
  constructor(samplesMax: number, values: readonly number[] = []) {
    this.#values = new Float64Array(samplesMax);
    for (const value of values) this.add(value);
  }

  get size(): number {
    return this.#size;
  }

  /** What is told apart no finer than a ten-thousandth is short when it is stored. */
  add(value: number): void {
    this.#values[this.#next] = Math.round(value * 10_000) / 10_000;
    this.#next = (this.#next + 1) % this.#values.length;
    this.#size = Math.min(this.#size + 1, this.#values.length);
  }

  /** For each share (0.1), the sample that such a share of them is below; there must be one. */
  quantiles<const Shares extends readonly number[]>(...shares: Shares): { [At in keyof Shares]: number } {
    const sorted = this.#values.slice(0, this.#size).sort();
    const found = shares.map((share) => sorted[Math.min(this.#size - 1, Math.floor(share * this.#size))] as number);
    return found as { [At in keyof Shares]: number };
  }

  /** Oldest first. */
  list(): number[] {
    const start = this.#size < this.#values.length ? 0 : this.#next;
    return [...this.#values.subarray(start, this.#size), ...this.#values.subarray(0, start)];
  }
}
