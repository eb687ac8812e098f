// Recalculates a cost from the rates and counts of a record: it equals the priced cost, and its parts add up to it.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseDecimal } from '../../../src/base/money.ts';
import { explainPrice, type ModelPrice, priceMessage, type Rates, rateRecord } from '../../../src/catalog/catalog.ts';
import { NO_TOKENS } from '../../../src/wire/wire.ts';

const rate = fc.bigInt({ min: 0n, max: 10n ** 15n });
const rates: fc.Arbitrary<Rates> = fc.record({
  input: rate,
  output: rate,
  cacheRead: rate,
  cacheWrite5m: rate,
  cacheWrite1h: rate,
});
const price: fc.Arbitrary<ModelPrice> = fc.record({
  standard: rates,
  longContext: fc.option(fc.record({ aboveTokens: fc.nat(2_000), rates })),
  tiers: fc.record({ fast: fc.record({ standard: rates, longContext: fc.constant(null) }) }),
  fromMs: fc.constantFrom(0, Date.parse('2026-12-01')),
  next: fc.constant(null),
  webSearchPerThousand: rate,
});
const count = fc.oneof(fc.constant(0), fc.nat(3_000_000));
const counts = fc.record({
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite5m: count,
  cacheWrite1h: count,
  webSearches: fc.nat(20),
});

test('every priced cost is explained to the nanodollar, and its parts add up', () => {
  fc.assert(
    fc.property(
      price,
      counts,
      fc.bigInt({ min: 0n, max: 5_000_000n }),
      fc.constantFrom('standard', 'fast'),
      (sold, used, multiplier, speed) => {
        const explained = explainPrice(rateRecord(sold, used, multiplier, speed), used);
        if (explained === null) throw new Error('the price was not explained');
        expect(explained.afterRounding).toBe(priceMessage(sold, used, multiplier, speed));
        const sum = explained.parts.reduce((total, part) => total + (parseDecimal(part.amount, 18) ?? 0n), 0n);
        expect(sum * multiplier).toBe(parseDecimal(explained.beforeRounding, 24) ?? -1n);
        expect(explained.parts.map((part) => part.count)).toEqual(
          [used.input, used.cacheRead, used.cacheWrite5m, used.cacheWrite1h, used.output, used.webSearches].filter(
            (one) => one > 0,
          ),
        );
      },
    ),
  );
});

test('each part has its count, its rate and its amount before the multiplier', () => {
  const used = { ...NO_TOKENS, input: 100, output: 10, cacheRead: 7, webSearches: 3 };
  const stored = { multiplier: '0.333333', input: '3', output: '15', cache_read: '0.3', web_search_per_thousand: '10' };
  expect(explainPrice(stored, used)).toEqual({
    parts: [
      { part: 'input', count: 100, rate: '3', amount: '0.0003' },
      { part: 'cache_read', count: 7, rate: '0.3', amount: '0.0000021' },
      { part: 'output', count: 10, rate: '15', amount: '0.00015' },
      { part: 'web_search', count: 3, rate: '10', amount: '0.03' },
    ],
    multiplier: '0.333333',
    beforeRounding: '0.0101506898493', // 0.0304521 × 0.333333
    afterRounding: 10_150_690,
  });
});

test('a cost that the stored rates do not cover is not explained', () => {
  expect(explainPrice({}, NO_TOKENS)).toBeNull();
  expect(explainPrice({ multiplier: '1', input: '3' }, { ...NO_TOKENS, output: 1 })).toBeNull();
  expect(explainPrice({ multiplier: 'much', input: '3' }, { ...NO_TOKENS, input: 1 })).toBeNull();
  expect(explainPrice({ multiplier: '1', input: '3' }, { ...NO_TOKENS, input: 1 })).not.toBeNull();
});
