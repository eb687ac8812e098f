// One message as the holder of its key sees it: usage, cost and price breakdown. Excludes what only the operator may
// see: providers, provider costs, write-offs.

import type { Caller } from '../accounts/accounts.ts';
import { formatUsd } from '../base/money.ts';
import { explainPrice, type PricePart } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import type { UsageRecord } from '../ledger/ledger.ts';
import type { Gateway } from './dependencies.ts';

const STATUS_IN_PROGRESS = 202;

/**
 * The JSON of GET /v1/usage/{request_id}; for a message in progress only its status. Throws object_not_found, with
 * the same text for unknown, refused and other keys' messages; store_unavailable, overloaded.
 */
export async function describeUsage(
  gateway: Gateway,
  { key }: Caller,
  requestId: string,
): Promise<{ status: number; body: string }> {
  const { open, record } = await gateway.selfServiceReads.read(key.id, async (reader) => ({
    // In this order: a message that ends between the two reads already has its record.
    open: await reader.openMessage(requestId),
    record: await reader.getUsage(requestId),
  }));
  if (record?.key === key.id) return { status: 200, body: JSON.stringify(usageJson(record)) };
  if (open?.key === key.id)
    return {
      status: STATUS_IN_PROGRESS,
      body: JSON.stringify({ request_id: requestId, outcome: 'in_progress' }),
    };
  throw new TurnpikeError('object_not_found', 'No message of this key has this request id.');
}

function usageJson(record: UsageRecord) {
  return {
    request_id: record.requestId,
    at: new Date(record.atMs).toISOString(),
    model: record.model,
    group: record.group,
    stream: record.stream,
    outcome: record.outcome,
    status: record.status,
    input_tokens: record.inputTokens,
    output_tokens: record.outputTokens,
    cache_read_input_tokens: record.cacheReadTokens,
    cache_creation_input_tokens: record.cacheWrite5mTokens + record.cacheWrite1hTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: record.cacheWrite5mTokens,
      ephemeral_1h_input_tokens: record.cacheWrite1hTokens,
    },
    web_searches: record.webSearches,
    usage_source: record.usageSource,
    cost: formatUsd(record.cost),
    charged: formatUsd(record.cost - record.writtenOff),
    rates: record.rates,
    price: priceJson(record),
    attempts: record.attempts.length,
    latency_ms: record.latencyMs,
    first_token_ms: record.firstTokenMs,
  };
}

/** null if nothing was priced, or the stored rates do not add up to the stored cost. */
function priceJson(record: UsageRecord) {
  const price = explainPrice(record.rates, {
    input: record.inputTokens,
    output: record.outputTokens,
    cacheRead: record.cacheReadTokens,
    cacheWrite5m: record.cacheWrite5mTokens,
    cacheWrite1h: record.cacheWrite1hTokens,
    webSearches: record.webSearches,
  });
  if (price === null || price.afterRounding !== record.cost) return null;
  return {
    parts: price.parts.map(partJson),
    multiplier: price.multiplier,
    before_rounding: price.beforeRounding,
    after_rounding: formatUsd(price.afterRounding),
  };
}

function partJson({ part, count, rate, amount }: PricePart) {
  return { part, [part === 'web_search' ? 'searches' : 'tokens']: count, rate, amount };
}
