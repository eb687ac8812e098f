// Cuts a text that arrives in pieces at the first stop sequence in it.

export class StopCutter {
  readonly #stops: readonly string[];
  #held = ''; // may be the beginning of a stop sequence
  #isCut = false;

  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  /** The text that is certain to stand before any stop sequence. */
  take(piece: string): string {
    if (this.#isCut || this.#stops.length === 0) return this.#isCut ? '' : piece;
    const text = this.#held + piece;
    const at = Math.min(...this.#stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0));
    this.#isCut = at < Number.POSITIVE_INFINITY;
    const end = this.#isCut ? at : text.length - this.#begunLength(text);
    this.#held = this.#isCut ? '' : text.slice(end);
    return text.slice(0, end);
  }

  /** The rest, at the end of the text. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }

  /** The length of the longest end of the text that begins a stop sequence. */
  #begunLength(text: string): number {
    const most = Math.max(...this.#stops.map((stop) => stop.length)) - 1;
    for (let length = Math.min(most, text.length); length > 0; length--) {
      const end = text.slice(-length);
      if (this.#stops.some((stop) => stop.startsWith(end))) return length;
    }
    return 0;
  }
}
