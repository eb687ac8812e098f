// Reads that a key makes about itself. They always read the store, never a cache, so that balances and bills agree.
// Therefore each key occupies the store with one query at a time.

import { FairQueue } from '../base/fair-queue.ts';
import { bounds } from '../config.ts';
import { overloaded } from '../errors.ts';
import type { LedgerReader, UsageStore } from '../ledger/ledger.ts';

export type SelfServiceReader = Pick<LedgerReader, 'callerMeters' | 'openMessage'> & Pick<UsageStore, 'getUsage'>;

export class SelfServiceReads {
  readonly #reader: SelfServiceReader;
  readonly #queue = new FairQueue<number>(
    {
      running: bounds.selfServiceReadsMax,
      runningPerOwner: 1,
      tasks: bounds.selfServiceReadsMax,
      tasksPerOwner: bounds.selfServiceReadsPerKeyMax,
    },
    () => overloaded('Too many reads of keys and usage are waiting. Try again in a moment.'),
  );

  constructor(reader: SelfServiceReader) {
    this.#reader = reader;
  }

  /** Number of keys with a read in progress. */
  get size(): number {
    return this.#queue.size;
  }

  /** Reads after all earlier reads of this key. Rejects with overloaded if too many reads wait. */
  async read<Value>(keyId: number, read: (reader: SelfServiceReader) => Promise<Value>): Promise<Value> {
    using _turn = await this.#queue.enter(keyId);
    return await read(this.#reader);
  }
}
