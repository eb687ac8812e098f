// The exact cost of a message: summed in integers and rounded up to nanodollars once. Pure.

import { assert } from '../base/assert.ts';
import { exactNumber, isWholeNumber } from '../base/checked-number.ts';
import { formatDecimal, type Nano, parseDecimal } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import {
  divideCost,
  promptTokens,
  SERVICE_TIERS,
  type ServiceTier,
  type TokenCounts,
  UNITS,
  type Unit,
  type UnitCounts,
  type Units,
  unitEntries,
} from '../wire/wire.ts';
import { formatRate } from './document.ts';
import type { ModelPrice, Rates, Route, TierPrice } from './model.ts';
import {
  appliedUnitRates,
  isUnitPriced,
  mapUnitRates,
  PARTS_PER_UNIT,
  partsOf,
  recordedRateName,
  UNIT_PRICES,
  unitParts,
} from './unit-price.ts';

/** Cache writes requested; `1h` includes 5-minute writes. */
export type CacheWrites = 'none' | '5m' | '1h';

/** The most that a message may use, however its tokens split. */
export interface WorstCase {
  inputTokens: number;
  outputTokens: number;
  webSearches: number;
  /** Absent: none. */
  units?: Units;
  /** The output may be sound, which has a rate of its own. Absent: it is text. */
  speaks?: true;
  /** The only sound in the prompt is that of earlier answers. Absent: there is other sound, or none. */
  recalls?: true;
  /** As requested: a provider may serve the standard tier in its place. */
  tier: ServiceTier;
  /** Absent: any. */
  cacheWrites?: CacheWrites;
}

// Rates are in 10^-12 USD per million tokens and multipliers in millionths: a token times both is in 10^-24 USD, and
// a nanodollar has 10^15 of them.
const UNITS_PER_NANO = 1_000_000_000_000_000n;
const NANO_MAX = BigInt(bounds.nanoPerMessageMax);
const MILLION = 1_000_000n;
const RATE_DIGITS = 12;
const MULTIPLIER_DIGITS = 6;
const RECORDED_DIGITS = RATE_DIGITS + MULTIPLIER_DIGITS; // of recorded rates after the multiplier
const SEARCHES_TO_MILLION = 1_000n; // search prices are per thousand, token prices per million

/**
 * The cost in nanodollars, at most bounds.nanoPerMessageMax. Long-context rates apply to the whole request if its prompt
 * exceeds the threshold; each tier has its own, or none. A web search without a price costs nothing: checkFeatures
 * refuses requests for one, so the provider searched unasked. A tier requires rates, which checkFeatures ensures.
 */
export function priceMessage(
  price: ModelPrice,
  counts: TokenCounts,
  multiplierMillionths: bigint,
  tier: ServiceTier,
): Nano {
  if (counts.webSearches === 0 && counts.units === undefined) {
    const small = smallRates(appliedRates(price, promptTokens(counts), tier), multiplierMillionths);
    const sum =
      product(counts.input, small.input) +
      product(counts.output, small.output) +
      product(counts.cacheRead, small.cacheRead) +
      product(counts.cacheWrite5m, small.cacheWrite5m) +
      product(counts.cacheWrite1h, small.cacheWrite1h);
    if (sum <= Number.MAX_SAFE_INTEGER) return roundUpSmall(sum, small.perNano);
  }
  const units = messageUnits(price, counts, tier) * multiplierMillionths;
  if (counts.units === undefined) return roundUp(units);
  const text = appliedRates(price, promptTokens(counts), tier);
  return roundUpParts(
    units * PARTS_PER_UNIT + unitParts(price.units ?? null, counts.units, text) * multiplierMillionths,
  );
}

function messageUnits(price: ModelPrice, counts: TokenCounts, tier: ServiceTier): bigint {
  const rates = appliedRates(price, promptTokens(counts), tier);
  return (
    unitsOf(counts.input, rates.input) +
    unitsOf(counts.output, rates.output) +
    unitsOf(counts.cacheRead, rates.cacheRead) +
    unitsOf(counts.cacheWrite5m, rates.cacheWrite5m) +
    unitsOf(counts.cacheWrite1h, rates.cacheWrite1h) +
    searchUnits(price, counts.webSearches)
  );
}

/** At least priceMessage of any split of these counts, in this tier or the standard one. */
export function priceWorstCase(price: ModelPrice, most: WorstCase, multiplierMillionths: bigint): Nano {
  const { longContext } = price;
  const isShort = longContext === null || promptMost(most) <= longContext.aboveTokens;
  const isOfText = most.units === undefined && most.speaks === undefined;
  if (most.tier === 'standard' && isShort && most.webSearches === 0 && isOfText) {
    const small = smallRates(price.standard, multiplierMillionths);
    const sum =
      product(most.inputTokens, dearestInput(small, most.cacheWrites)) + product(most.outputTokens, small.output);
    if (sum <= Number.MAX_SAFE_INTEGER) return roundUpSmall(sum, small.perNano);
  }
  const dearest = dearestRates(price, most);
  const units =
    unitsOf(most.inputTokens, dearest.input) +
    unitsOf(most.outputTokens, dearest.output) +
    searchUnits(price, most.webSearches);
  if (most.units === undefined) return roundUp(units * multiplierMillionths);
  const parts = units * PARTS_PER_UNIT + unitParts(price.units ?? null, most.units, dearest);
  return roundUpParts(parts * multiplierMillionths);
}

/** The most output tokens whose worst case fits into `available`, from 0 to bounds.usageTokensMax. */
export function outputTokensThatFit(
  price: ModelPrice,
  most: Omit<WorstCase, 'outputTokens'>,
  multiplierMillionths: bigint,
  available: Nano,
): number {
  const dearest = dearestRates(price, most);
  const ofUnits = most.units === undefined ? 0n : unitParts(price.units ?? null, most.units, dearest);
  const before = unitsOf(most.inputTokens, dearest.input) + searchUnits(price, most.webSearches) + wholeUnits(ofUnits);
  return tokensFor(available, before * multiplierMillionths, dearest.output * multiplierMillionths);
}

/** The larger priceMessage of this tier and the standard one, by which the message may be billed as well. */
export function priceDearest(
  price: ModelPrice,
  counts: TokenCounts,
  multiplierMillionths: bigint,
  tier: ServiceTier,
): Nano {
  const standard = priceMessage(price, counts, multiplierMillionths, 'standard');
  return tier === 'standard' ? standard : Math.max(standard, priceMessage(price, counts, multiplierMillionths, tier));
}

/** The output tokens for which priceDearest of these prompt counts fits into `available`. */
export function outputTokensAfter(
  price: ModelPrice,
  prompt: TokenCounts,
  multiplierMillionths: bigint,
  tier: ServiceTier,
  available: Nano,
): number {
  const tokensIn = (one: ServiceTier) => {
    const { output } = appliedRates(price, promptTokens(prompt), one);
    const ofUnits =
      prompt.units === undefined
        ? 0n
        : unitParts(price.units ?? null, prompt.units, appliedRates(price, promptTokens(prompt), one));
    const before = messageUnits(price, { ...prompt, output: 0 }, one) + wholeUnits(ofUnits);
    return tokensFor(available, before * multiplierMillionths, output * multiplierMillionths);
  };
  return tier === 'standard' ? tokensIn(tier) : Math.min(tokensIn('standard'), tokensIn(tier));
}

function tokensFor(available: Nano, unitsBefore: bigint, unitsPerToken: bigint): number {
  const tokensMax = bounds.usageTokensMax;
  if (available < 0) return 0;
  if (available >= bounds.nanoPerMessageMax) return tokensMax;
  const left = BigInt(available) * UNITS_PER_NANO - unitsBefore;
  if (left < 0n) return 0;
  if (unitsPerToken === 0n) return tokensMax;
  const tokens = left / unitsPerToken;
  return tokens > BigInt(tokensMax) ? tokensMax : exactNumber(tokens);
}

/** The provider's charge; null if the route's cost, or a used part of it, is unknown. */
export function priceRoute(route: Route, counts: TokenCounts, tier: ServiceTier): Nano | null {
  const cost = route.cost;
  if (cost === null || !hasTier(cost, tier)) return null;
  if (counts.webSearches > 0 && cost.webSearchPerThousand === null) return null;
  if (lacksUnitPrice(cost, counts)) return null;
  return priceMessage(cost, counts, MILLION, tier);
}

/** Whether nothing that was counted has a rate: neither tokens of any modality, nor another unit. */
function lacksUnitPrice({ units: price = null }: ModelPrice, { input, output, units }: TokenCounts): boolean {
  if (units === undefined || input + output > 0) return false;
  return unitEntries(units).every(([unit]) => !unit.endsWith('_tokens') && !isUnitPriced(price, unit));
}

/**
 * The applied rates as decimals in USD per million tokens, for the usage record; `from` is when the version of the
 * price took effect, absent for the first one.
 */
export function rateRecord(
  price: ModelPrice,
  counts: TokenCounts,
  multiplierMillionths: bigint,
  tier: ServiceTier,
): Readonly<Record<string, string>> {
  const rates = appliedRates(price, promptTokens(counts), tier);
  const name = rates === tierPrice(price, tier).standard ? tier : LONG_NAMES[tier];
  const record = recordOf(rates, name, multiplierMillionths, price.fromMs);
  if (counts.webSearches === 0 && counts.units === undefined) return record;
  const ofUnits = counts.units === undefined ? [] : appliedUnitRates(price.units ?? null, counts.units);
  return {
    ...record,
    ...(counts.webSearches > 0 && { web_search_per_thousand: formatRate(price.webSearchPerThousand ?? 0n) }),
    ...Object.fromEntries(ofUnits.map(([name, rate]) => [name, formatRate(rate)])),
  };
}

/** Names of the rates of long prompts by their tier, as records have them. */
const LONG_NAMES = {
  standard: 'long_context',
  fast: 'fast_long_context',
  flex: 'flex_long_context',
  ultrafast: 'ultrafast_long_context',
} as const satisfies Record<ServiceTier, string>;

/** The service tier of recorded rates; null if they have none, such as those of an answer that is not billed. */
export function tierOfRates(rates: Readonly<Record<string, string>>): ServiceTier | null {
  const { tier: name } = rates;
  return SERVICE_TIERS.find((tier) => name === tier || name === LONG_NAMES[tier]) ?? null;
}

/** The rates of an answer that is not billed, for the usage record. */
export const UNBILLED_RATES: Readonly<Record<string, string>> = Object.freeze({
  tier: 'unbilled',
  multiplier: '1',
  input: '0',
  output: '0',
  cache_read: '0',
  cache_write_5m: '0',
  cache_write_1h: '0',
  web_search_per_thousand: '0',
});

interface KeptRecord {
  tier: string;
  multiplierMillionths: bigint;
  record: Readonly<Record<string, string>>;
}

/** The latest record by rates: most messages have the same. */
const keptRecords = new WeakMap<Rates, KeptRecord>();

/** Versions of a price do not share rates. */
function recordOf(rates: Rates, tier: string, multiplierMillionths: bigint, fromMs: number): KeptRecord['record'] {
  const kept = keptRecords.get(rates);
  if (kept?.multiplierMillionths === multiplierMillionths && kept.tier === tier) return kept.record;
  const multiplier = formatDecimal(multiplierMillionths, MULTIPLIER_DIGITS);
  const from = fromMs === 0 ? {} : { from: new Date(fromMs).toISOString() };
  const record = Object.freeze({ tier, multiplier, ...from, ...printRates(rates) });
  keptRecords.set(rates, { tier, multiplierMillionths, record });
  return record;
}

/** Rates by their names in files and records. */
const RATE_NAMES = {
  input: 'input',
  output: 'output',
  cache_read: 'cacheRead',
  cache_write_5m: 'cacheWrite5m',
  cache_write_1h: 'cacheWrite1h',
} as const;
type RateName = keyof typeof RATE_NAMES;

/** Rates are immutable: each is formatted once. */
const printedRates = new WeakMap<Rates, Record<RateName, string>>();

/** Decimals in USD per million tokens. */
export function printRates(rates: Rates): Record<RateName, string> {
  let printed = printedRates.get(rates);
  if (printed === undefined) {
    const entries = Object.entries(RATE_NAMES).map(([name, member]) => [name, formatRate(rates[member])]);
    printed = Object.fromEntries(entries) as Record<RateName, string>;
    printedRates.set(rates, printed);
  }
  return printed;
}

function appliedRates(price: ModelPrice, prompt: number, tier: ServiceTier): Rates {
  const { standard, longContext: long } = tierPrice(price, tier);
  return long !== null && prompt > long.aboveTokens ? long.rates : standard;
}

/** A prompt of at most `inputTokens` may stay below a long-context threshold, so the rates on both sides are considered. */
function dearestRates(
  price: ModelPrice,
  most: Pick<WorstCase, 'inputTokens' | 'units' | 'speaks' | 'tier' | 'cacheWrites'>,
): { input: bigint; output: bigint } {
  const { tier, cacheWrites = '1h' } = most;
  let dearest = dearestOf(price.standard, cacheWrites);
  const consider = (rates: Rates) => {
    const { input, output } = dearestOf(rates, cacheWrites);
    dearest = { input: larger(dearest.input, input), output: larger(dearest.output, output) };
  };
  for (const one of tier === 'standard' ? [price] : [price, tierPrice(price, tier)]) {
    consider(one.standard);
    if (one.longContext !== null && promptMost(most) > one.longContext.aboveTokens) consider(one.longContext.rates);
  }
  const spoken = most.speaks === true ? (price.units?.rates.audio_output ?? 0n) : 0n;
  return { ...dearest, output: larger(dearest.output, spoken) };
}

/** The most tokens of the prompt, of text and of sound. */
function promptMost({ inputTokens, units }: Pick<WorstCase, 'inputTokens' | 'units'>): number {
  return inputTokens + (units?.counts.input_audio_tokens ?? 0);
}

function dearestOf(rates: Rates, cacheWrites: CacheWrites): { input: bigint; output: bigint } {
  return { input: dearestInput(rates, cacheWrites), output: rates.output };
}

function dearestInput<Rate extends bigint | number>(rates: PromptRates<Rate>, cacheWrites: CacheWrites = '1h'): Rate {
  let input = larger(rates.input, rates.cacheRead);
  if (cacheWrites !== 'none') input = larger(input, rates.cacheWrite5m);
  if (cacheWrites === '1h') input = larger(input, rates.cacheWrite1h);
  return input;
}

export function hasTier(price: ModelPrice, tier: ServiceTier): boolean {
  return tier === 'standard' || price.tiers[tier] !== undefined;
}

function tierPrice(price: ModelPrice, tier: ServiceTier): TierPrice {
  if (tier === 'standard') return price;
  const { [tier]: stated } = price.tiers;
  assert(stated !== undefined, 'a service tier is sold only where it has rates');
  return stated;
}

function searchUnits(price: ModelPrice, webSearches: number): bigint {
  return unitsOf(webSearches, (price.webSearchPerThousand ?? 0n) * SEARCHES_TO_MILLION);
}

function unitsOf(count: number, rate: bigint): bigint {
  if (count === 0) return 0n;
  assert(isWholeNumber(count), 'a token count is a non-negative integer');
  return BigInt(count) * rate;
}

/** Units of 10^-24 USD, rounded up to nanodollars. */
function roundUp(units: bigint): Nano {
  const nano = (units + UNITS_PER_NANO - 1n) / UNITS_PER_NANO;
  return exactNumber(nano > NANO_MAX ? NANO_MAX : nano);
}

/** Parts of 10^-24 USD, rounded up to nanodollars. */
function roundUpParts(parts: bigint): Nano {
  return roundUp((parts + PARTS_PER_UNIT - 1n) / PARTS_PER_UNIT);
}

function larger<Rate extends bigint | number>(one: Rate, other: Rate): Rate {
  return one > other ? one : other;
}

type PromptRates<Rate> = Record<'input' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h', Rate>;

/** Rates times a multiplier, per token, in parts of a nanodollar: integers, or infinite if any is not a safe integer. */
interface SmallRates extends PromptRates<number> {
  output: number;
  multiplierMillionths: bigint;
  /** Parts in a nanodollar, a power of ten. */
  perNano: number;
}

const PER_NANO_MAX = 1_000_000n; // usual prices need at most a thousand

/** By rates, for the multiplier last used with them: most messages have the same. */
const smallRatesOf = new WeakMap<Rates, SmallRates>();

/**
 * Sums of products with these are exact as long as they do not exceed Number.MAX_SAFE_INTEGER: all terms are integers
 * of at least 0, so a term or partial sum beyond it would make the whole exceed it, too. Bigints cost a message more
 * than the rest of its price.
 */
function smallRates(rates: Rates, multiplierMillionths: bigint): SmallRates {
  const known = smallRatesOf.get(rates);
  if (known !== undefined && known.multiplierMillionths === multiplierMillionths) return known;
  const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = rates;
  const units = [input, output, cacheRead, cacheWrite5m, cacheWrite1h].map((rate) => rate * multiplierMillionths);
  let perNano = 1n;
  while (perNano < PER_NANO_MAX && units.some((unit) => (unit * perNano) % UNITS_PER_NANO !== 0n)) perNano *= 10n;
  const toSmall = (rate: bigint) => {
    const parts = rate * multiplierMillionths * perNano;
    const isSmall = parts % UNITS_PER_NANO === 0n && parts / UNITS_PER_NANO <= BigInt(Number.MAX_SAFE_INTEGER);
    return isSmall ? exactNumber(parts / UNITS_PER_NANO) : Number.POSITIVE_INFINITY;
  };
  const small: SmallRates = {
    multiplierMillionths,
    perNano: exactNumber(perNano),
    input: toSmall(input),
    output: toSmall(output),
    cacheRead: toSmall(cacheRead),
    cacheWrite5m: toSmall(cacheWrite5m),
    cacheWrite1h: toSmall(cacheWrite1h),
  };
  smallRatesOf.set(rates, small);
  return small;
}

function product(count: number, rate: number): number {
  if (count === 0) return 0;
  assert(isWholeNumber(count), 'a token count is a non-negative integer');
  return count * rate;
}

/** Parts of a nanodollar, rounded up to nanodollars. */
function roundUpSmall(parts: number, perNano: number): Nano {
  const rest = parts % perNano;
  return Math.min((parts - rest) / perNano + (rest > 0 ? 1 : 0), bounds.nanoPerMessageMax);
}

/** A price and its later versions after the multiplier, each rate rounded up to 10^-12 USD. */
export function multipliedPrice(price: ModelPrice, multiplierMillionths: bigint): ModelPrice {
  if (multiplierMillionths === MILLION) return price;
  const times = (rate: bigint) => (rate * multiplierMillionths + MILLION - 1n) / MILLION;
  const ratesOf = (rates: Rates): Rates => ({
    input: times(rates.input),
    output: times(rates.output),
    cacheRead: times(rates.cacheRead),
    cacheWrite5m: times(rates.cacheWrite5m),
    cacheWrite1h: times(rates.cacheWrite1h),
  });
  const tierOf = ({ standard, longContext }: TierPrice): TierPrice => ({
    standard: ratesOf(standard),
    longContext: longContext && { ...longContext, rates: ratesOf(longContext.rates) },
  });
  return {
    ...price,
    ...tierOf(price),
    tiers: Object.fromEntries(Object.entries(price.tiers).map(([name, tier]) => [name, tierOf(tier)])),
    webSearchPerThousand: price.webSearchPerThousand && times(price.webSearchPerThousand),
    ...(price.units && { units: mapUnitRates(price.units, times) }),
    next: price.next && multipliedPrice(price.next, multiplierMillionths),
  };
}

/** Recorded rates after the multiplier, which is 1 then. */
export function multipliedRates(rates: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const multiplier = readDecimal(rates, 'multiplier', MULTIPLIER_DIGITS);
  if (multiplier === null) return rates;
  const names = [...PARTS.map(([, , name]) => name), ...UNITS.map((unit) => UNIT_PRICES[unit].rate)];
  const entries = Object.entries(rates).map(([name, text]): [string, string] => {
    const rate = names.includes(name) ? parseDecimal(text, RATE_DIGITS) : null;
    return [name, rate === null ? text : formatDecimal(rate * multiplier, RECORDED_DIGITS)];
  });
  return { ...Object.fromEntries(entries), multiplier: '1' };
}

/** The rates as somebody sees them who does not see the multiplier. */
export function ratesWithoutMultiplier(rates: Readonly<Record<string, string>>): Record<string, string> {
  const { multiplier: _, ...others } = multipliedRates(rates);
  return others;
}

/** All amounts are exact decimals in USD. */
export interface PricePart {
  part: 'input' | 'output' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h' | 'web_search' | Unit;
  /** Tokens; for `web_search`, searches; for a unit, that unit. */
  count: number;
  /** Per million tokens; for `web_search`, per thousand searches; for a unit, as its rate says. */
  rate: string;
  /** Before the multiplier. */
  amount: string;
}

const AMOUNT_DIGITS = 24; // a token at a rate per million with eighteen digits
const PARTS: readonly [part: PricePart['part'], count: Exclude<keyof TokenCounts, 'units'>, rate: string][] = [
  ['input', 'input', 'input'],
  ['cache_read', 'cacheRead', 'cache_read'],
  ['cache_write_5m', 'cacheWrite5m', 'cache_write_5m'],
  ['cache_write_1h', 'cacheWrite1h', 'cache_write_1h'],
  ['output', 'output', 'output'],
  ['web_search', 'webSearches', 'web_search_per_thousand'],
];

/** `rates` are as written by rateRecord, or those of multipliedRates. null if a rate for a used part is missing. The sum before rounding is exact. */
export function explainPrice(rates: Readonly<Record<string, string>>, counts: TokenCounts) {
  const multiplier = readDecimal(rates, 'multiplier', MULTIPLIER_DIGITS);
  const parts = multiplier === null ? null : exactParts(rates, counts);
  if (multiplier === null || parts === null) return null;
  const units = wholeUnits(sumOf(parts) * multiplier);
  return {
    parts: parts.map(({ part, count, rate, amount }): PricePart => {
      const text = formatDecimal(rate, RECORDED_DIGITS);
      return { part, count, rate: text, amount: formatDecimal(wholeUnits(amount), AMOUNT_DIGITS) };
    }),
    multiplier: formatDecimal(multiplier, MULTIPLIER_DIGITS),
    beforeRounding: formatDecimal(units, AMOUNT_DIGITS + MULTIPLIER_DIGITS),
    afterRounding: roundUp(units / MILLION + (units % MILLION === 0n ? 0n : 1n)),
  };
}

/** The parts of a cost that units have, in whole nanodollars: by the exact amounts at the rates. Undefined without units. */
export function unitCostsOf(
  cost: Nano,
  rates: Readonly<Record<string, string>>,
  counts: TokenCounts,
): UnitCounts | undefined {
  if (counts.units === undefined) return undefined;
  const units = unitEntries(counts.units);
  if (units.length === 0) return undefined;
  const parts = exactParts(rates, counts) ?? [];
  const amountOf = (unit: Unit) => parts.find(({ part }) => part === unit)?.amount ?? 0n;
  return divideCost(
    cost,
    units.map(([unit]) => [unit, amountOf(unit)]),
    sumOf(parts),
  );
}

/** The rate in units of its recorded digits, and the amount before the multiplier in parts of PARTS_PER_UNIT. */
interface ExactPart extends Pick<PricePart, 'part' | 'count'> {
  rate: bigint;
  amount: bigint;
}

function sumOf(parts: readonly ExactPart[]): bigint {
  return parts.reduce((sum, { amount }) => sum + amount, 0n);
}

/** null if a rate for a used part is missing. A unit without a price costs nothing. */
function exactParts(rates: Readonly<Record<string, string>>, counts: TokenCounts): ExactPart[] | null {
  const parts: ExactPart[] = [];
  for (const [part, counted, rated] of PARTS) {
    const count = counts[counted];
    if (count === 0) continue;
    const rate = readDecimal(rates, rated, RECORDED_DIGITS);
    if (rate === null) return null;
    const perMillion = rate * (part === 'web_search' ? SEARCHES_TO_MILLION : 1n);
    parts.push({ part, count, rate, amount: BigInt(count) * perMillion * PARTS_PER_UNIT });
  }
  for (const [unit, count] of counts.units === undefined ? [] : unitEntries(counts.units)) {
    const name = recordedRateName(unit, rates);
    const rate = name === null ? null : readDecimal(rates, name, RECORDED_DIGITS);
    if (rate !== null) parts.push({ part: unit, count, rate, amount: partsOf(unit, count, rate) });
  }
  return parts;
}

/** Parts, rounded up: seconds alone have amounts that no decimal is equal to. */
function wholeUnits(parts: bigint): bigint {
  return (parts + PARTS_PER_UNIT - 1n) / PARTS_PER_UNIT;
}

function readDecimal(rates: Readonly<Record<string, string>>, name: string, digits: number): bigint | null {
  const text = Object.hasOwn(rates, name) ? rates[name] : undefined;
  return text === undefined ? null : parseDecimal(text, digits);
}
