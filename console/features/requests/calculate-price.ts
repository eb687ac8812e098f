// Recalculates the cost of a message from its usage record: each count times its rate, the sum times the
// multiplier, rounded up once. Exact integer arithmetic. docs/admin-api.md defines the rule.

import type { UsageShape } from '../../../src/admin-api/shapes.ts';
import { printDecimal, readDecimal } from '../../figures.ts';

type PricePart = 'input' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h' | 'output' | 'web_search';

export interface PriceLine {
  part: PricePart;
  count: number;
  /** USD per `per`. */
  rate: string;
  per: 'million' | 'thousand';
  /** USD, exact. */
  amount: string;
}

export interface PriceCalculation {
  lines: PriceLine[];
  /** The sum of the lines. */
  sum: string;
  multiplier: string;
  /** sum × multiplier, exact. */
  beforeRounding: string;
  /** Rounded up to 9 fraction digits. */
  afterRounding: string;
  cost: string;
  /** afterRounding − cost: the refunded amount. A negative value means that the record is inconsistent. */
  refunded: string;
  /** False if the recorded cost exceeds the recalculated one. */
  isVerified: boolean;
}

/** The counts, rates and cost of a usage record. */
export type Priced = Pick<
  UsageShape,
  'input_tokens' | 'output_tokens' | 'cache_read_input_tokens' | 'cache_creation' | 'web_searches' | 'rates' | 'cost'
>;

const RATE_DIGITS = 18; // as many as a rate after a multiplier may have
const MULTIPLIER_DIGITS = 6;
const COUNT_DIGITS = 6; // rates are per million
const SUM_DIGITS = RATE_DIGITS + COUNT_DIGITS;
const UNITS_DIGITS = SUM_DIGITS + MULTIPLIER_DIGITS;
const NANO_DIGITS = 9;
const UNITS_PER_NANO = 10n ** BigInt(UNITS_DIGITS - NANO_DIGITS);
const SEARCHES_TO_MILLION = 1_000n; // search rates are per thousand

/** Null if the record has no rates, or lacks one for something that was used. */
export function calculatePrice(record: Priced): PriceCalculation | null {
  if (Object.keys(record.rates).length === 0) return null;
  const multiplier = readDecimal(record.rates['multiplier'] ?? '1', MULTIPLIER_DIGITS); // absent: the rates are after it
  const cost = readDecimal(record.cost, NANO_DIGITS);
  if (multiplier === null || cost === null) return null;
  const lines: PriceLine[] = [];
  let sum = 0n;
  for (const { part, count, rateName } of countsOf(record)) {
    if (count === 0) continue;
    const rate = readDecimal(record.rates[rateName], RATE_DIGITS);
    if (rate === null) return null;
    const isSearch = part === 'web_search';
    const amount = BigInt(count) * rate * (isSearch ? SEARCHES_TO_MILLION : 1n);
    sum += amount;
    lines.push({
      part,
      count,
      rate: printDecimal(rate, RATE_DIGITS),
      per: isSearch ? 'thousand' : 'million',
      amount: printDecimal(amount, SUM_DIGITS),
    });
  }
  const units = sum * multiplier;
  const nano = (units + UNITS_PER_NANO - 1n) / UNITS_PER_NANO;
  return {
    lines,
    sum: printDecimal(sum, SUM_DIGITS),
    multiplier: printDecimal(multiplier, MULTIPLIER_DIGITS),
    beforeRounding: printDecimal(units, UNITS_DIGITS),
    afterRounding: printDecimal(nano, NANO_DIGITS),
    cost: printDecimal(cost, NANO_DIGITS),
    refunded: printDecimal(nano - cost, NANO_DIGITS),
    isVerified: nano >= cost,
  };
}

/** Input first, then output. */
function countsOf(record: Priced): { part: PricePart; count: number; rateName: string }[] {
  const { ephemeral_5m_input_tokens: shortWrites, ephemeral_1h_input_tokens: longWrites } = record.cache_creation;
  return [
    { part: 'input', count: record.input_tokens, rateName: 'input' },
    { part: 'cache_read', count: record.cache_read_input_tokens, rateName: 'cache_read' },
    { part: 'cache_write_5m', count: shortWrites, rateName: 'cache_write_5m' },
    { part: 'cache_write_1h', count: longWrites, rateName: 'cache_write_1h' },
    { part: 'output', count: record.output_tokens, rateName: 'output' },
    { part: 'web_search', count: record.web_searches, rateName: 'web_search_per_thousand' },
  ];
}
