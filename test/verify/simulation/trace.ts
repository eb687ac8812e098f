// Record of a run: a hash of every event, which shows whether two runs are the same, the latest events for debugging,
// and the number of events of each kind.

const LATEST = 40;

export class Trace {
  /** Events so far. */
  step = 0;
  readonly counts = new Map<string, number>();
  /** The first fault that was found. */
  fault: string | null = null;
  #hash = 0n;
  readonly #latest: string[] = [];

  get hash(): string {
    return this.#hash.toString(16).padStart(16, '0');
  }

  note(line: string): void {
    this.#hash = Bun.hash.xxHash64(line, this.#hash);
    this.#latest.push(`${this.step} ${line}`);
    if (this.#latest.length >= LATEST * 2) this.#latest.splice(0, LATEST);
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  /** Only the first fault is kept: what follows of it explains nothing. */
  fail(fault: string): void {
    this.fault ??= `step ${this.step}: ${fault}\n${this.#latest.slice(-LATEST).join('\n')}`;
  }
}
