// Compares configured prices and costs with the price list. Values missing from the list are unknown. Pure.

import { isDeepStrictEqual } from 'node:util';
import { parseTimeMs } from '../base/checked-number.ts';
import { PRICED_TIERS } from '../wire/wire.ts';
import { formatRate, type PriceChangeInput, type PriceInput, SANDBOX_KIND } from './document.ts';
import type { Catalog, Model, ModelPrice, Route, TierPrice } from './model.ts';
import { printRates } from './price.ts';
import { laterPrices } from './price-changes.ts';
import {
  findListed,
  findListedCost,
  type ListedModel,
  type Platform,
  type PriceList,
} from './price-list/price-list.ts';
import { printUnitRates } from './unit-price.ts';

/** One part of a price or of a route's cost. Rates are decimals in USD, `long_context.above` is in tokens. */
export interface PriceDifference {
  model: string;
  /** "provider/model" for a route's cost; null for the price. */
  route: string | null;
  /** As in the file of `apply`: "input", "long_context.cache_read". */
  part: string;
  /** When the difference begins, in milliseconds since 1970; null: now. */
  fromMs: number | null;
  /** null if not configured. */
  configured: string | null;
  /** null if the list has no such part. */
  listed: string | null;
  asOf: string;
  /** The date of the list's row that the configured price was taken from; null for stated prices and for costs. */
  configuredAsOf: string | null;
}

export interface PriceComparison {
  differences: PriceDifference[];
  /** Models that are not on the list, in the catalog's order. */
  unknown: string[];
  /** Routes to models whose retirement their providers have announced. */
  retiring: { model: string; route: string; retiresOn: string }[];
}

/** Compares every model except the sandbox's and those of entries with `*`, which state one price for all, and every known cost, with the price list, from now on. */
export function comparePrices(catalog: Catalog, list: PriceList, nowMs: number): PriceComparison {
  const comparison: PriceComparison = { differences: [], unknown: [], retiring: [] };
  for (const model of catalog.models.values()) {
    if (model.entry !== null) continue;
    const routes = model.routes.filter((route) => catalog.providers.get(route.provider)?.kind !== SANDBOX_KIND);
    const platformOf = ({ provider }: Route) => catalog.providers.get(provider) ?? NO_PLATFORM;
    if (routes.length > 0) compareModel(model, routes, platformOf, list, nowMs, comparison);
  }
  return comparison;
}

const NO_PLATFORM: Platform = { kind: '', region: null };

function compareModel(
  model: Model,
  routes: readonly Route[],
  platformOf: (route: Route) => Platform,
  list: PriceList,
  nowMs: number,
  comparison: PriceComparison,
): void {
  const { differences, unknown, retiring } = comparison;
  const { name } = model;
  const upstreamNames = model.routes.map((route) => route.upstreamModel);
  const listed = findListed(list, [name, ...model.aliases, ...upstreamNames.slice(0, 1)]);
  const priced = { model: name, route: null, configuredAsOf: model.priceListedOn };
  if (listed === null) unknown.push(name);
  else differences.push(...differencesOf(priced, model.price, listed, nowMs));
  for (const route of routes) {
    const routeName = `${route.provider}/${route.upstreamModel}`;
    const listedRoute = findListedCost(list, platformOf(route), route.upstreamModel);
    if (listedRoute === null) continue;
    const costed = { model: name, route: routeName, configuredAsOf: null };
    if (route.cost !== null) differences.push(...differencesOf(costed, route.cost, listedRoute, nowMs));
    if (listedRoute.retiresOn !== null)
      retiring.push({ model: name, route: routeName, retiresOn: listedRoute.retiresOn });
  }
}

/** A version of a price, by parts as in a file. */
export interface PriceVersion {
  /** 0: from the beginning. */
  fromMs: number;
  price: Nested;
}

export interface PartDifference {
  part: string;
  before: string | null;
  after: string | null;
}

/** The differences of now, and at each later change of either side those that are new then. */
export function differencesFrom(
  nowMs: number,
  before: readonly PriceVersion[],
  after: readonly PriceVersion[],
  compare: (before: Nested, after: Nested) => PartDifference[],
): (PartDifference & { fromMs: number | null })[] {
  const laterMs = [...before, ...after].map(({ fromMs }) => fromMs).filter((ms) => ms > nowMs);
  const found: (PartDifference & { fromMs: number | null })[] = [];
  let known: PartDifference[] = [];
  for (const atMs of [nowMs, ...new Set(laterMs.sort((one, other) => one - other))]) {
    const inForce = (versions: readonly PriceVersion[]) =>
      versions.findLast(({ fromMs }) => fromMs <= atMs)?.price ?? {};
    const differences = compare(inForce(before), inForce(after));
    const fromMs = atMs === nowMs ? null : atMs;
    for (const one of differences)
      if (!known.some((earlier) => isDeepStrictEqual(earlier, one))) found.push({ ...one, fromMs });
    known = differences;
  }
  return found;
}

/** The versions of a price as written in a file or list. */
export function versionsOf(price: PriceInput, changes: readonly PriceChangeInput[]): PriceVersion[] {
  const later = changes.map(({ from, ...rates }) => ({ fromMs: parseTimeMs(from) ?? 0, price: rates }));
  return [{ fromMs: 0, price }, ...later];
}

/** Every part that has another value, or is on one side only. */
export function differentParts(before: Nested, after: Nested): PartDifference[] {
  const [old, now] = [partsOf(before), partsOf(after)];
  return pairsOf(new Set([...old.keys(), ...now.keys()]), old, now);
}

/**
 * Every listed part that has another value; a threshold that the list does not have is the only other difference. A service
 * tier without rates is not sold, which is no difference.
 */
function differentListedParts(configured: Nested, listed: Nested): PartDifference[] {
  const unsold = PRICED_TIERS.filter((tier) => (configured[tier] ?? null) === null);
  const compared = Object.entries(listed).filter(([name]) => !unsold.some((tier) => tier === name));
  const [charged, stated] = [partsOf(configured), partsOf(Object.fromEntries(compared))];
  const above = 'long_context.above';
  return pairsOf(new Set([...stated.keys(), ...(charged.has(above) ? [above] : [])]), charged, stated);
}

function pairsOf(
  parts: ReadonlySet<string>,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): PartDifference[] {
  return [...parts]
    .map((part) => ({ part, before: before.get(part) ?? null, after: after.get(part) ?? null }))
    .filter((pair) => pair.before !== pair.after);
}

function differencesOf(
  compared: Pick<PriceDifference, 'model' | 'route' | 'configuredAsOf'>,
  price: ModelPrice,
  listed: ListedModel,
  nowMs: number,
): PriceDifference[] {
  const charged = [price, ...laterPrices(price)].map((one) => ({ fromMs: one.fromMs, price: chargedPrice(one) }));
  const inList = versionsOf(listed.price, listed.priceChanges);
  return differencesFrom(nowMs, charged, inList, differentListedParts).map(({ before, after, ...rest }) => ({
    ...compared,
    ...rest,
    configured: before,
    listed: after,
    asOf: listed.asOf,
  }));
}

/** Every charged part, named as in a file, including those with a default: a cache without a rate costs the input rate. */
function chargedPrice(price: ModelPrice): Nested {
  const { tiers, webSearchPerThousand: search } = price;
  const charged = Object.entries(tiers).map(([tier, rates]) => [tier, chargedTier(rates)] as const);
  return {
    ...chargedTier(price),
    ...Object.fromEntries(charged),
    web_search_per_thousand: search === null ? null : formatRate(search),
    units: price.units ? (printUnitRates(price.units, formatRate) as Nested) : null,
  };
}

function chargedTier({ standard, longContext: long }: TierPrice): Nested {
  return {
    ...printRates(standard),
    long_context: long && { above: long.aboveTokens, ...printRates(long.rates) },
  };
}

interface Nested {
  readonly [part: string]: string | number | null | Nested;
}

/** All parts that are not null, by path. */
function partsOf(price: Nested, prefix = ''): Map<string, string> {
  const parts = Object.entries(price).flatMap(([name, part]): [string, string][] => {
    if (part === null) return [];
    return typeof part === 'object' ? [...partsOf(part, `${prefix}${name}.`)] : [[prefix + name, String(part)]];
  });
  return new Map(parts);
}
