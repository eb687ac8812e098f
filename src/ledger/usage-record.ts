// The usage record that a message begins with: nothing used, nothing charged, ended by nobody.

import type { UsageRecord } from './operation.ts';

type Known = Pick<UsageRecord, 'requestId' | 'account' | 'key' | 'group' | 'model' | 'stream'>;

/** The record as it is if nobody ever ends the message. */
export function emptyRecord({ requestId, account, key, group, model, stream }: Known): UsageRecord {
  return {
    requestId,
    atMs: 0,
    account,
    key,
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
    providerCost: null,
    rates: {},
    attempts: [],
    admittedMs: null,
    latencyMs: 0,
    firstTokenMs: null,
    meters: null,
  };
}
