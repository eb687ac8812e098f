// Adds up what this service recorded of a provider on some days, record by record, in bounded memory.

import { DAY_MS } from '../base/clock.ts';
import { nextTurn } from '../base/timers.ts';
import { type Catalog, explainPrice, hasTier, rateRecord, tierOfRates } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { type AttemptRecord, countsOf, type StoredUsageRecord } from '../ledger/ledger.ts';
import type { UsageStore } from '../reports/reports.ts';
import { BILL_DIGITS, type BillFeature, type BillUnits, readDecimal, STANDARD, UNITS_PER_NANO } from './bill-line.ts';

export interface OurFeature {
  /** Tokens or searches. */
  quantity: number;
  /** The part of `provider_cost`; that of records whose split is unknown is in the feature `other`. */
  cost: BillUnits;
  /** The quantity of messages without a `provider_cost`. */
  unpricedQuantity: number;
  /** The quantity of messages whose usage was not reported: the provider may have counted otherwise. */
  unreportedQuantity: number;
  unreportedCost: BillUnits;
  /** The most that attempts without a reported answer may have used: as much as the message used in the end. */
  lostQuantity: number;
  /** By the tier that was asked for, other than the standard one. */
  tierQuantities: Map<string, number>;
}

export interface OurModel {
  messages: number;
  /** Messages with a `provider_cost`. */
  pricedMessages: number;
  /** Attempts without a reported answer whose message used nothing in the end: what they cost is not known. */
  unknownAttempts: number;
  cost: BillUnits;
  features: Map<BillFeature, OurFeature>;
}

export interface OurDay {
  /** By the name at the provider. */
  models: Map<string, OurModel>;
}

/** The models beyond `billModelsPerDayMax`, together. */
export const OTHER_MODELS = '(other models)';

export interface UsageSource {
  usage: Pick<UsageStore, 'listUsage'>;
  catalog: Pick<Catalog, 'models'>;
}

/** By day; each of the days has an entry. Rejects with store_unavailable. */
export async function gatherUsage(
  { usage, catalog }: UsageSource,
  provider: string,
  days: readonly number[],
): Promise<Map<number, OurDay>> {
  const gathered = new Map<number, OurDay>(days.map((dayMs) => [dayMs, { models: new Map() }]));
  for (const { sinceMs, untilMs } of runsOf(days)) {
    const everything = { account: null, key: null, madeBy: null, outcome: null, sinceMs, untilMs: untilMs - 1 };
    for (let before: number | null = null; ; await nextTurn()) {
      const records = await usage.listUsage({ ...everything, before, limit: bounds.billRecordsAtOnce });
      for (const record of records) {
        const day = gathered.get(Math.floor(record.atMs / DAY_MS) * DAY_MS);
        if (day !== undefined) addRecord(day, record, provider, catalog);
      }
      const last = records.at(-1);
      if (last === undefined || records.length < bounds.billRecordsAtOnce) break;
      before = last.seq;
    }
  }
  return gathered;
}

/** Days that follow each other, as times. */
function runsOf(days: readonly number[]): { sinceMs: number; untilMs: number }[] {
  const runs: { sinceMs: number; untilMs: number }[] = [];
  for (const dayMs of days) {
    const last = runs.at(-1);
    if (last !== undefined && last.untilMs === dayMs) last.untilMs += DAY_MS;
    else runs.push({ sinceMs: dayMs, untilMs: dayMs + DAY_MS });
  }
  return runs;
}

/** Adds a record of any provider. Exported for tests. */
export function addRecord(
  day: OurDay,
  record: StoredUsageRecord,
  provider: string,
  catalog: Pick<Catalog, 'models'>,
): void {
  const counts = featureCounts(record);
  const isEmpty = counts.every(([, count]) => count === 0);
  for (const { model } of lostAttempts(record, provider)) {
    const ours = modelOf(day, model);
    if (isEmpty) ours.unknownAttempts++;
    for (const [feature, count] of counts) if (count > 0) featureOf(ours, feature).lostQuantity += count;
  }
  if (record.provider !== provider || record.upstreamModel === null || record.usageSource === 'none') return;
  const ours = modelOf(day, record.upstreamModel);
  ours.messages++;
  const cost = record.providerCost === null ? null : BigInt(record.providerCost) * UNITS_PER_NANO;
  const split = cost === null ? null : splitCost(record, cost, catalog);
  if (cost !== null) {
    ours.pricedMessages++;
    ours.cost += cost;
  }
  const tier = tierOfRates(record.rates) ?? STANDARD;
  for (const [feature, count] of counts) {
    if (count === 0) continue;
    const of = featureOf(ours, feature);
    of.quantity += count;
    if (cost === null) of.unpricedQuantity += count;
    if (record.usageSource !== 'reported') of.unreportedQuantity += count;
    if (tier !== STANDARD) of.tierQuantities.set(tier, (of.tierQuantities.get(tier) ?? 0) + count);
  }
  if (cost === null) return;
  for (const [feature, part] of split ?? [['other', cost] as const]) {
    const of = featureOf(ours, feature);
    of.cost += part;
    if (record.usageSource !== 'reported') of.unreportedCost += part;
  }
}

/**
 * Attempts at the provider that may have cost something although their usage was not reported: the provider began to answer, or
 * was given up while it might.
 */
function lostAttempts(record: StoredUsageRecord, provider: string): AttemptRecord[] {
  const { attempts } = record;
  return attempts.filter(
    ({ provider: at, result, status }) =>
      at === provider && result !== 'answered' && (status === null || (status >= 200 && status <= 299)),
  );
}

type Counts = readonly (readonly [BillFeature, number])[];

function featureCounts(record: StoredUsageRecord): Counts {
  return [
    ['input', record.inputTokens],
    ['output', record.outputTokens],
    ['cache_read', record.cacheReadTokens],
    ['cache_write', record.cacheWrite5mTokens + record.cacheWrite1hTokens],
    ['web_search', record.webSearches],
  ];
}

function modelOf({ models }: OurDay, name: string): OurModel {
  const kept = models.has(name) || models.size < bounds.billModelsPerDayMax ? name : OTHER_MODELS;
  const found = models.get(kept);
  if (found !== undefined) return found;
  const made = { messages: 0, pricedMessages: 0, unknownAttempts: 0, cost: 0n, features: new Map() };
  models.set(kept, made);
  return made;
}

export function featureOf({ features }: Pick<OurModel, 'features'>, feature: BillFeature): OurFeature {
  const found = features.get(feature);
  if (found !== undefined) return found;
  const made = {
    quantity: 0,
    cost: 0n,
    unpricedQuantity: 0,
    unreportedQuantity: 0,
    unreportedCost: 0n,
    lostQuantity: 0,
    tierQuantities: new Map(),
  };
  features.set(feature, made);
  return made;
}

const FEATURES: Readonly<Record<string, BillFeature>> = {
  input: 'input',
  output: 'output',
  cache_read: 'cache_read',
  cache_write_5m: 'cache_write',
  cache_write_1h: 'cache_write',
  web_search: 'web_search',
};

const ONE = 1_000_000n; // a multiplier in millionths

/**
 * The cost by feature, if the route's cost of that time still gives the recorded one; null if not. What it was rounded up by is
 * with the first feature.
 */
function splitCost(
  record: StoredUsageRecord,
  cost: BillUnits,
  { models }: Pick<Catalog, 'models'>,
): readonly (readonly [BillFeature, BillUnits])[] | null {
  const route = models
    .get(record.model)
    ?.routes.find(
      ({ provider, upstreamModel }) => provider === record.provider && upstreamModel === record.upstreamModel,
    );
  const tier = tierOfRates(record.rates) ?? STANDARD;
  if (!route?.cost || route.cost.fromMs > record.atMs) return null;
  const counts = countsOf(record);
  if (!hasTier(route.cost, tier)) return null;
  const explained = explainPrice(rateRecord(route.cost, counts, ONE, tier), counts);
  if (explained === null || explained.afterRounding !== record.providerCost) return null;
  const parts = explained.parts.map(
    ({ part, amount }) => [FEATURES[part] ?? 'other', readDecimal(amount, BILL_DIGITS)?.units ?? 0n] as const,
  );
  const rest = cost - parts.reduce((sum, [, part]) => sum + part, 0n);
  return [[parts[0]?.[0] ?? 'other', rest], ...parts];
}
