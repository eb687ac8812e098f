// The price of a message, compared with an oracle that calculates with fractions of decimal texts.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BrokenInvariant } from '../../../src/base/assert.ts';
import {
  outputTokensAfter,
  outputTokensThatFit,
  priceDearest,
  priceMessage,
  priceRoute,
  priceWorstCase,
  rateRecord,
  tierOfRates,
} from '../../../src/catalog/catalog.ts';
import { NO_TOKENS, SERVICE_TIERS, type ServiceTier, type TokenCounts } from '../../../src/wire/wire.ts';
import { priceOf } from './support.ts';

const ONE = 1_000_000n;
const sonnet = {
  input: '3',
  output: '15',
  cache_read: '0.3',
  cache_write_5m: '3.75',
  cache_write_1h: '6',
  long_context: {
    above: 200_000,
    input: '6',
    output: '22.5',
    cache_read: '0.6',
    cache_write_5m: '7.5',
    cache_write_1h: '12',
  },
  fast: { input: '18', output: '90' },
  web_search_per_thousand: '10',
};

const counts = (some: Partial<TokenCounts>): TokenCounts => ({ ...NO_TOKENS, ...some });

describe('priceMessage', () => {
  const price = priceOf(sonnet);

  test('each kind of token is charged at its own rate', () => {
    expect(priceMessage(price, counts({ input: 1 }), ONE, 'standard')).toBe(3_000);
    expect(priceMessage(price, counts({ output: 1 }), ONE, 'standard')).toBe(15_000);
    expect(priceMessage(price, counts({ cacheRead: 1 }), ONE, 'standard')).toBe(300);
    expect(priceMessage(price, counts({ cacheWrite5m: 1 }), ONE, 'standard')).toBe(3_750);
    expect(priceMessage(price, counts({ cacheWrite1h: 1 }), ONE, 'standard')).toBe(6_000);
    expect(priceMessage(price, counts({ webSearches: 1 }), ONE, 'standard')).toBe(10_000_000);
  });

  test('the sum is rounded up once, not part by part', () => {
    const fine = priceOf({ input: '0.0004', output: '0.0004' }); // 0.4 nanodollars per token
    expect(priceMessage(fine, counts({ input: 1, output: 1 }), ONE, 'standard')).toBe(1);
    expect(priceMessage(fine, counts({ input: 2, output: 1 }), ONE, 'standard')).toBe(2);
    expect(priceMessage(fine, counts({ input: 5 }), ONE, 'standard')).toBe(2);
    expect(priceMessage(fine, counts({}), ONE, 'standard')).toBe(0);
  });

  test('a rate that no float can represent is exact over millions of tokens', () => {
    const tenth = priceOf({ input: '0.1', output: '0.2' });
    expect(priceMessage(tenth, counts({ input: 3_333_333, output: 6_666_667 }), ONE, 'standard')).toBe(1_666_666_700);
    const third = priceOf({ input: '0.333333333333', output: '0' });
    expect(priceMessage(third, counts({ input: 3_000_000 }), ONE, 'standard')).toBe(1_000_000_000); // 999999999.999, rounded up
  });

  test('long-context rates apply to the whole request, and only above the threshold', () => {
    const at = counts({ input: 100_000, cacheRead: 99_999, cacheWrite1h: 1, output: 10 });
    expect(priceMessage(price, at, ONE, 'standard')).toBe(300_000_000 + 29_999_700 + 6_000 + 150_000);
    const above = { ...at, cacheRead: 100_000 };
    expect(priceMessage(price, above, ONE, 'standard')).toBe(600_000_000 + 60_000_000 + 12_000 + 225_000);
  });

  test('output does not count toward the long-context threshold', () => {
    expect(priceMessage(price, counts({ input: 200_000, output: 1 }), ONE, 'standard')).toBe(600_015_000);
  });

  test('fast speed has its own rates without a long-context tier, and its cache rates default to its input rate', () => {
    expect(priceMessage(price, counts({ input: 300_000, cacheRead: 1, output: 1 }), ONE, 'fast')).toBe(
      5_400_000_000 + 18_000 + 90_000,
    );
  });

  test('cache tokens without a rate cost as much as input tokens of the same tier', () => {
    const plain = priceOf({ input: '2', output: '4', long_context: { above: 10, input: '5', output: '6' } });
    expect(priceMessage(plain, counts({ cacheRead: 1, cacheWrite5m: 1, cacheWrite1h: 1 }), ONE, 'standard')).toBe(
      6_000,
    );
    expect(priceMessage(plain, counts({ cacheRead: 11 }), ONE, 'standard')).toBe(55_000);
  });

  test('the multiplier applies before the rounding', () => {
    expect(priceMessage(price, counts({ cacheRead: 1 }), 333_333n, 'standard')).toBe(100); // 99.9999, rounded up
    expect(priceMessage(price, counts({ input: 1_000 }), 0n, 'standard')).toBe(0);
  });

  test('a search without a price is free, and does not fail the settlement', () => {
    expect(priceMessage(priceOf({ input: '1', output: '1' }), counts({ webSearches: 3 }), ONE, 'standard')).toBe(0);
  });

  test('the most expensive possible message stays within the range of the ledger', () => {
    const dear = priceOf({ input: '10000', output: '10000' });
    const many = { input: 1e7, output: 1e7, cacheRead: 1e7, cacheWrite5m: 1e7, cacheWrite1h: 1e7, webSearches: 0 };
    expect(priceMessage(dear, many, 1_000n * ONE, 'standard')).toBe(1_000_000_000_000_000);
  });

  test('a negative or fractional count is an internal error', () => {
    expect(() => priceMessage(price, counts({ output: -1 }), ONE, 'standard')).toThrow(BrokenInvariant);
    expect(() => priceMessage(price, counts({ output: 0.5 }), ONE, 'standard')).toThrow(BrokenInvariant);
    expect(() => priceMessage(priceOf({ input: '1', output: '1' }), counts({ output: 1 }), ONE, 'fast')).toThrow(
      BrokenInvariant,
    );
  });
});

// The oracle: fractions with any denominator, from the decimals as written.

type Fraction = readonly [numerator: bigint, denominator: bigint];
type Tier = Record<'input' | 'output' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h', string>;

function fraction(decimal: string): Fraction {
  const [whole = '0', digits = ''] = decimal.split('.');
  return [BigInt(whole + digits), BigInt(`1${'0'.repeat(digits.length)}`)];
}
const plus = (one: Fraction, other: Fraction): Fraction => [one[0] * other[1] + other[0] * one[1], one[1] * other[1]];
const times = (one: Fraction, other: Fraction): Fraction => [one[0] * other[0], one[1] * other[1]];

function costByFractions(tier: Tier, search: string, used: TokenCounts, multiplier: string): bigint {
  const perToken: [string, number][] = [
    [tier.input, used.input],
    [tier.output, used.output],
    [tier.cache_read, used.cacheRead],
    [tier.cache_write_5m, used.cacheWrite5m],
    [tier.cache_write_1h, used.cacheWrite1h],
  ];
  const million: Fraction = [1n, 1_000_000n];
  let usd: Fraction = times(times(fraction(search), [1n, 1_000n]), [BigInt(used.webSearches), 1n]);
  for (const [rate, tokens] of perToken) usd = plus(usd, times(times(fraction(rate), million), [BigInt(tokens), 1n]));
  const [numerator, denominator] = times(times(usd, fraction(multiplier)), [1_000_000_000n, 1n]);
  const nano = numerator / denominator;
  return nano * denominator === numerator ? nano : nano + 1n;
}

const decimals = (wholeMax: number, digits: number) =>
  fc
    .tuple(fc.nat(wholeMax), fc.array(fc.nat(9), { maxLength: digits }))
    .map(([whole, rest]) => (rest.length === 0 ? `${whole}` : `${whole}.${rest.join('')}`));
const tiersOf = (digits: number): fc.Arbitrary<Tier> =>
  fc.record({
    input: decimals(200, digits),
    output: decimals(700, digits),
    cache_read: decimals(20, digits),
    cache_write_5m: decimals(300, digits),
    cache_write_1h: decimals(400, digits),
  });
const ZERO_TIER: Tier = { input: '0', output: '0', cache_read: '0', cache_write_5m: '0', cache_write_1h: '0' };
const tokens = fc.oneof(fc.nat(20), fc.nat(400_000));
const usages: fc.Arbitrary<TokenCounts> = fc.record({
  input: tokens,
  output: tokens,
  cacheRead: tokens,
  cacheWrite5m: tokens,
  cacheWrite1h: tokens,
  webSearches: fc.oneof(fc.constant(0), fc.nat(30)),
});
const pricesOf = (digits: number) =>
  fc.record({
    standard: tiersOf(digits),
    long: fc.record({ above: fc.integer({ min: 1, max: 500_000 }), tier: tiersOf(digits) }),
    fast: tiersOf(digits),
    flex: fc.record({
      standard: tiersOf(digits),
      long: fc.record({ above: fc.integer({ min: 1, max: 500_000 }), tier: tiersOf(digits) }),
    }),
    ultrafast: tiersOf(digits),
    search: decimals(100, digits),
  });
const prices = fc.oneof(pricesOf(3), pricesOf(12)); // summed in numbers, and in bigints
const multipliers = decimals(3, 6);
const serviceTiers = fc.constantFrom(...SERVICE_TIERS);

interface Stated {
  standard: Tier;
  long: { above: number; tier: Tier };
  fast: Tier;
  flex: { standard: Tier; long: { above: number; tier: Tier } };
  ultrafast: Tier;
  search: string;
}

function priceFrom({ standard, long, fast, flex, ultrafast, search }: Stated) {
  return priceOf({
    ...standard,
    long_context: { above: long.above, ...long.tier },
    fast,
    flex: { ...flex.standard, long_context: { above: flex.long.above, ...flex.long.tier } },
    ultrafast,
    web_search_per_thousand: search,
  });
}
/** The rates of a prompt in a service tier. */
function ratesOf(stated: Stated, prompt: number, tier: ServiceTier): Tier {
  if (tier === 'fast' || tier === 'ultrafast') return stated[tier];
  const { standard, long } = tier === 'flex' ? stated.flex : stated;
  return prompt > long.above ? long.tier : standard;
}

const millionths = (decimal: string) => {
  const [numerator, denominator] = fraction(decimal);
  return (numerator * ONE) / denominator;
};

describe('for any price and usage', () => {
  test('the cost is the exact sum of fractions, rounded up', () => {
    fc.assert(
      fc.property(prices, usages, multipliers, serviceTiers, (stated, used, multiplier, tier) => {
        const prompt = used.input + used.cacheRead + used.cacheWrite5m + used.cacheWrite1h;
        const cost = priceMessage(priceFrom(stated), used, millionths(multiplier), tier);
        expect(BigInt(cost)).toBe(costByFractions(ratesOf(stated, prompt, tier), stated.search, used, multiplier));
      }),
      { numRuns: 300 },
    );
  });

  test('a sum close to what a number can hold is exact', () => {
    const near = fc.integer({ min: -3_000, max: 3_000 }).map((offset) => Math.floor(2 ** 53 / 1_000_000) + offset);
    const counted = fc.record({ input: near, output: fc.nat(3_000_000) });
    fc.assert(
      fc.property(counted, fc.constantFrom('1', '1.5', '0.1'), (used, multiplier) => {
        const tier: Tier = { ...ZERO_TIER, input: '0.001', output: '0.000000001' };
        const long = { above: 1_000_000_000, tier };
        const price = priceFrom({
          ...{ standard: tier, long, fast: tier, flex: { standard: tier, long }, ultrafast: tier },
          search: '0',
        });
        const cost = priceMessage(price, counts(used), millionths(multiplier), 'standard');
        expect(BigInt(cost)).toBe(costByFractions(tier, '0', counts(used), multiplier));
      }),
      { numRuns: 300 },
    );
  });

  test('the recorded rates give the same cost again', () => {
    fc.assert(
      fc.property(prices, usages, multipliers, serviceTiers, (stated, used, multiplier, tier) => {
        const price = priceFrom(stated);
        const record = rateRecord(price, used, millionths(multiplier), tier);
        expect(tierOfRates(record)).toBe(tier);
        const cost = costByFractions(
          record as unknown as Tier,
          record['web_search_per_thousand'] ?? '0',
          used,
          record['multiplier'] ?? '',
        );
        expect(cost).toBe(BigInt(priceMessage(price, used, millionths(multiplier), tier)));
      }),
      { numRuns: 100 },
    );
  });

  test('no split of the tokens costs more than the worst case', () => {
    fc.assert(
      fc.property(prices, usages, usages, multipliers, serviceTiers, (stated, used, spare, multiplier, tier) => {
        const price = priceFrom(stated);
        const inputTokens = used.input + used.cacheRead + used.cacheWrite5m + used.cacheWrite1h + spare.input;
        const most = {
          inputTokens,
          outputTokens: used.output + spare.output,
          webSearches: used.webSearches + spare.webSearches,
          tier,
        };
        const worst = priceWorstCase(price, most, millionths(multiplier));
        for (const served of [tier, 'standard'] as const)
          expect(worst).toBeGreaterThanOrEqual(priceMessage(price, used, millionths(multiplier), served));
      }),
      { numRuns: 300 },
    );
  });

  test('the maximum of affordable output tokens is exact: one more is not affordable', () => {
    fc.assert(
      fc.property(
        prices,
        tokens,
        multipliers,
        serviceTiers,
        fc.nat(5_000_000_000),
        fc.nat(3),
        (stated, inputTokens, multiplier, tier, available, webSearches) => {
          const price = priceFrom(stated);
          const worst = (outputTokens: number) =>
            priceWorstCase(price, { inputTokens, outputTokens, webSearches, tier }, millionths(multiplier));
          const fit = outputTokensThatFit(price, { inputTokens, webSearches, tier }, millionths(multiplier), available);
          if (fit > 0) expect(worst(fit)).toBeLessThanOrEqual(available);
          if (fit < 10_000_000) expect(worst(fit + 1)).toBeGreaterThan(available);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('the worst case', () => {
  const price = priceOf(sonnet);
  const plain = { webSearches: 0, tier: 'standard' as const };

  test('holds input at the one-hour cache write rate, and output at its rate', () => {
    expect(priceWorstCase(price, { inputTokens: 10, outputTokens: 1, webSearches: 0, tier: 'standard' }, ONE)).toBe(
      75_000,
    );
  });

  test('includes only the cache writes that were requested', () => {
    const most = { inputTokens: 1, outputTokens: 0, ...plain };
    const dear = priceOf({ input: '3', output: '1', cache_read: '1', cache_write_5m: '4', cache_write_1h: '6' });
    expect(priceWorstCase(dear, { ...most, cacheWrites: 'none' }, ONE)).toBe(3_000);
    expect(priceWorstCase(dear, { ...most, cacheWrites: '5m' }, ONE)).toBe(4_000);
    expect(priceWorstCase(dear, { ...most, cacheWrites: '1h' }, ONE)).toBe(6_000);
  });

  test('holds a cache read if its rate is the highest', () => {
    const odd = priceOf({ input: '1', output: '1', cache_read: '7', cache_write_5m: '2', cache_write_1h: '3' });
    expect(priceWorstCase(odd, { inputTokens: 1, outputTokens: 0, webSearches: 0, tier: 'standard' }, ONE)).toBe(7_000);
  });

  test('uses long-context rates if the input may exceed the threshold', () => {
    const most = { outputTokens: 1, webSearches: 0, tier: 'standard' as const };
    expect(priceWorstCase(price, { ...most, inputTokens: 200_000 }, ONE)).toBe(1_200_015_000);
    expect(priceWorstCase(price, { ...most, inputTokens: 200_001 }, ONE)).toBe(200_001 * 12_000 + 22_500);
  });

  test('a balance of zero affords nothing, and an input that is too expensive leaves no output', () => {
    expect(outputTokensThatFit(price, { ...plain, inputTokens: 0 }, ONE, 0)).toBe(0);
    expect(outputTokensThatFit(price, { ...plain, inputTokens: 0 }, ONE, -5)).toBe(0);
    expect(outputTokensThatFit(price, { ...plain, inputTokens: 1_000 }, ONE, 5_999_999)).toBe(0);
    expect(outputTokensThatFit(price, { ...plain, inputTokens: 1_000 }, ONE, 6_015_000)).toBe(1);
    expect(outputTokensThatFit(price, { ...plain, inputTokens: 1_000 }, ONE, 6_014_999)).toBe(0);
  });

  test('free output is unlimited, up to the largest count that is believed', () => {
    expect(outputTokensThatFit(priceOf({ input: '1', output: '0' }), { ...plain, inputTokens: 1 }, ONE, 1_000)).toBe(
      10_000_000,
    );
  });
});

describe('the money that remains after a known prompt', () => {
  test('pays for exactly that much output, and not one token more', () => {
    fc.assert(
      fc.property(
        prices,
        usages,
        multipliers,
        serviceTiers,
        fc.nat(5_000_000_000),
        (stated, prompt, multiplier, tier, available) => {
          const price = priceFrom(stated);
          const cost = (output: number) => priceDearest(price, { ...prompt, output }, millionths(multiplier), tier);
          const fit = outputTokensAfter(price, prompt, millionths(multiplier), tier, available);
          if (fit > 0) expect(cost(fit)).toBeLessThanOrEqual(available);
          if (fit < 10_000_000) expect(cost(fit + 1)).toBeGreaterThan(available);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('the record and the route', () => {
  test('the record names the tier that was applied', () => {
    const price = priceOf(sonnet);
    expect(rateRecord(price, counts({ input: 1 }), 800_000n, 'standard')).toEqual({
      tier: 'standard',
      multiplier: '0.8',
      input: '3',
      output: '15',
      cache_read: '0.3',
      cache_write_5m: '3.75',
      cache_write_1h: '6',
    });
    expect(rateRecord(price, counts({ input: 200_001 }), ONE, 'standard')).toMatchObject({
      tier: 'long_context',
      output: '22.5',
    });
    expect(rateRecord(price, counts({ webSearches: 1 }), ONE, 'fast')).toMatchObject({
      tier: 'fast',
      input: '18',
      web_search_per_thousand: '10',
    });
  });

  test('the provider cost is unknown, never zero, if the route does not define it', () => {
    const route = {
      provider: 'p',
      upstreamModel: 'm',
      priority: 0,
      protocol: null,
      weight: 1,
      concurrency: null,
      cost: priceOf({ input: '2', output: '4' }),
    };
    expect(priceRoute(route, counts({ input: 1, output: 1 }), 'standard')).toBe(6_000);
    expect(priceRoute(route, counts({ input: 1 }), 'fast')).toBeNull();
    expect(priceRoute(route, counts({ webSearches: 1 }), 'standard')).toBeNull();
    expect(priceRoute({ ...route, cost: null }, counts({ input: 1 }), 'standard')).toBeNull();
  });
});
