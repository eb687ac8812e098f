// What a usage record and an amount must be. A store could not write another, neither when the
// message ends nor when its hold expires, so it is stopped before a hold depends on it.

import { assert } from '../base/assert.ts';
import type { Nano } from '../base/money.ts';
import type { UsageRecord } from './operation.ts';

/** Throws BrokenInvariant for a record that is of another message, or in which something counted is no count. */
export function assertRecord(record: UsageRecord, of: { requestId: string; account: number; key: number }): void {
  assert(
    record.requestId === of.requestId && record.account === of.account && record.key === of.key,
    'the record of a message is about that message',
  );
  assert(isCount(record.cost), 'a message costs a whole number of nanodollars, and never less than none');
  assert(
    isCount(record.inputTokens) &&
      isCount(record.outputTokens) &&
      isCount(record.cacheReadTokens) &&
      isCount(record.cacheWrite5mTokens) &&
      isCount(record.cacheWrite1hTokens) &&
      isCount(record.webSearches) &&
      isCount(record.status) &&
      isCount(record.providerCost ?? 0),
    'what a usage record counts is whole and never negative',
  );
}

/** Throws BrokenInvariant for what cannot be held. */
export function assertAmount(amount: Nano): void {
  assert(isCount(amount), 'a message holds a whole number of nanodollars, and never less than none');
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
