// Store failures: whether nothing was applied, or the outcome is unknown.

import { BrokenInvariant } from '../base/assert.ts';
import { formatId } from '../base/ids.ts';
import { TurnpikeError } from '../errors.ts';
import type { Bundle } from './operation.ts';

/**
 * Thrown by a store that does not know whether a batch was committed. Any other failure means that nothing was
 * applied.
 */
export class InDoubt extends Error {
  override name = 'InDoubt';
  /** The store's transaction number, if it has one. */
  readonly transaction: string | null;

  constructor(message: string, { transaction = null, cause }: { transaction?: string | null; cause?: unknown } = {}) {
    super(message, { cause });
    this.transaction = transaction;
  }
}

/** Nothing was applied, nor will be. Any other store_unavailable leaves the outcome unknown. */
export class NothingTaken extends TurnpikeError {
  constructor(cause: unknown) {
    super('store_unavailable', 'The ledger cannot be written.', { cause });
  }
}

/** Thrown by a store that applied nothing because another transaction holds locks on rows that some bundles need. */
export class RowsLocked extends Error {
  override name = 'RowsLocked';
  /** The first locked row that a bundle needs; null if it needs none. */
  readonly neededBy: (bundle: Bundle) => number | null;

  constructor(neededBy: (bundle: Bundle) => number | null, options: ErrorOptions) {
    super('rows are locked by another transaction', options);
    this.neededBy = neededBy;
  }
}

/** Rows were locked for too long; the store itself is available. */
export class LockedForLong extends NothingTaken {}

/** The error that a submitter receives for a store failure. */
export function storeUnavailable(failure: unknown): TurnpikeError {
  if (!(failure instanceof InDoubt)) return new NothingTaken(failure);
  const { cause } = failure;
  return new TurnpikeError('store_unavailable', 'The ledger cannot be written.', { cause });
}

/** Refuses only its own bundle; the rest of the batch commits. */
export class Outpaced extends BrokenInvariant {
  override name = 'Outpaced';
}

/** A stored row is not changed when this program cannot read all of it. Refuses only its own bundle. */
export class RowUnreadable extends BrokenInvariant {
  override name = 'RowUnreadable';

  constructor(of: 'acct' | 'key' | 'person', id: number, reason: string) {
    super(`the meters of ${formatId(of, id)} cannot be read: ${reason}`);
  }
}

/** The error of a store that neither answers nor fails. */
export function storeIsSilent(): TurnpikeError {
  return new TurnpikeError('store_unavailable', 'The ledger cannot be written.');
}

/** The store fails, does not answer, or has too much to do: a retry may succeed. */
export function isStoreBusy(failure: unknown): boolean {
  return isStoreUnavailable(failure) || (failure instanceof TurnpikeError && failure.code === 'overloaded');
}

export function isStoreUnavailable(failure: unknown): boolean {
  return failure instanceof TurnpikeError && failure.code === 'store_unavailable';
}
