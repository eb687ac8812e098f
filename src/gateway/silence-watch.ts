// Bounds how long an upstream may be waited for. It costs one timer a message: a wait only notes
// its beginning, and the timer looks at it when it fires.

export class SilenceWatch {
  readonly #boundMs: number;
  readonly #onSilence: () => void;
  #waitingSinceMs: number | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(boundMs: number, onSilence: () => void) {
    this.#boundMs = boundMs;
    this.#onSilence = onSilence;
  }

  /** A wait for the upstream begins. Time in which nobody waits (a client that reads slowly) does not count. */
  begin(): void {
    this.#waitingSinceMs = performance.now();
    this.#timer ??= setTimeout(() => this.#look(), this.#boundMs);
  }

  /** The upstream made progress. */
  end(): void {
    this.#waitingSinceMs = null;
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#waitingSinceMs = null;
  }

  #look(): void {
    this.#timer = null;
    if (this.#waitingSinceMs === null) return; // the next wait sets the timer anew
    const leftMs = this.#boundMs - (performance.now() - this.#waitingSinceMs);
    if (leftMs <= 0) this.#onSilence();
    else this.#timer = setTimeout(() => this.#look(), leftMs);
  }
}
