// Converts between a model of the catalog document and the fields of its form, without loss. Pure.

import type { CatalogShape, ListedModelShape } from '../../../src/admin-api/shapes.ts';
import { TIERS, type TierName } from '../../labels.ts';

export type WrittenModel = CatalogShape['document']['models'][string];
type WrittenPrice = NonNullable<WrittenModel['price']>;
type WrittenRoute = WrittenModel['routes'][number];

export const RATES = ['input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'] as const;
export type RateName = (typeof RATES)[number];

export const rateLabels: Readonly<Record<RateName | 'web_search_per_thousand', string>> = {
  input: 'Input',
  output: 'Output',
  cache_read: 'Cache read',
  cache_write_5m: 'Cache write, 5 minutes',
  cache_write_1h: 'Cache write, 1 hour',
  web_search_per_thousand: 'Web search, per thousand',
};
/** Field values; empty if absent. */
type RateFields = Record<RateName, string>;

interface PriceFields extends RateFields, Record<TierName, RateFields> {
  hasLong: boolean;
  long_context: RateFields & { above: string };
  hasTier: Record<TierName, boolean>;
  /** Not edited: the rates that tiers have for long prompts. */
  longOfTiers: Partial<Record<TierName, object>>;
  web_search_per_thousand: string;
  /** Not edited. */
  units: NonNullable<WrittenPrice['units']> | null;
}

interface RouteFields {
  /** Identifies the route in this form while others are added and removed. */
  key: string;
  provider: string;
  model: string;
  priority: string;
  weight: string;
  concurrency: string;
  costMode: 'unknown' | 'listed' | 'stated';
  cost: PriceFields;
  /** Not edited, like `protocol`. */
  cost_changes: readonly object[];
  protocol?: string;
}

export interface ModelFields {
  name: string;
  display_name: string;
  aliases: string[];
  /** Not edited, like `price_changes`. */
  serves: WrittenModel['serves'];
  price_changes: readonly object[];
  isListed: boolean;
  price: PriceFields;
  max_input_tokens: string;
  max_output_tokens: string;
  default_max_tokens: string;
  /** `prefer: latency`. */
  prefersLatency: boolean;
  routes: RouteFields[];
}

const blankRates: RateFields = { input: '', output: '', cache_read: '', cache_write_5m: '', cache_write_1h: '' };
const blankPrice: PriceFields = {
  ...blankRates,
  hasLong: false,
  long_context: { above: '', ...blankRates },
  hasTier: { fast: false, flex: false, ultrafast: false },
  fast: blankRates,
  flex: blankRates,
  ultrafast: blankRates,
  longOfTiers: {},
  web_search_per_thousand: '',
  units: null,
};
let routeCount = 0;

export function blankRoute(provider = ''): RouteFields {
  const key = `route ${++routeCount}`;
  const limits = { priority: '0', weight: '1', concurrency: '' };
  return { key, provider, model: '', ...limits, costMode: 'unknown', cost: blankPrice, cost_changes: [] };
}

export function blankModel(provider = ''): ModelFields {
  return {
    name: '',
    display_name: '',
    aliases: [],
    serves: 'messages',
    price_changes: [],
    isListed: false,
    price: blankPrice,
    max_input_tokens: '',
    max_output_tokens: '',
    default_max_tokens: '4096',
    prefersLatency: false,
    routes: [blankRoute(provider)],
  };
}

/** The fields of an existing model. `listed` is its current price if it comes from the price list. */
export function fieldsOfModel(name: string, model: WrittenModel, listed: WrittenPrice | null): ModelFields {
  const { price = listed } = model;
  return {
    name,
    display_name: model.display_name ?? '',
    aliases: [...model.aliases],
    serves: model.serves,
    price_changes: model.price_changes ?? [],
    isListed: model.catalogue === true,
    price: price === null ? blankPrice : fieldsOfPrice(price),
    max_input_tokens: textOf(model.max_input_tokens),
    max_output_tokens: textOf(model.max_output_tokens),
    default_max_tokens: textOf(model.default_max_tokens),
    prefersLatency: model.prefer === 'latency',
    routes: model.routes.map(fieldsOfRoute),
  };
}

/** Whether a row is a model to sell, and not the price of a platform for its routes. */
export function isOfVendor({ name, family }: Pick<ListedModelShape, 'name' | 'family'>): boolean {
  return !name.startsWith(`${family}/`);
}

/** The fields of a model from the price list, with one route. */
export function fieldsOfListed(listed: ListedModelShape, provider: string): ModelFields {
  return {
    ...blankModel(),
    name: listed.name,
    display_name: listed.display_name,
    aliases: [...listed.aliases],
    serves: listed.serves,
    isListed: true,
    price: fieldsOfPrice(listed.price),
    max_input_tokens: textOf(listed.max_input_tokens),
    max_output_tokens: textOf(listed.max_output_tokens),
    routes: [{ ...blankRoute(provider), costMode: 'listed', cost: fieldsOfPrice(listed.price) }],
  };
}

function fieldsOfRoute(route: WrittenRoute): RouteFields {
  return {
    ...blankRoute(route.provider),
    model: route.model ?? '',
    priority: textOf(route.priority),
    weight: textOf(route.weight),
    concurrency: textOf(route.concurrency),
    costMode: route.cost === null ? 'unknown' : 'stated',
    cost: route.cost === null ? blankPrice : fieldsOfPrice(route.cost),
    cost_changes: route.cost_changes,
    ...(route.protocol !== undefined && { protocol: route.protocol }),
  };
}

function fieldsOfPrice(price: WrittenPrice): PriceFields {
  const { long_context: long, web_search_per_thousand: search } = price;
  const ofTiers = <Value>(read: (tier: NonNullable<WrittenPrice['fast']> | null) => Value) =>
    Object.fromEntries(TIERS.map((name) => [name, read(price[name] ?? null)])) as Record<TierName, Value>;
  const longs = Object.entries(ofTiers((tier) => tier?.long_context));
  return {
    ...fieldsOfRates(price),
    hasLong: long !== null,
    long_context: long === null ? blankPrice.long_context : { above: String(long.above), ...fieldsOfRates(long) },
    hasTier: ofTiers((tier) => tier !== null),
    ...ofTiers((tier) => (tier === null ? blankRates : fieldsOfRates(tier))),
    longOfTiers: Object.fromEntries(longs.filter(([, long]) => long !== undefined)),
    web_search_per_thousand: search ?? '',
    units: price.units ?? null,
  };
}

function fieldsOfRates(
  rates: Record<'input' | 'output', string> & Partial<Record<RateName, string | null>>,
): RateFields {
  return Object.fromEntries(RATES.map((name) => [name, rates[name] ?? ''])) as RateFields;
}

/** The model for POST /apply, which reports invalid numbers. */
export function documentOfModel(fields: ModelFields): object {
  return {
    aliases: fields.aliases,
    display_name: textOrNull(fields.display_name),
    serves: fields.serves,
    ...(fields.isListed
      ? { catalogue: true }
      : { price: documentOfPrice(fields.price), price_changes: fields.price_changes }),
    max_input_tokens: countOrNull(fields.max_input_tokens),
    max_output_tokens: countOrNull(fields.max_output_tokens),
    default_max_tokens: countOrNull(fields.default_max_tokens) ?? 4096,
    ...(fields.prefersLatency && { prefer: 'latency' }),
    routes: fields.routes.map(documentOfRoute),
  };
}

function documentOfRoute(route: RouteFields): object {
  return {
    provider: route.provider,
    model: textOrNull(route.model),
    ...(route.protocol !== undefined && { protocol: route.protocol }),
    priority: countOrNull(route.priority) ?? 0,
    weight: countOrNull(route.weight) ?? 1,
    concurrency: countOrNull(route.concurrency),
    cost: costOf(route),
    ...(route.costMode === 'stated' && { cost_changes: route.cost_changes }),
  };
}

function costOf({ costMode, cost }: RouteFields): object | string | null {
  if (costMode === 'unknown') return null;
  return costMode === 'listed' ? 'catalogue' : documentOfPrice(cost);
}

function documentOfPrice(price: PriceFields): object {
  const { above, ...long } = price.long_context;
  return {
    ...documentOfRates(price),
    long_context: price.hasLong ? { above: countOrNull(above), ...documentOfRates(long) } : null,
    fast: null,
    ...Object.fromEntries(
      TIERS.filter((name) => price.hasTier[name]).map((name) => [name, documentOfTier(price, name)]),
    ),
    web_search_per_thousand: textOrNull(price.web_search_per_thousand),
    ...(price.units !== null && { units: price.units }),
  };
}

function documentOfTier(price: PriceFields, name: TierName): object {
  const { [name]: long } = price.longOfTiers;
  return { ...documentOfRates(price[name]), ...(long !== undefined && { long_context: long }) };
}

/** POST /apply reports an empty input or output rate. */
function documentOfRates(rates: RateFields): Record<RateName, string | null> {
  return {
    input: rates.input.trim(),
    output: rates.output.trim(),
    cache_read: textOrNull(rates.cache_read),
    cache_write_5m: textOrNull(rates.cache_write_5m),
    cache_write_1h: textOrNull(rates.cache_write_1h),
  };
}

function textOf(value: string | number | null): string {
  return value === null ? '' : String(value);
}

export function textOrNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}

/** Also accepts "200,000" and "200 000". Returns an invalid number unchanged. */
export function countOrNull(text: string): number | string | null {
  const digits = text.replaceAll(/[\s,_]/g, '');
  if (digits === '') return null;
  return /^-?\d{1,15}$/.test(digits) ? Number(digits) : text;
}
