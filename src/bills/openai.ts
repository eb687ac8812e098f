// Costs and usage of OpenAI's Administration API, with an admin key (sk-admin-…). Amounts are JSON numbers in USD, of which
// the text is read.
// https://platform.openai.com/docs/api-reference/usage/costs, 2026-11-29
// https://platform.openai.com/docs/api-reference/usage/completions, 2026-11-29

import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import { isJsonObject, type JsonObject } from '../wire/wire.ts';
import { BillCollector, type BillFeature, type BillRow, type CollectedBill, STANDARD } from './bill-line.ts';
import { readDay } from './read-csv.ts';
import {
  addressOf,
  type BillingApi,
  eachPage,
  failedBill,
  nextPageOf,
  objectsOf,
  plainText,
  requestPage,
} from './request-page.ts';
import { tierOnBill } from './tiers.ts';

const BASE_URL = 'https://api.openai.com';

/** The bill of the days from `sinceMs` until before `untilMs`. Rejects with bill_unavailable, invalid_request. */
export async function fetchOpenaiBill(api: BillingApi, sinceMs: number, untilMs: number): Promise<CollectedBill> {
  const collector = new BillCollector();
  const base = await addressOf(api, BASE_URL);
  const list = (path: string, groups: readonly string[]) => pagesOf(api, `${base}${path}`, groups, sinceMs, untilMs);
  for (let dayMs = sinceMs; dayMs < untilMs; dayMs += DAY_MS) collector.cover(dayMs);
  for await (const { dayMs, result } of list('/v1/organization/costs', ['line_item']))
    collector.add(costRow(dayMs, result));
  const usage = list('/v1/organization/usage/completions', ['model', 'batch', 'service_tier']);
  // Costs name a tier only where it has a price of its own.
  for await (const { dayMs, result } of usage)
    for (const row of usageRows(dayMs, result))
      collector.add(collector.has(row) ? row : { ...row, tier: row.feature === 'batch' ? 'batch' : STANDARD });
  return collector.collected();
}

async function* pagesOf(api: BillingApi, url: string, groups: readonly string[], sinceMs: number, untilMs: number) {
  const pages = eachPage(async (cursor) => {
    const query = new URLSearchParams({ start_time: String(sinceMs / 1_000), end_time: String(untilMs / 1_000) });
    query.set('bucket_width', '1d');
    query.set('limit', String(bounds.billDaysFetchedMax));
    for (const group of groups) query.append('group_by', group);
    if (cursor !== null) query.set('page', cursor);
    const headers = { authorization: `Bearer ${api.credential.reveal()}` };
    const page = await requestPage(api, async () => ({ url: `${url}?${query}`, headers, body: null }));
    return { page, next: nextPageOf(page) };
  });
  for await (const page of pages)
    for (const bucket of objectsOf(page['data'], 'data')) {
      const dayMs = readDay(plainText(bucket['start_time']), 'start_time');
      if (dayMs < sinceMs || dayMs >= untilMs) continue;
      for (const result of objectsOf(bucket['results'] ?? bucket['result'], 'results')) yield { dayMs, result };
    }
}

function costRow(dayMs: number, { amount, line_item: lineItem }: JsonObject): BillRow {
  if (!isJsonObject(amount)) throw failedBill('a cost has no amount');
  const item = readLineItem(plainText(lineItem));
  const { value, currency } = amount;
  return {
    dayMs,
    ...item,
    amount: { text: plainText(value), currency: plainText(currency), mayBeNegative: !item.isOfTokens },
    at: 'a result of the costs',
  };
}

/**
 * Model, feature and tier of a line item such as "gpt-5-2025-08-07, cached input" or "gpt-5-2025-08-07, input, flex". One
 * about no tokens, such as "web search tool calls", has no model.
 */
export function readLineItem(text: string): Pick<BillRow, 'model' | 'feature' | 'tier'> & { isOfTokens: boolean } {
  const [model = '', ...words] = text.split(',').map((word) => word.trim());
  const said = words.join(' ').toLowerCase();
  if (words.length === 0 || !/\b(input|output|batch)\b/.test(said)) {
    const feature = /web.?search/i.test(text) ? 'web_search' : 'other';
    return { model: feature === 'other' ? model : '', feature, tier: STANDARD, isOfTokens: false };
  }
  if (/\bbatch\b/.test(said)) return { model, feature: 'batch', tier: 'batch', isOfTokens: true };
  const feature: BillFeature = /\bcached?\b/.test(said) ? 'cache_read' : /\binput\b/.test(said) ? 'input' : 'output';
  const tier = tierOnBill(/\b(flex|priority)\b/.exec(said)?.[1]);
  return { model, feature, tier, isOfTokens: true };
}

/** The input tokens of a result include those that were cached. */
function usageRows(dayMs: number, result: JsonObject) {
  const isBatch = result['batch'] === true;
  const tier = isBatch ? 'batch' : tierOnBill(plainText(result['service_tier']));
  const countOf = (name: string) => {
    const text = plainText(result[name]);
    if (text !== '' && !/^\d{1,15}$/.test(text)) throw failedBill(`${name} of a result is not a count`);
    return BigInt(text === '' ? 0 : text);
  };
  const cached = countOf('input_cached_tokens');
  const input = countOf('input_tokens') - cached;
  if (input < 0n) throw failedBill('a result has more cached input tokens than input tokens');
  const counts: [BillFeature, bigint][] = [
    ['input', input],
    ['cache_read', cached],
    ['output', countOf('output_tokens')],
  ];
  const model = plainText(result['model']);
  return counts
    .filter(([, count]) => count > 0n)
    .map(([feature, count]) => ({
      dayMs,
      model,
      feature: isBatch ? ('batch' as const) : feature,
      tier,
      quantity: { text: String(count), times: 1 },
      at: 'a result of the usage',
    }));
}
