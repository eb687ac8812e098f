// Compares configured prices and costs with the price list. Values missing from the list are unknown. Pure.

import { formatRate, SANDBOX_KIND } from './document.ts';
import type { Catalog, Model, ModelPrice, Route } from './model.ts';
import { printRates } from './price.ts';
import { findListed, type ListedModel } from './price-list/price-list.ts';

/** One part of a price or of a route's cost. Rates are decimals in USD, `long_context.above` is in tokens. */
export interface PriceDifference {
  model: string;
  /** "provider/model" for a route's cost; null for the price. */
  route: string | null;
  /** As in the file of `apply`: "input", "long_context.cache_read". */
  part: string;
  /** null if not configured. */
  configured: string | null;
  /** null if the list has no such part. */
  listed: string | null;
  asOf: string;
  /** The day of the list that the configured price was taken from; null for stated prices and for costs. */
  configuredAsOf: string | null;
}

export interface PriceComparison {
  differences: PriceDifference[];
  /** Models that are not on the list, in the catalog's order. */
  unknown: string[];
  /** Routes to models whose retirement their providers have announced. */
  retiring: { model: string; route: string; retiresOn: string }[];
}

/** Compares every model except the sandbox's, and every known cost, with the price list. */
export function comparePrices(catalog: Catalog): PriceComparison {
  const comparison: PriceComparison = { differences: [], unknown: [], retiring: [] };
  for (const model of catalog.models.values()) {
    const routes = model.routes.filter((route) => catalog.providers.get(route.provider)?.kind !== SANDBOX_KIND);
    if (routes.length > 0) compareModel(model, routes, comparison);
  }
  return comparison;
}

function compareModel(model: Model, routes: readonly Route[], comparison: PriceComparison): void {
  const { differences, unknown, retiring } = comparison;
  const upstreamNames = model.routes.map((route) => route.upstreamModel);
  const listed = findListed([model.name, ...model.aliases, ...upstreamNames.slice(0, 1)]);
  if (listed === null) unknown.push(model.name);
  else differences.push(...differencesOf(model.name, null, model.price, listed, model.priceListedOn));
  for (const route of routes) {
    const name = `${route.provider}/${route.upstreamModel}`;
    const listedRoute = findListed([route.upstreamModel]);
    if (listedRoute === null) continue;
    if (route.cost !== null) differences.push(...differencesOf(model.name, name, route.cost, listedRoute, null));
    if (listedRoute.retiresOn !== null)
      retiring.push({ model: model.name, route: name, retiresOn: listedRoute.retiresOn });
  }
}

function differencesOf(
  model: string,
  route: string | null,
  price: ModelPrice,
  listed: ListedModel,
  configuredAsOf: string | null,
): PriceDifference[] {
  const configuredParts = partsOf(chargedPrice(price));
  const listedParts = partsOf(listed.price); // only what the list states
  const above = 'long_context.above';
  const isDearerOnlyHere = configuredParts.has(above) && !listedParts.has(above);
  return [...listedParts.keys(), ...(isDearerOnlyHere ? [above] : [])]
    .map((part) => ({ part, configured: configuredParts.get(part) ?? null, listed: listedParts.get(part) ?? null }))
    .filter((pair) => pair.configured !== pair.listed)
    .map((pair) => ({ model, route, ...pair, asOf: listed.asOf, configuredAsOf }));
}

/** Every charged part, named as in a file, including those with a default: a cache without a rate costs the input rate. */
function chargedPrice({ standard, longContext: long, fast, webSearchPerThousand: search }: ModelPrice): Nested {
  return {
    ...printRates(standard),
    long_context: long && { above: long.aboveTokens, ...printRates(long.rates) },
    fast: fast && printRates(fast),
    web_search_per_thousand: search === null ? null : formatRate(search),
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
