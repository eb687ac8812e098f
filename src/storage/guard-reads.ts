// A read that fails is a store that is down, which callers are told as such: never as a key that
// does not exist.

import { TurnpikeError } from '../errors.ts';

type Reads = Record<string, (...values: never[]) => Promise<unknown>>;

/** The same functions; whatever one of them throws becomes store_unavailable. */
export function guardReads<Functions extends object>(reads: Functions): Functions {
  const guarded = Object.entries(reads as unknown as Reads).map(([name, read]) => [
    name,
    async (...values: never[]) => {
      try {
        return await read(...values);
      } catch (cause) {
        if (cause instanceof TurnpikeError) throw cause; // the question was at fault
        throw new TurnpikeError('store_unavailable', 'The store cannot be read at the moment.', { cause });
      }
    },
  ]);
  return Object.fromEntries(guarded) as Functions;
}
