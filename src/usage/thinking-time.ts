// How long a stream has been thinking: until the first block that is not thinking, where the request lets the
// model think, and while a block of thinking is open. The clock is asked only where thinking begins or ends.

export class ThinkingTime {
  readonly #elapsedMs: () => number;
  #isWaiting = false; // for the first block that is not thinking
  #isInBlock = false;
  #sinceMs = 0; // while either
  #spentMs = 0;

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
  }

  /** The stream began, and what comes first may be thinking. */
  beginMessage(): void {
    this.#change(true, false);
  }

  beginBlock(isThinking: boolean): void {
    this.#change(this.#isWaiting && isThinking, isThinking);
  }

  endBlock(): void {
    this.#change(this.#isWaiting, false);
  }

  /** Nothing more is produced. */
  endMessage(): void {
    this.#change(false, false);
  }

  /** Milliseconds so far. */
  totalMs(): number {
    const sinceMs = this.#isWaiting || this.#isInBlock ? this.#elapsedMs() - this.#sinceMs : 0;
    return this.#spentMs + Math.max(0, sinceMs);
  }

  #change(isWaiting: boolean, isInBlock: boolean): void {
    const was = this.#isWaiting || this.#isInBlock;
    const is = isWaiting || isInBlock;
    if (was && !is) this.#spentMs = this.totalMs();
    if (is && !was) this.#sinceMs = this.#elapsedMs();
    this.#isWaiting = isWaiting;
    this.#isInBlock = isInBlock;
  }
}
