// What a message costs: a pure function of token counts, rates and a multiplier. Exact: everything
// is summed in whole units and rounded up to nanodollars once a request. No floats.

import { assert } from '../base/assert.ts';
import { formatDecimal, type Nano } from '../base/money.ts';
import { bounds } from '../config.ts';
import { promptTokens, type TokenCounts } from '../wire/wire.ts';
import type { ModelPrice, Rates, Route } from './model.ts';

export type Speed = 'standard' | 'fast';
/** Which writes to a cache a request asks for; with `1h` those of 5 minutes too. */
export type CacheWrites = 'none' | '5m' | '1h';

/** The most that a message may use, however its tokens split. */
export interface WorstCase {
  inputTokens: number;
  outputTokens: number;
  webSearches: number;
  speed: Speed;
  /** Absent: any. */
  cacheWrites?: CacheWrites;
}

// A rate is in 10^-12 USD per million tokens and the multiplier in millionths: a token times both
// is in 10^-24 USD, of which a nanodollar has 10^15.
const UNITS_PER_NANO = 1_000_000_000_000_000n;
const NANO_MAX = BigInt(bounds.nanoPerMessageMax);
const MILLION = 1_000_000n;
export const SEARCHES_TO_MILLION = 1_000n; // a search has its price per thousand, a token per million

/**
 * The cost in nanodollars. Long-context rates apply to the whole request once its prompt is above
 * the threshold, at standard speed only. A web search without a price costs nothing: it was
 * refused at the door, so a provider that reports one did so unasked. Never above
 * bounds.nanoPerMessageMax. `fast` needs fast rates: checkFeatures has seen to it.
 */
export function priceMessage(price: ModelPrice, counts: TokenCounts, multiplierMillionths: bigint, speed: Speed): Nano {
  return roundUp(messageUnits(price, counts, speed) * multiplierMillionths);
}

function messageUnits(price: ModelPrice, counts: TokenCounts, speed: Speed): bigint {
  const rates = appliedRates(price, promptTokens(counts), speed);
  return (
    unitsOf(counts.input, rates.input) +
    unitsOf(counts.output, rates.output) +
    unitsOf(counts.cacheRead, rates.cacheRead) +
    unitsOf(counts.cacheWrite5m, rates.cacheWrite5m) +
    unitsOf(counts.cacheWrite1h, rates.cacheWrite1h) +
    searchUnits(price, counts.webSearches)
  );
}

/** At least priceMessage of any split of at most these counts at this speed. */
export function priceWorstCase(price: ModelPrice, most: WorstCase, multiplierMillionths: bigint): Nano {
  const dearest = dearestRates(price, most);
  const units =
    unitsOf(most.inputTokens, dearest.input) +
    unitsOf(most.outputTokens, dearest.output) +
    searchUnits(price, most.webSearches);
  return roundUp(units * multiplierMillionths);
}

/**
 * The largest number of output tokens whose worst case fits into `available`; 0 when none does,
 * also when the input alone is too dear; at most bounds.usageTokensMax, where output is free or nearly so.
 */
export function outputTokensThatFit(
  price: ModelPrice,
  most: Omit<WorstCase, 'outputTokens'>,
  multiplierMillionths: bigint,
  available: Nano,
): number {
  const dearest = dearestRates(price, most);
  const before = unitsOf(most.inputTokens, dearest.input) + searchUnits(price, most.webSearches);
  return tokensFor(available, before * multiplierMillionths, dearest.output * multiplierMillionths);
}

/** The same where the prompt's counts are known: the output tokens that what is left of `available` pays exactly. */
export function outputTokensAfter(
  price: ModelPrice,
  prompt: TokenCounts,
  multiplierMillionths: bigint,
  speed: Speed,
  available: Nano,
): number {
  const { output } = appliedRates(price, promptTokens(prompt), speed);
  const before = messageUnits(price, { ...prompt, output: 0 }, speed);
  return tokensFor(available, before * multiplierMillionths, output * multiplierMillionths);
}

function tokensFor(available: Nano, unitsBefore: bigint, unitsPerToken: bigint): number {
  const tokensMax = bounds.usageTokensMax;
  if (available < 0) return 0;
  if (available >= bounds.nanoPerMessageMax) return tokensMax;
  const left = BigInt(available) * UNITS_PER_NANO - unitsBefore;
  if (left < 0n) return 0;
  if (unitsPerToken === 0n) return tokensMax;
  const tokens = left / unitsPerToken;
  return tokens > BigInt(tokensMax) ? tokensMax : Number(tokens);
}

/** What the provider charges for it, or null when the route's cost, or the part of it that was used, is not known. */
export function priceRoute(route: Route, counts: TokenCounts, speed: Speed): Nano | null {
  const cost = route.cost;
  if (cost === null) return null;
  if (speed === 'fast' && cost.fast === null) return null;
  if (counts.webSearches > 0 && cost.webSearchPerThousand === null) return null;
  return priceMessage(cost, counts, MILLION, speed);
}

/** The rates that were applied, as decimals in USD per million tokens, for the usage record. */
export function rateRecord(
  price: ModelPrice,
  counts: TokenCounts,
  multiplierMillionths: bigint,
  speed: Speed,
): Record<string, string> {
  const rates = appliedRates(price, promptTokens(counts), speed);
  const tier = speed === 'fast' ? 'fast' : rates === price.standard ? 'standard' : 'long_context';
  const record: Record<string, string> = {
    tier,
    multiplier: formatDecimal(multiplierMillionths, 6),
    ...printRates(rates),
  };
  if (counts.webSearches > 0) record['web_search_per_thousand'] = formatDecimal(price.webSearchPerThousand ?? 0n, 12);
  return record;
}

/** Rates are the catalogue's and never altered: each is printed once. */
const printedRates = new WeakMap<Rates, Record<string, string>>();

function printRates(rates: Rates): Record<string, string> {
  let printed = printedRates.get(rates);
  if (printed === undefined) {
    printed = {
      input: formatDecimal(rates.input, 12),
      output: formatDecimal(rates.output, 12),
      cache_read: formatDecimal(rates.cacheRead, 12),
      cache_write_5m: formatDecimal(rates.cacheWrite5m, 12),
      cache_write_1h: formatDecimal(rates.cacheWrite1h, 12),
    };
    printedRates.set(rates, printed);
  }
  return printed;
}

function appliedRates(price: ModelPrice, prompt: number, speed: Speed): Rates {
  if (speed === 'fast') return fastRates(price);
  const long = price.longContext;
  return long !== null && prompt > long.aboveTokens ? long.rates : price.standard;
}

/** A prompt of at most `inputTokens` may still end up below the long-context threshold, so both tiers count. */
function dearestRates(
  price: ModelPrice,
  { inputTokens, speed, cacheWrites = '1h' }: Pick<WorstCase, 'inputTokens' | 'speed' | 'cacheWrites'>,
): { input: bigint; output: bigint } {
  if (speed === 'fast') return dearestOf(fastRates(price), cacheWrites);
  const standard = dearestOf(price.standard, cacheWrites);
  const long = price.longContext;
  if (long === null || inputTokens <= long.aboveTokens) return standard;
  const above = dearestOf(long.rates, cacheWrites);
  return { input: larger(standard.input, above.input), output: larger(standard.output, above.output) };
}

function dearestOf(rates: Rates, cacheWrites: CacheWrites): { input: bigint; output: bigint } {
  let input = larger(rates.input, rates.cacheRead);
  if (cacheWrites !== 'none') input = larger(input, rates.cacheWrite5m);
  if (cacheWrites === '1h') input = larger(input, rates.cacheWrite1h);
  return { input, output: rates.output };
}

function fastRates(price: ModelPrice): Rates {
  assert(price.fast !== null, 'fast speed is sold only where it has rates');
  return price.fast;
}

function searchUnits(price: ModelPrice, webSearches: number): bigint {
  return unitsOf(webSearches, (price.webSearchPerThousand ?? 0n) * SEARCHES_TO_MILLION);
}

function unitsOf(count: number, rate: bigint): bigint {
  if (count === 0) return 0n;
  assert(count > 0 && Number.isSafeInteger(count), 'a count of tokens is a whole number and not negative');
  return BigInt(count) * rate;
}

/** Units of 10^-24 USD as nanodollars. */
export function roundUp(units: bigint): Nano {
  const nano = (units + UNITS_PER_NANO - 1n) / UNITS_PER_NANO;
  return Number(nano > NANO_MAX ? NANO_MAX : nano);
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
