// Models that a provider offers: their known prices, and the changes of the catalog by which they are sold. Pure.

import type { JsonObject, Serves } from '../wire/wire.ts';
import { describeDocuments } from './describe-documents.ts';
import type { PriceChangeInput, PriceInput } from './document.ts';
import type { Fault } from './fault.ts';
import { markUpPrice } from './mark-up.ts';
import {
  findListedCost,
  isPlatform,
  type ListedModel,
  type Platform,
  type PriceList,
} from './price-list/price-list.ts';
import { matchesAnyPattern } from './resolve-model.ts';
import type { CatalogDocument } from './store.ts';

/** A model of a provider's list. */
export interface ProviderOffer {
  /** Its name at the provider. */
  model: string;
  displayName: string | null;
  serves: Serves;
  maxInputTokens: number | null;
  maxOutputTokens: number | null;
  /** The provider's charge; null: not known. */
  cost: { price: PriceInput; changes: PriceChangeInput[] } | null;
  /** Where the cost was found: the provider's own list, or a row of the price list. */
  source: { provider: true } | { row: ListedModel } | null;
}

/** The provider's own price of a model; rates are decimals. */
export type StatedRates = Pick<PriceInput, 'input' | 'output' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h'>;

type Told = Pick<ProviderOffer, 'model' | 'displayName' | 'maxInputTokens' | 'maxOutputTokens'> & {
  rates: StatedRates | null;
};

/** An offer with its cost: the provider's own price, otherwise that of the price list. */
export function offerFrom({ rates, ...told }: Told, list: PriceList, platform: Platform): ProviderOffer {
  const row = findListedCost(list, platform, told.model);
  const known = {
    ...told,
    serves: row?.serves ?? 'messages',
    displayName: told.displayName ?? row?.displayName ?? null,
    maxInputTokens: told.maxInputTokens ?? row?.maxInputTokens ?? null,
    maxOutputTokens: told.maxOutputTokens ?? row?.maxOutputTokens ?? null,
  };
  if (rates !== null) {
    const price = { ...rates, long_context: null, fast: null, web_search_per_thousand: null };
    return { ...known, cost: { price, changes: [] }, source: { provider: true } };
  }
  if (row === null) return { ...known, cost: null, source: null };
  return { ...known, cost: { price: row.price, changes: row.priceChanges }, source: { row } };
}

/** The models of a platform that the price list has, for kinds without a list of their own. */
export function listedOffers(list: PriceList, platform: Platform): ProviderOffer[] {
  const rows = [...list.models.values()].filter(({ family }) => family === platform.kind);
  const names = new Set(rows.map(({ name }) => name.slice(name.lastIndexOf('/') + 1)));
  const told = { displayName: null, maxInputTokens: null, maxOutputTokens: null, rates: null };
  return [...names].map((model) => offerFrom({ model, ...told }, list, platform)).filter(({ cost }) => cost !== null);
}

export interface Wanted {
  /** The name at the provider. */
  model: string;
  /** The name to sell it under; absent: the same. */
  name?: string | undefined;
  aliases?: string[] | undefined;
  /** In 10^-4 percent. */
  markUp: bigint;
  /** The price to sell it at, which takes the place of cost and markup. */
  price?: JsonObject | undefined;
}

export interface Sale {
  document: { models: Record<string, object>; groups: Record<string, object> };
  faults: Fault[];
}

/**
 * The document that sells these models: new models with their price, a further route for existing ones, whose price stays, and the
 * groups that offer them. A model without a known price needs a stated one.
 */
export function sellOffers(
  documents: readonly CatalogDocument[],
  { name: provider, kind }: { name: string; kind: string },
  offers: ReadonlyMap<string, ProviderOffer>,
  wanted: readonly Wanted[],
  groupNames: readonly string[],
): Sale {
  const { document } = describeDocuments(documents);
  const sale: Sale = { document: { models: {}, groups: {} }, faults: [] };
  const report = (path: Fault['path'], message: string) => void sale.faults.push({ path, message });
  for (const [at, one] of wanted.entries()) {
    const offer = offers.get(one.model);
    const name = one.name ?? one.model;
    if (offer === undefined) report(['models', at, 'model'], `the provider does not list "${one.model}"`);
    else if (Object.hasOwn(sale.document.models, name))
      report(['models', at, 'name'], `"${name}" is in the request twice`);
    else {
      const model = soldModel(document.models[name], { provider, kind }, offer, one);
      if (model === null)
        report(
          ['models', at, 'price'],
          `is missing: no price of "${one.model}" is known, and a model without one cannot be sold`,
        );
      else sale.document.models[name] = model;
    }
  }
  const names = Object.keys(sale.document.models);
  for (const [at, group] of groupNames.entries()) {
    const current = document.groups[group];
    if (current === undefined) report(['groups', at], `there is no group "${group}"`);
    else {
      const missing = names.filter((name) => !matchesAnyPattern(current.models, name));
      if (missing.length > 0) sale.document.groups[group] = { ...current, models: [...current.models, ...missing] };
    }
  }
  return sale;
}

type Current = ReturnType<typeof describeDocuments>['document']['models'][string] | undefined;

function soldModel(
  current: Current,
  { provider, kind }: { provider: string; kind: string },
  { model, cost, source, ...offer }: ProviderOffer,
  { aliases = [], markUp, price }: Wanted,
): object | null {
  const route = {
    provider,
    model,
    ...(cost !== null && { cost: cost.price, ...(cost.changes.length > 0 && { cost_changes: cost.changes }) }),
  };
  if (current !== undefined) {
    const hasRoute = current.routes.some((one) => one.provider === provider && (one.model ?? model) === model);
    return hasRoute ? current : { ...current, routes: [...current.routes, route] };
  }
  const facts = {
    aliases,
    serves: offer.serves,
    display_name: offer.displayName,
    max_input_tokens: offer.maxInputTokens,
    max_output_tokens: offer.maxOutputTokens,
  };
  if (price !== undefined) return { ...facts, price, routes: [route] };
  if (cost === null) return null;
  // Without a markup, prices of the list follow its updates.
  if (markUp === 0n && source !== null && 'row' in source && !isPlatform(kind))
    return { ...facts, catalogue: true, routes: [{ provider, model, cost: 'catalogue' }] };
  const changes = cost.changes.length > 0 && { price_changes: markUpPrice(cost.changes, markUp) };
  return { ...facts, price: markUpPrice(cost.price, markUp), ...changes, routes: [route] };
}
