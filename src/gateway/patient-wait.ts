// Waits that say 'ping' when they last too long. One timer a stream, looked at when it fires: a timer
// for every event would cost as much as relaying it.

export class PatientWait {
  readonly #pingMs: number;
  #sinceMs = 0;
  #wake: ((word: 'ping') => void) | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(pingMs: number) {
    this.#pingMs = pingMs;
  }

  /** What the promise gives, or 'ping' when it has not come in time. It may be waited for again. One wait at a time. */
  for<Value>(pending: Promise<Value>): Promise<Value | 'ping'> {
    return new Promise((resolve, reject) => {
      this.#sinceMs = performance.now();
      this.#wake = resolve;
      this.#timer ??= setTimeout(() => this.#look(), this.#pingMs);
      pending.then(resolve, reject);
    });
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#wake = null;
  }

  #look(): void {
    this.#timer = null;
    if (this.#wake === null) return;
    const leftMs = this.#pingMs - (performance.now() - this.#sinceMs);
    if (leftMs > 0) this.#timer = setTimeout(() => this.#look(), leftMs);
    else this.#wake('ping'); // of no effect when what was waited for has come
  }
}
