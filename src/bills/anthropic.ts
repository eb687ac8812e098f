// Cost and usage reports of Anthropic's Admin API, with an admin key (sk-ant-admin…). Amounts are cents as decimal strings.
// https://platform.claude.com/docs/en/api/admin/cost_report, 2026-11-29
// https://platform.claude.com/docs/en/api/admin-api/usage-cost/get-messages-usage-report, 2026-11-29

import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import { isJsonObject, type JsonObject } from '../wire/wire.ts';
import { BillCollector, type BillFeature, type CollectedBill } from './bill-line.ts';
import { readDay } from './read-csv.ts';
import { addressOf, type BillingApi, eachPage, nextPageOf, objectsOf, plainText, requestPage } from './request-page.ts';
import { tierOnBill } from './tiers.ts';

const BASE_URL = 'https://api.anthropic.com';

/** The bill of the days from `sinceMs` until before `untilMs`. Rejects with bill_unavailable, invalid_request. */
export async function fetchAnthropicBill(api: BillingApi, sinceMs: number, untilMs: number): Promise<CollectedBill> {
  const collector = new BillCollector();
  const base = await addressOf(api, BASE_URL);
  const list = (path: string, groups: readonly string[]) => pagesOf(api, `${base}${path}`, groups, sinceMs, untilMs);
  for (let dayMs = sinceMs; dayMs < untilMs; dayMs += DAY_MS) collector.cover(dayMs);
  for await (const { dayMs, result } of list('/v1/organizations/cost_report', ['description']))
    collector.add(costRow(dayMs, result));
  for await (const { dayMs, result } of list('/v1/organizations/usage_report/messages', ['model', 'service_tier']))
    for (const row of usageRows(dayMs, result)) collector.add(row);
  return collector.collected();
}

async function* pagesOf(api: BillingApi, url: string, groups: readonly string[], sinceMs: number, untilMs: number) {
  const isoOf = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');
  const pages = eachPage(async (cursor) => {
    const query = new URLSearchParams({ starting_at: isoOf(sinceMs), ending_at: isoOf(untilMs), bucket_width: '1d' });
    query.set('limit', String(bounds.billDaysFetchedMax));
    for (const group of groups) query.append('group_by[]', group);
    if (cursor !== null) query.set('page', cursor);
    const headers = { 'x-api-key': api.credential.reveal(), 'anthropic-version': '2023-06-01' };
    const page = await requestPage(api, async () => ({ url: `${url}?${query}`, headers, body: null }));
    return { page, next: nextPageOf(page) };
  });
  for await (const page of pages)
    for (const bucket of objectsOf(page['data'], 'data')) {
      const dayMs = readDay(plainText(bucket['starting_at']), 'starting_at');
      if (dayMs < sinceMs || dayMs >= untilMs) continue; // buckets may be snapped to more than was asked for
      for (const result of objectsOf(bucket['results'], 'results')) yield { dayMs, result };
    }
}

const TOKEN_TYPES: ReadonlyMap<string, BillFeature> = new Map([
  ['uncached_input_tokens', 'input'],
  ['output_tokens', 'output'],
  ['cache_read_input_tokens', 'cache_read'],
  ['cache_creation.ephemeral_5m_input_tokens', 'cache_write'],
  ['cache_creation.ephemeral_1h_input_tokens', 'cache_write'],
]);

function costRow(dayMs: number, result: JsonObject) {
  const tier = tierOnBill(plainText(result['service_tier']));
  const type = plainText(result['cost_type']);
  const ofTokens = TOKEN_TYPES.get(plainText(result['token_type'])) ?? 'other';
  const feature =
    type === 'web_search' ? 'web_search' : type !== 'tokens' ? 'other' : tier === 'batch' ? 'batch' : ofTokens;
  const amount = { text: plainText(result['amount']), currency: plainText(result['currency']), isInCents: true };
  return {
    dayMs,
    model: plainText(result['model']),
    feature,
    tier,
    amount,
    at: 'a result of the cost report',
  } as const;
}

function usageRows(dayMs: number, result: JsonObject) {
  const { cache_creation: written, server_tool_use: tools } = result;
  const writes = isJsonObject(written) ? written : {};
  const tier = tierOnBill(plainText(result['service_tier']));
  const counts: readonly (readonly [BillFeature, unknown])[] = [
    ['input', result['uncached_input_tokens']],
    ['output', result['output_tokens']],
    ['cache_read', result['cache_read_input_tokens']],
    ['cache_write', writes['ephemeral_5m_input_tokens']],
    ['cache_write', writes['ephemeral_1h_input_tokens']],
  ];
  const model = plainText(result['model']);
  const at = 'a result of the usage report';
  const row = (feature: BillFeature, model: string, count: unknown, tier: string) => {
    const text = plainText(count);
    return text === '' || text === '0' ? [] : [{ dayMs, model, feature, tier, quantity: { text, times: 1 }, at }];
  };
  const searches = isJsonObject(tools) ? tools['web_search_requests'] : null;
  return [
    ...counts.flatMap(([feature, count]) => row(tier === 'batch' ? 'batch' : feature, model, count, tier)),
    ...row('web_search', '', searches, tierOnBill(null)), // their cost is about no model
  ];
}
