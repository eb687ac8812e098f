// The initial usage record of a message: nothing used, nothing charged, not ended.

import { assert } from '../base/assert.ts';
import { isWholeNumber } from '../base/checked-number.ts';
import type { Nano } from '../base/money.ts';
import type { UsageRecord } from './operation.ts';

type AdmittedFields = Pick<UsageRecord, 'requestId' | 'account' | 'key' | 'group' | 'model' | 'stream'>;

/** The record that is written if the message is never ended. */
export function emptyRecord({ requestId, account, key, group, model, stream }: AdmittedFields): UsageRecord {
  return {
    requestId,
    atMs: 0,
    account,
    key,
    above: [],
    payer: account,
    person: null,
    group,
    model,
    provider: null,
    upstreamModel: null,
    stream,
    outcome: 'service_cut',
    status: 500,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWrite5mTokens: 0,
    cacheWrite1hTokens: 0,
    webSearches: 0,
    usageSource: 'none',
    cost: 0,
    writtenOff: 0,
    planPaid: 0,
    providerCost: null,
    rates: {},
    attempts: [],
    error: null,
    admittedMs: null,
    latencyMs: 0,
    firstTokenMs: null,
    meters: null,
  };
}

/**
 * The record of an answer whose hold was ended elsewhere first, as its client saw it: an error instead of the end of
 * a stream, or instead of the whole message. A whole message then costs nothing, so that a retry is not charged
 * twice.
 */
export function withoutItsEnd(record: UsageRecord): UsageRecord {
  if (record.outcome !== 'completed') return record;
  if (record.stream) return { ...record, outcome: 'service_cut' };
  const { atMs, provider, upstreamModel, providerCost, attempts, admittedMs, latencyMs } = record;
  return { ...emptyRecord(record), atMs, provider, upstreamModel, providerCost, attempts, admittedMs, latencyMs };
}

/** Throws BrokenInvariant if the record belongs to another message or has an invalid count. */
export function assertRecord(record: UsageRecord, of: { requestId: string; account: number; key: number }): void {
  assert(
    record.requestId === of.requestId && record.account === of.account && record.key === of.key,
    'the usage record has the request id of its message',
  );
  assert(isWholeNumber(record.cost), 'the cost of a message is a whole number of nanodollars and never negative');
  assert(
    isWholeNumber(record.inputTokens) &&
      isWholeNumber(record.outputTokens) &&
      isWholeNumber(record.cacheReadTokens) &&
      isWholeNumber(record.cacheWrite5mTokens) &&
      isWholeNumber(record.cacheWrite1hTokens) &&
      isWholeNumber(record.webSearches) &&
      isWholeNumber(record.status) &&
      isWholeNumber(record.providerCost ?? 0),
    'the counts of a usage record are whole numbers and never negative',
  );
}

/** Throws BrokenInvariant if the amount cannot be held. */
export function assertAmount(amount: Nano): void {
  assert(isWholeNumber(amount), 'the hold of a message is a whole number of nanodollars and never negative');
}
