// Where the configured prices and costs are not what the price list has: a pure function of the
// catalogue. What the list does not state is unknown to it, and no difference.

import { formatRate, type PriceInput, type RatesInput, SANDBOX_KIND } from './document.ts';
import type { Catalogue, Model, ModelPrice, Rates, Route } from './model.ts';
import { findListed, type ListedModel } from './price-list/price-list.ts';

/** One part of a price or of a route's cost. Rates are decimals in USD, `long_context.above` is in tokens. */
export interface PriceDifference {
  model: string;
  /** "provider/model" for a route's cost; null for the price. */
  route: string | null;
  /** As `apply` calls it: "input", "long_context.cache_read". */
  part: string;
  /** Null where it is not configured. */
  configured: string | null;
  /** Null where the list has no such part: a long context that costs no more. */
  listed: string | null;
  /** The day of the list. */
  asOf: string;
  /** The day of the list that the configured price was taken from; null for one that was stated, and for costs. */
  configuredAsOf: string | null;
}

/** A route to a model that its provider has announced the end of. */
export interface Retirement {
  model: string;
  route: string;
  retiresOn: string;
}

export interface PriceComparison {
  differences: PriceDifference[];
  /** Models that the list knows by no name, in the catalogue's order. */
  unknown: string[];
  retiring: Retirement[];
}

/** Compares every model that is not the sandbox's, and each cost that is known, with the price list. */
export function comparePrices(catalogue: Catalogue): PriceComparison {
  const comparison: PriceComparison = { differences: [], unknown: [], retiring: [] };
  for (const model of catalogue.models.values()) {
    const routes = model.routes.filter((route) => catalogue.providers.get(route.provider)?.kind !== SANDBOX_KIND);
    if (routes.length > 0) compareModel(model, routes, comparison);
  }
  return comparison;
}

function compareModel(model: Model, routes: readonly Route[], comparison: PriceComparison): void {
  const { differences, unknown, retiring } = comparison;
  const listed = findListed([
    model.name,
    ...model.aliases,
    ...model.routes.slice(0, 1).map((route) => route.upstreamModel),
  ]);
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
  const configuredParts = partsOfPrice(price);
  const listedParts = partsOfListed(listed.price);
  const above = 'long_context.above';
  const isDearerOnlyHere = configuredParts.has(above) && !listedParts.has(above);
  return [...listedParts.keys(), ...(isDearerOnlyHere ? [above] : [])]
    .map((part) => ({ part, configured: configuredParts.get(part) ?? null, listed: listedParts.get(part) ?? null }))
    .filter((pair) => pair.configured !== pair.listed)
    .map((pair) => ({ model, route, ...pair, asOf: listed.asOf, configuredAsOf }));
}

/** Everything that is charged, also where it is charged as something else: a cache without a rate costs the input's. */
function partsOfPrice(price: ModelPrice): Map<string, string> {
  const { standard, longContext, fast, webSearchPerThousand } = price;
  return partsOf({
    ...ratesOf('', standard),
    'long_context.above': longContext === null ? null : String(longContext.aboveTokens),
    ...(longContext !== null && ratesOf('long_context.', longContext.rates)),
    ...(fast !== null && ratesOf('fast.', fast)),
    web_search_per_thousand: webSearchPerThousand === null ? null : formatRate(webSearchPerThousand),
  });
}

function ratesOf(prefix: string, rates: Rates): Record<string, string> {
  return {
    [`${prefix}input`]: formatRate(rates.input),
    [`${prefix}output`]: formatRate(rates.output),
    [`${prefix}cache_read`]: formatRate(rates.cacheRead),
    [`${prefix}cache_write_5m`]: formatRate(rates.cacheWrite5m),
    [`${prefix}cache_write_1h`]: formatRate(rates.cacheWrite1h),
  };
}

/** Only what the list states. */
function partsOfListed(price: PriceInput): Map<string, string> {
  const { long_context: longContext, fast, web_search_per_thousand } = price;
  return partsOf({
    ...listedRatesOf('', price),
    'long_context.above': longContext === null ? null : String(longContext.above),
    ...(longContext !== null && listedRatesOf('long_context.', longContext)),
    ...(fast !== null && listedRatesOf('fast.', fast)),
    web_search_per_thousand,
  });
}

function listedRatesOf(prefix: string, rates: RatesInput): Record<string, string | null> {
  return {
    [`${prefix}input`]: rates.input,
    [`${prefix}output`]: rates.output,
    [`${prefix}cache_read`]: rates.cache_read,
    [`${prefix}cache_write_5m`]: rates.cache_write_5m,
    [`${prefix}cache_write_1h`]: rates.cache_write_1h,
  };
}

function partsOf(parts: Record<string, string | null>): Map<string, string> {
  return new Map(Object.entries(parts).filter((part): part is [string, string] => part[1] !== null));
}
