// Costs of Bedrock by AWS Cost Explorer, GetCostAndUsage, signed with AWS keys that may call ce:GetCostAndUsage. Amounts are
// decimal strings.
// https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_GetCostAndUsage.html, 2026-11-29

import { DAY_MS } from '../base/clock.ts';
import { signRequest } from '../providers/providers.ts';
import { isJsonObject, type JsonObject } from '../wire/wire.ts';
import { readAmazonUsage, tokensInUnit } from './amazon-usage.ts';
import { BillCollector, type BillRow, type CollectedBill } from './bill-line.ts';
import { readDay } from './read-csv.ts';
import { addressOf, type BillingApi, eachPage, failedBill, objectsOf, plainText, requestPage } from './request-page.ts';

const BASE_URL = 'https://ce.us-east-1.amazonaws.com'; // the only region of the service
const TARGET = 'AWSInsightsIndexService.GetCostAndUsage';

/** The bill of the days from `sinceMs` until before `untilMs`. Rejects with bill_unavailable, invalid_request. */
export async function fetchAwsBill(api: BillingApi, sinceMs: number, untilMs: number): Promise<CollectedBill> {
  const collector = new BillCollector();
  const url = `${await addressOf(api, BASE_URL)}/`;
  for (let dayMs = sinceMs; dayMs < untilMs; dayMs += DAY_MS) collector.cover(dayMs);
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const question = {
    TimePeriod: { Start: dayOf(sinceMs), End: dayOf(untilMs) },
    Granularity: 'DAILY',
    Metrics: ['UnblendedCost', 'UsageQuantity'],
    GroupBy: ['SERVICE', 'USAGE_TYPE'].map((Key) => ({ Type: 'DIMENSION', Key })),
  };
  const pages = eachPage(async (cursor) => {
    const body = JSON.stringify({ ...question, ...(cursor !== null && { NextPageToken: cursor }) });
    const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': TARGET };
    const page = await requestPage(api, async () => {
      const now = new Date(api.nowMs());
      const signer = { credential: api.credential, service: 'ce', region: 'us-east-1', now };
      return { url, headers: await signRequest({ url, headers, body }, signer), body };
    });
    return { page, next: plainText(page['NextPageToken']) || null };
  });
  for await (const page of pages)
    for (const { TimePeriod: period, Groups: groups } of objectsOf(page['ResultsByTime'], 'ResultsByTime')) {
      const dayMs = readDay(isJsonObject(period) ? plainText(period['Start']) : '', 'TimePeriod.Start');
      if (dayMs < sinceMs || dayMs >= untilMs) continue;
      for (const group of objectsOf(groups, 'Groups')) addGroup(collector, dayMs, group);
    }
  return collector.collected();
}

/** Groups of other services than Bedrock are passed over. Credits are not in these groups' names, so an amount may be negative. */
function addGroup(collector: BillCollector, dayMs: number, { Keys: keys, Metrics: metrics }: JsonObject): void {
  const [service, usageType] = Array.isArray(keys) ? keys.map(plainText) : [];
  if (service === undefined || usageType === undefined)
    throw failedBill('a group does not name service and usage type');
  if (!/bedrock/i.test(service) && !/bedrock/i.test(usageType)) return;
  const { UnblendedCost: cost, UsageQuantity: used } = isJsonObject(metrics) ? metrics : {};
  if (!isJsonObject(cost)) throw failedBill('a group has no UnblendedCost');
  const text = plainText(cost['Amount']);
  const times = isJsonObject(used) ? tokensInUnit(plainText(used['Unit'])) : null;
  const row: BillRow = {
    dayMs,
    ...readAmazonUsage(usageType, service),
    amount: { text, currency: plainText(cost['Unit']), mayBeNegative: true },
    at: `the group ${usageType.slice(0, 100)}`,
    ...(isJsonObject(used) && times !== null && { quantity: { text: plainText(used['Amount']), times } }),
  };
  collector.add(row);
}
