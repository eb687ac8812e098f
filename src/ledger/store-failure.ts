// What a failure of the store says of what was asked: that nothing of it was taken, or that it cannot be told.

import { TurnpikeError } from '../errors.ts';
import type { Bundle } from './operation.ts';

/** Thrown by a store that cannot tell whether a batch was made. Whatever else a store throws says that nothing of it was. */
export class InDoubt extends Error {
  override name = 'InDoubt';
}

/** Nothing of what was asked was taken, nor will be. A store_unavailable that is not one of these says nothing of that. */
export class NothingTaken extends TurnpikeError {
  constructor(cause: unknown) {
    super('store_unavailable', 'The ledger cannot be written at the moment.', { cause });
  }
}

/** Thrown by a store that took nothing of a batch since somebody else has rows locked that some of its bundles need. */
export class RowsLocked extends Error {
  override name = 'RowsLocked';
  /** The first of these rows that a bundle needs, of that batch or another; null where it needs none. */
  readonly neededBy: (bundle: Bundle) => number | null;

  constructor(neededBy: (bundle: Bundle) => number | null, options: ErrorOptions) {
    super('rows are locked by somebody else', options);
    this.neededBy = neededBy;
  }
}

/** Of rows that somebody else has locked for long: the store itself is well. */
export class LockedForLong extends NothingTaken {}

/** What who asked is told of a store that failed. */
export function storeUnavailable(failure: unknown): TurnpikeError {
  if (!(failure instanceof InDoubt)) return new NothingTaken(failure);
  const { cause } = failure;
  return new TurnpikeError('store_unavailable', 'The ledger cannot be written at the moment.', { cause });
}
