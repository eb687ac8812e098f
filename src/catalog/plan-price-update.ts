// Plans the prices of a newer list: which models take them, and how each part changes. Pure.

import { isDeepStrictEqual } from 'node:util';
import { PRICED_TIERS } from '../wire/wire.ts';
import {
  differencesFrom,
  differentParts,
  type PartDifference,
  type PriceVersion,
  versionsOf,
} from './compare-prices.ts';
import { type PriceInput, type RatesInput, storedModel, type TierInput } from './document.ts';
import { findListed, isPlatform, type ListedModel, type PriceList } from './price-list/price-list.ts';
import type { CatalogDocument } from './store.ts';

export interface PriceUpdate {
  /** Models that take a price, or only the newer date of an equal one. */
  models: string[];
  changes: (PartDifference & { model: string; fromMs: number | null; asOf: string })[];
  put: CatalogDocument[];
}

/**
 * A model takes the list's price if its own comes from a list, and not from a newer row; a stated price never changes. A
 * cost that equals the replaced price is replaced with it, except at a platform, which has its own prices. `names` limits the update; null: all models.
 */
export function planPriceUpdate(
  documents: readonly CatalogDocument[],
  list: PriceList,
  nowMs: number,
  names: readonly string[] | null,
): PriceUpdate {
  const update: PriceUpdate = { models: [], changes: [], put: [] };
  const platforms = new Set(
    documents
      .filter(({ kind, document }) => kind === 'provider' && isPlatform(String(document['kind'])))
      .map(({ name }) => name),
  );
  for (const entry of documents) {
    if (entry.kind !== 'model' || names?.includes(entry.name) === false) continue;
    const { data: model } = storedModel.safeParse(entry.document);
    if (model === undefined) continue; // it cannot be read, and is not served
    const listed = findListed(list, [entry.name, ...model.aliases, model.routes[0]?.model ?? entry.name]);
    if (listed === null || !takesPrice(model, listed)) continue;
    const { price, priceChanges: price_changes, asOf } = listed;
    const before = [model.price, model.price_changes] as const;
    const after = [price, price_changes] as const;
    if (asOf === model.price_source?.catalogue && isDeepStrictEqual(before, after)) continue;
    const routes = model.routes.map((route) =>
      !platforms.has(route.provider) && isDeepStrictEqual([route.cost, route.cost_changes], before)
        ? { ...route, cost: price, cost_changes: price_changes }
        : route,
    );
    const priced = { price, price_changes, price_source: { catalogue: asOf }, routes };
    update.models.push(entry.name);
    update.put.push({ ...entry, document: { ...entry.document, ...priced } });
    for (const one of differencesFrom(nowMs, chargedVersions(...before), chargedVersions(...after), differentParts))
      update.changes.push({ model: entry.name, ...one, asOf });
  }
  return update;
}

/** The versions as they are charged: a cache rate that a tier omits equals its input rate. */
function chargedVersions(...written: Parameters<typeof versionsOf>): PriceVersion[] {
  return versionsOf(...written).map(({ fromMs, price }) => {
    const tiers = PRICED_TIERS.filter((tier) => (price as PriceInput)[tier] !== undefined);
    const charged = tiers.map((tier) => [tier, chargedTier((price as PriceInput)[tier] ?? null)] as const);
    return { fromMs, price: { ...chargedTier(price as PriceInput), ...Object.fromEntries(charged) } };
  });
}

function chargedTier<Tier extends PriceInput | TierInput | null>(tier: Tier): Tier {
  if (tier === null) return tier;
  const long = tier.long_context;
  return { ...withCacheRates(tier), ...(long !== undefined && { long_context: long && withCacheRates(long) }) };
}

function withCacheRates<Tier extends object>(tier: Tier): Tier {
  const { input, cache_read, cache_write_5m, cache_write_1h } = tier as Tier & RatesInput;
  return {
    ...tier,
    cache_read: cache_read ?? input,
    cache_write_5m: cache_write_5m ?? input,
    cache_write_1h: cache_write_1h ?? input,
  };
}

function takesPrice({ serves, price_source }: ReturnType<typeof storedModel.parse>, listed: ListedModel): boolean {
  return price_source !== undefined && serves === listed.serves && price_source.catalogue <= listed.asOf;
}
