// What callers ask about themselves is read from the store as it is at that moment, never from a cache: who
// compares a balance with a bill must find both of one truth. So it is the asking that is bounded.

import { bounds } from '../config.ts';
import { overloaded } from '../errors.ts';
import type { LedgerReader, UsageStore } from '../ledger/ledger.ts';

export type OwnReader = Pick<LedgerReader, 'callerMeters' | 'openMessage'> & Pick<UsageStore, 'getUsage'>;

interface Line {
  last: Promise<unknown>;
  length: number;
}

export class OwnReads {
  readonly #reader: OwnReader;
  readonly #lines = new Map<number, Line>();
  #waiting = 0;

  constructor(reader: OwnReader) {
    this.#reader = reader;
  }

  /** How many keys have a question under way. */
  get size(): number {
    return this.#lines.size;
  }

  /**
   * Reads when every earlier read for this key has ended: one key has the store busy with one question at a
   * time, however many it asks. Rejects with overloaded when its line, or all lines together, are full.
   */
  async read<Value>(keyId: number, read: (reader: OwnReader) => Promise<Value>): Promise<Value> {
    const line = this.#lines.get(keyId) ?? { last: Promise.resolve(), length: 0 };
    if (line.length >= bounds.ownReadsPerKeyMax || this.#waiting >= bounds.ownReadsMax)
      throw overloaded('Too many questions of this kind are waiting. Ask again in a moment.');
    this.#lines.set(keyId, line);
    line.length++;
    this.#waiting++;
    const turn = line.last.then(() => read(this.#reader));
    line.last = turn.catch(() => {}); // whoever asked hears of it; the next one's turn comes all the same
    try {
      return await turn;
    } finally {
      this.#waiting--;
      line.length--;
      if (line.length === 0) this.#lines.delete(keyId);
    }
  }
}
