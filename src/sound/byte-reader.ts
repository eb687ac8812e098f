// Reads bytes that arrive in pieces, and keeps only those that are still needed.

import { assert } from '../base/assert.ts';

const BYTES_MAX = 1024 * 1024; // at once

export class ByteReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #isEnded = false;

  constructor(pieces: AsyncIterator<Uint8Array>) {
    this.#pieces = pieces;
  }

  /** The next bytes without a promise; null unless they have arrived. They are valid until the next call. */
  ready(count: number): Uint8Array | null {
    const end = this.#at + count;
    return end <= this.#bytes.length ? this.#bytes.subarray(this.#at, end) : null;
  }

  /** The next bytes, which stay; null if fewer are left, or for too many. They are valid until the next call. */
  async peek(count: number): Promise<Uint8Array | null> {
    if (count > BYTES_MAX) return null;
    while (this.ready(count) === null) if (!(await this.#read())) return null;
    return this.ready(count);
  }

  /** The next bytes; null as for `peek`. They are valid until the next call. */
  async take(count: number): Promise<Uint8Array | null> {
    const bytes = await this.peek(count);
    if (bytes !== null) this.#at += count;
    return bytes;
  }

  /** Passes over bytes that have arrived. */
  pass(count: number): void {
    this.#at += count;
    assert(this.#at <= this.#bytes.length, 'only bytes that have arrived are passed over');
  }

  /** Passes over bytes. Returns how many there were. */
  async skip(count: number): Promise<number> {
    let passed = 0;
    for (;;) {
      const now = Math.min(count - passed, this.#bytes.length - this.#at);
      this.#at += now;
      passed += now;
      if (passed === count || !(await this.#read())) return passed;
    }
  }

  async #read(): Promise<boolean> {
    if (this.#isEnded) return false;
    const { done, value } = await this.#pieces.next();
    this.#isEnded = done === true;
    if (done === true) return false;
    const rest = this.#bytes.subarray(this.#at);
    this.#bytes = rest.length === 0 ? value : Buffer.concat([rest, value]);
    this.#at = 0;
    return true;
  }
}

/** The bytes as numbers of their format. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
