// Tells when a wait of the client has taken too long without a byte. One timer of the runtime serves many short waits.

export class PingTimer {
  readonly #pingMs: number;
  readonly #wake: () => void;
  /** null: nobody waits. */
  #sinceMs: number | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Calls `wake` once for each wait that takes `pingMs`. */
  constructor(pingMs: number, wake: () => void) {
    this.#pingMs = pingMs;
    this.#wake = wake;
  }

  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#timer ??= setTimeout(() => this.#look(), this.#pingMs);
  }

  end(): void {
    this.#sinceMs = null;
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#sinceMs = null;
  }

  #look(): void {
    this.#timer = null;
    if (this.#sinceMs === null) return;
    const leftMs = this.#pingMs - (performance.now() - this.#sinceMs);
    if (leftMs > 0) this.#timer = setTimeout(() => this.#look(), leftMs);
    else this.#wake();
  }
}
