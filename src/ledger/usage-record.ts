// The initial usage record of a message: nothing used, nothing charged, not ended.

import { assert } from '../base/assert.ts';
import { isWholeNumber } from '../base/checked-number.ts';
import type { Nano } from '../base/money.ts';
import { divideCost, type TokenCounts, UNITS, unitEntries } from '../wire/wire.ts';
import type { Attribution, UsageRecord } from './operation.ts';

type AdmittedFields = Pick<UsageRecord, 'requestId' | 'account' | 'key' | 'group' | 'model' | 'stream'> &
  Partial<Attribution>;

export const NO_ATTRIBUTION: Attribution = Object.freeze({
  tags: Object.freeze({}),
  session: null,
  agent: null,
  tagSet: 0,
});

/** The record that is written if the message is never ended. */
export function emptyRecord(admitted: AdmittedFields): UsageRecord {
  const { requestId, account, key, group, model, stream } = admitted;
  const { tags, session, agent, tagSet } = { ...NO_ATTRIBUTION, ...admitted };
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
    tags,
    session,
    agent,
    tagSet,
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

/** The record at another cost, whose parts that units have change with it. */
export function atCost(record: UsageRecord, cost: Nano): UsageRecord {
  const { unitCosts } = record;
  if (unitCosts === undefined) return { ...record, cost };
  const shares = UNITS.flatMap((unit) => {
    const { [unit]: part } = unitCosts;
    return part === undefined ? [] : [[unit, BigInt(part)] as const];
  });
  return { ...record, cost, unitCosts: divideCost(cost, shares, BigInt(record.cost)) };
}

/** The counts that a record was billed by. */
export function countsOf(record: UsageRecord): TokenCounts {
  return {
    input: record.inputTokens,
    output: record.outputTokens,
    cacheRead: record.cacheReadTokens,
    cacheWrite5m: record.cacheWrite5mTokens,
    cacheWrite1h: record.cacheWrite1hTokens,
    webSearches: record.webSearches,
    ...(record.units !== undefined && { units: record.units }),
  };
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
      isWholeNumber(record.providerCost ?? 0) &&
      (record.units === undefined || unitEntries(record.units).every(([, count]) => isWholeNumber(count))),
    'the counts of a usage record are whole numbers and never negative',
  );
}

/** Throws BrokenInvariant if the amount cannot be held. */
export function assertAmount(amount: Nano): void {
  assert(isWholeNumber(amount), 'the hold of a message is a whole number of nanodollars and never negative');
}
