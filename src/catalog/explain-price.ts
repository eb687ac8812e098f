// How a cost came about, part by part, from what a usage record says: its rates and its counts. The
// same arithmetic as priceMessage, without the catalogue, whose prices may have changed since.

import { formatDecimal, type Nano, parseDecimal } from '../base/money.ts';
import type { TokenCounts } from '../wire/wire.ts';
import { roundUp, SEARCHES_TO_MILLION } from './price.ts';

/** All amounts are exact decimals in USD. */
export interface PricePart {
  part: 'input' | 'output' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h' | 'web_search';
  /** Tokens; of `web_search` searches. */
  count: number;
  /** Per million tokens; of `web_search` per thousand searches. */
  rate: string;
  /** Before the multiplier. */
  amount: string;
}

export interface PriceExplanation {
  parts: PricePart[];
  multiplier: string;
  /** The sum of the parts times the multiplier, to the last digit. */
  beforeRounding: string;
  afterRounding: Nano;
}

const RATE_DIGITS = 12;
const MULTIPLIER_DIGITS = 6;
const AMOUNT_DIGITS = 18; // a token at a rate per million of twelve digits
const PARTS: readonly [part: PricePart['part'], count: keyof TokenCounts, rate: string][] = [
  ['input', 'input', 'input'],
  ['cache_read', 'cacheRead', 'cache_read'],
  ['cache_write_5m', 'cacheWrite5m', 'cache_write_5m'],
  ['cache_write_1h', 'cacheWrite1h', 'cache_write_1h'],
  ['output', 'output', 'output'],
  ['web_search', 'webSearches', 'web_search_per_thousand'],
];

/** `rates` are as rateRecord writes them. Null when they do not name a rate for everything that was used. */
export function explainPrice(rates: Readonly<Record<string, string>>, counts: TokenCounts): PriceExplanation | null {
  const multiplier = readDecimal(rates, 'multiplier', MULTIPLIER_DIGITS);
  if (multiplier === null) return null;
  const parts: PricePart[] = [];
  let sum = 0n;
  for (const [part, counted, rated] of PARTS) {
    const count = counts[counted];
    if (count === 0) continue;
    const rate = readDecimal(rates, rated, RATE_DIGITS);
    if (rate === null) return null;
    const amount = BigInt(count) * rate * (part === 'web_search' ? SEARCHES_TO_MILLION : 1n);
    parts.push({
      part,
      count,
      rate: formatDecimal(rate, RATE_DIGITS),
      amount: formatDecimal(amount, AMOUNT_DIGITS),
    });
    sum += amount;
  }
  const units = sum * multiplier;
  return {
    parts,
    multiplier: formatDecimal(multiplier, MULTIPLIER_DIGITS),
    beforeRounding: formatDecimal(units, AMOUNT_DIGITS + MULTIPLIER_DIGITS),
    afterRounding: roundUp(units),
  };
}

function readDecimal(rates: Readonly<Record<string, string>>, name: string, digits: number): bigint | null {
  const text = Object.hasOwn(rates, name) ? rates[name] : undefined;
  return text === undefined ? null : parseDecimal(text, digits);
}
