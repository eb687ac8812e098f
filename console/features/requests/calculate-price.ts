// Recalculates the cost of a message from its usage record: each count times its rate, the sum times the
// multiplier, rounded up once. Exact integer arithmetic. docs/admin-api.md defines the rule.

import type { UsageShape } from '../../../src/admin-api/shapes.ts';
import { printDecimal, readDecimal } from '../../figures.ts';

type PricePart =
  | 'input'
  | 'cache_read'
  | 'cache_write_5m'
  | 'cache_write_1h'
  | 'output'
  | 'web_search'
  | keyof UsageShape['units'];
type Per = 'million' | 'thousand' | 'hour' | 'one';

export interface PriceLine {
  part: PricePart;
  count: number;
  /** USD per `per`. */
  rate: string;
  per: Per;
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
  | 'input_tokens'
  | 'output_tokens'
  | 'cache_read_input_tokens'
  | 'cache_creation'
  | 'web_searches'
  | 'units'
  | 'rates'
  | 'cost'
>;

const RATE_DIGITS = 18; // as many as a rate after a multiplier may have
const MULTIPLIER_DIGITS = 6;
const COUNT_DIGITS = 6; // rates are per million
const SUM_DIGITS = RATE_DIGITS + COUNT_DIGITS;
const UNITS_DIGITS = SUM_DIGITS + MULTIPLIER_DIGITS;
const NANO_DIGITS = 9;
const UNITS_PER_NANO = 10n ** BigInt(UNITS_DIGITS - NANO_DIGITS);
/** Ninths of a count in millionths of what its rate is for: a second is 2,500 of an hour. */
const NINTHS: Readonly<Record<Per, bigint>> = { million: 9n, thousand: 9_000n, hour: 2_500n, one: 9_000_000n };

/** Null if the record has no rates, or lacks one for something that was used. */
export function calculatePrice(record: Priced): PriceCalculation | null {
  if (Object.keys(record.rates).length === 0) return null;
  const multiplier = readDecimal(record.rates['multiplier'] ?? '1', MULTIPLIER_DIGITS); // absent: the rates are after it
  const cost = readDecimal(record.cost, NANO_DIGITS);
  if (multiplier === null || cost === null) return null;
  const lines: PriceLine[] = [];
  let sum = 0n;
  for (const { part, count, rateName, per } of countsOf(record)) {
    if (count === 0) continue;
    const rate = readDecimal(record.rates[rateName], RATE_DIGITS);
    if (rate === null && part in record.units) continue; // a unit without a rate costs nothing
    if (rate === null) return null;
    const ninths = BigInt(count) * rate * NINTHS[per];
    sum += ninths;
    lines.push({
      part,
      count,
      rate: printDecimal(rate, RATE_DIGITS),
      per,
      amount: printDecimal(wholeOf(ninths), SUM_DIGITS),
    });
  }
  const units = wholeOf(sum * multiplier);
  const nano = (units + UNITS_PER_NANO - 1n) / UNITS_PER_NANO;
  return {
    lines,
    sum: printDecimal(wholeOf(sum), SUM_DIGITS),
    multiplier: printDecimal(multiplier, MULTIPLIER_DIGITS),
    beforeRounding: printDecimal(units, UNITS_DIGITS),
    afterRounding: printDecimal(nano, NANO_DIGITS),
    cost: printDecimal(cost, NANO_DIGITS),
    refunded: printDecimal(nano - cost, NANO_DIGITS),
    isVerified: nano >= cost,
  };
}

/** Rounded up: only amounts of seconds need it. */
function wholeOf(ninths: bigint): bigint {
  return (ninths + 8n) / 9n;
}

/** The rates of units, and those of text for tokens without one of their own. */
const UNIT_RATES: readonly [part: keyof UsageShape['units'], rateName: string, per: Per, text?: string][] = [
  ['input_audio_tokens', 'audio_input', 'million', 'input'],
  ['input_image_tokens', 'image_input', 'million', 'input'],
  ['output_audio_tokens', 'audio_output', 'million', 'output'],
  ['output_image_tokens', 'image_output', 'million', 'output'],
  ['images', 'per_image', 'one'],
  ['characters', 'per_million_characters', 'million'],
  ['seconds', 'per_hour', 'hour'],
  ['searches', 'per_thousand_searches', 'thousand'],
];

interface Counted {
  part: PricePart;
  count: number;
  rateName: string;
  per: Per;
}

/** Input first, then output. */
function countsOf(record: Priced): Counted[] {
  const { ephemeral_5m_input_tokens: shortWrites, ephemeral_1h_input_tokens: longWrites } = record.cache_creation;
  const { units, rates } = record;
  return [
    { part: 'input', count: record.input_tokens, rateName: 'input', per: 'million' },
    { part: 'cache_read', count: record.cache_read_input_tokens, rateName: 'cache_read', per: 'million' },
    { part: 'cache_write_5m', count: shortWrites, rateName: 'cache_write_5m', per: 'million' },
    { part: 'cache_write_1h', count: longWrites, rateName: 'cache_write_1h', per: 'million' },
    { part: 'output', count: record.output_tokens, rateName: 'output', per: 'million' },
    { part: 'web_search', count: record.web_searches, rateName: 'web_search_per_thousand', per: 'thousand' },
    ...UNIT_RATES.map(([part, rateName, per, text]): Counted => {
      return { part, count: units[part] ?? 0, rateName: rateName in rates ? rateName : (text ?? rateName), per };
    }),
  ];
}
