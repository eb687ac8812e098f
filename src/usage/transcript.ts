// The text of an answer in progress, kept so that it can be counted if the provider does not count it.

import { bounds } from '../config/config.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const BYTES_FIRST = 1024;
const SHORT_BYTES = 64; // copied one by one: a view of the bytes costs more
const BYTES_PER_UNIT_MAX = 3; // of UTF-8, for a UTF-16 code unit

export class Transcript {
  #bytes = new Uint8Array(0);
  #kept = 0;
  #dropped = 0;

  get isEmpty(): boolean {
    return this.#kept === 0 && this.#dropped === 0;
  }

  addText(text: string): void {
    if (!this.#makeRoom(text.length * BYTES_PER_UNIT_MAX)) this.#dropped += Buffer.byteLength(text);
    else this.#kept += encoder.encodeInto(text, this.#bytes.subarray(this.#kept)).written;
  }

  /** Adds the UTF-8 in bytes.subarray(from, end). */
  addBytes(bytes: Uint8Array, from: number, end: number): void {
    if (!this.#makeRoom(end - from)) this.#dropped += end - from;
    else if (end - from > SHORT_BYTES) {
      this.#bytes.set(bytes.subarray(from, end), this.#kept);
      this.#kept += end - from;
    } else {
      const kept = this.#bytes;
      let at = this.#kept;
      for (let read = from; read < end; read++) kept[at++] = bytes[read] as number;
      this.#kept = at;
    }
  }

  /** The text that is kept: the beginning, up to `transcriptBytesMax`. */
  text(): string {
    return decoder.decode(this.#bytes.subarray(0, this.#kept));
  }

  /** Tokens of everything, if the kept text has `tokens`. */
  scale(tokens: number): number {
    return this.#kept === 0 ? tokens : Math.ceil((tokens * (this.#kept + this.#dropped)) / this.#kept);
  }

  #makeRoom(bytes: number): boolean {
    const needed = this.#kept + bytes;
    if (needed <= this.#bytes.length) return true;
    if (needed > bounds.transcriptBytesMax || this.#dropped > 0) return false;
    const grown = new Uint8Array(Math.min(bounds.transcriptBytesMax, Math.max(BYTES_FIRST, needed, 2 * this.#kept)));
    grown.set(this.#bytes.subarray(0, this.#kept));
    this.#bytes = grown;
    return true;
  }
}
