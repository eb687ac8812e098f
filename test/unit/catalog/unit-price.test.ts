// Prices of units besides tokens of text, against receipts of an independent arithmetic.

import { describe, expect, test } from 'bun:test';
import { pricesFrom } from '../../../src/catalog/build-catalog.ts';
import {
  explainPrice,
  multipliedPrice,
  multipliedRates,
  priceMessage,
  priceRoute,
  priceWorstCase,
  rateRecord,
  UNBILLED_RATES,
  unitCostsOf,
} from '../../../src/catalog/catalog.ts';
import { modelInput } from '../../../src/catalog/document.ts';
import { divideCost, NO_TOKENS, UNITS, type Unit, type Units, unitsOf } from '../../../src/wire/wire.ts';
import { makeRandom } from '../../support/random.ts';

const MILLION = 1_000_000n;

/** Names of rates, rates, and the number of units that each is for. */
const RATES = {
  input_audio_tokens: ['audio_input', '32', 1_000_000],
  output_audio_tokens: ['audio_output', '64.5', 1_000_000],
  input_image_tokens: ['image_input', '10', 1_000_000],
  output_image_tokens: ['image_output', '40', 1_000_000],
  images: ['per_image', '0.167', 1],
  characters: ['per_million_characters', '15', 1_000_000],
  seconds: ['per_hour', '0.36', 3_600],
  searches: ['per_thousand_searches', '2', 1_000],
} as const satisfies Record<Unit, readonly [string, string, number]>;

function priceOf(units: object, text: { input: string; output: string } = { input: '0', output: '0' }) {
  const rest = { cache_read: null, cache_write_5m: null, cache_write_1h: null, long_context: null, fast: null };
  return pricesFrom({ ...text, ...rest, web_search_per_thousand: null, units }, []);
}

/** In nanodollars, by another arithmetic than the service's: one fraction, rounded up at its end. */
function receipt(lines: readonly (readonly [count: number, rate: string, per: number])[], multiplier: string): number {
  const digits = (text: string): [bigint, bigint] => {
    const [whole = '', fraction = ''] = text.split('.');
    return [BigInt(whole + fraction), 10n ** BigInt(fraction.length)];
  };
  let [top, bottom] = [0n, 1n];
  for (const [count, rate, per] of lines) {
    const [value, scale] = digits(rate);
    const under = scale * BigInt(per);
    [top, bottom] = [top * under + BigInt(count) * value * bottom, bottom * under];
  }
  const [times, scale] = digits(multiplier);
  [top, bottom] = [top * times * 1_000_000_000n, bottom * scale];
  return Number((top + bottom - 1n) / bottom);
}

const millionths = (text: string) => BigInt(Math.round(Number(text) * 1e6));

describe.each(UNITS.map((unit) => [unit] as const))('the unit %s', (unit) => {
  const [name, rate, per] = RATES[unit];

  test.each([
    [1, '1'],
    [7, '1'],
    [3_599, '0.8'],
    [123_457, '1.234567'],
  ])('%i at its rate, times %s, has the cost of an independent receipt', (count, multiplier) => {
    const price = priceOf({ [name]: rate });
    const counts = { ...NO_TOKENS, units: unitsOf({ [unit]: count }) };
    const expected = receipt([[count, rate, per]], multiplier);
    expect(priceMessage(price, counts, millionths(multiplier), 'standard')).toBe(expected);
    const rates = rateRecord(price, counts, millionths(multiplier), 'standard');
    expect(rates[name]).toBe(rate);
    const explained = explainPrice(rates, counts);
    expect(explained?.afterRounding).toBe(expected);
    expect(explained?.parts).toEqual([expect.objectContaining({ part: unit, count, rate })]);
    expect(explainPrice(multipliedRates(rates), counts)?.afterRounding).toBe(expected);
  });

  test('is in the worst case', () => {
    const price = priceOf({ [name]: rate }, { input: '3', output: '15' });
    const units = unitsOf({ [unit]: 1_000 });
    const most = { inputTokens: 100, outputTokens: 10, webSearches: 0, units, tier: 'standard' } as const;
    expect(priceWorstCase(price, most, MILLION)).toBe(
      receipt(
        [
          [100, '3', 1_000_000],
          [10, '15', 1_000_000],
          [1_000, rate, per],
        ],
        '1',
      ),
    );
  });
});

test('random prices of all units together have the cost of an independent receipt', () => {
  const random = makeRandom(35);
  const below = (most: number) => Math.floor(random() * most);
  for (let round = 0; round < 500; round++) {
    const counted = UNITS.map((unit) => [unit, below(2) === 0 ? 0 : below(1_000)] as const);
    const rates = UNITS.map((unit) => [RATES[unit][0], `${below(50)}.${1 + below(999)}`] as const);
    const multiplier = `${below(3)}.${100_000 + below(899_999)}`;
    const price = priceOf(Object.fromEntries(rates), { input: '2.5', output: '10' });
    const input = below(100_000);
    const counts = { ...NO_TOKENS, input, output: 77, units: unitsOf(Object.fromEntries(counted)) };
    const lines = counted.map(([unit, count], at) => [count, rates[at]?.[1] as string, RATES[unit][2]] as const);
    const text = [
      [input, '2.5', 1_000_000],
      [77, '10', 1_000_000],
    ] as const;
    const cost = receipt([...text, ...lines], multiplier);
    expect(priceMessage(price, counts, millionths(multiplier), 'standard')).toBe(cost);

    const applied = rateRecord(price, counts, millionths(multiplier), 'standard');
    const parts = unitCostsOf(cost, applied, counts) ?? {};
    expect(Object.keys(parts)).toEqual(counted.flatMap(([unit, count]) => (count > 0 ? [unit] : [])));
    let left = cost;
    for (const [at, [unit, count]] of counted.entries()) {
      const part = parts[unit] ?? 0;
      const line = lines[at] as (typeof lines)[number];
      expect(Math.abs(part - (count === 0 ? 0 : receipt([line], multiplier)))).toBeLessThanOrEqual(2);
      left -= part;
    }
    expect(Math.abs(left - receipt(text, multiplier))).toBeLessThanOrEqual(2);
    const unitsAlone = receipt(lines, multiplier);
    const ofAll = unitCostsOf(unitsAlone, applied, { ...NO_TOKENS, units: counts.units }) ?? {};
    const sum = Object.values(ofAll).reduce((all, part) => all + part, 0);
    expect(sum).toBe(counted.every(([, count]) => count === 0) ? 0 : unitsAlone);
  }
});

test('the parts of a cost are none of an unbilled message, and shrink with a refund', () => {
  const counts = { ...NO_TOKENS, input: 10, units: unitsOf({ images: 3, searches: 2 }) };
  expect(unitCostsOf(0, UNBILLED_RATES, counts)).toEqual({ images: 0, searches: 0 });
  expect(unitCostsOf(5, UNBILLED_RATES, NO_TOKENS)).toBeUndefined();
  expect(
    divideCost(
      10,
      [
        ['images', 3n],
        ['searches', 3n],
      ],
      9n,
    ),
  ).toEqual({ images: 3, searches: 3 });
  expect(
    divideCost(
      11,
      [
        ['images', 3n],
        ['searches', 6n],
      ],
      9n,
    ),
  ).toEqual({ images: 3, searches: 8 });
});

test('tokens of another modality without a rate cost as much as text', () => {
  const price = priceOf({ audio_input: '32' }, { input: '2', output: '8' });
  const units = unitsOf({ input_audio_tokens: 10, output_audio_tokens: 100, input_image_tokens: 1_000 });
  const counts = { ...NO_TOKENS, units };
  const expected = receipt(
    [
      [10, '32', 1_000_000],
      [100, '8', 1_000_000],
      [1_000, '2', 1_000_000],
    ],
    '1',
  );
  expect(priceMessage(price, counts, MILLION, 'standard')).toBe(expected);
  expect(explainPrice(rateRecord(price, counts, MILLION, 'standard'), counts)?.afterRounding).toBe(expected);
});

describe('images', () => {
  const rows = { '1024x1024 low': '0.011', '1024x1024 high': '0.167', '1536x1024': '0.25', hd: '0.5', '*': '0.04' };
  const costOf = (image: string | null, units: object = { per_image: rows }) =>
    priceMessage(priceOf(units), { ...NO_TOKENS, units: unitsOf({ images: 2 }, image) }, MILLION, 'standard');

  test.each([
    ['1024x1024 high', 334_000_000],
    ['1536x1024 medium', 500_000_000],
    ['1792x1024 hd', 1_000_000_000],
    ['512x512 standard', 80_000_000],
  ])('%s cost by their size and quality, or by one of them', (image, nano) => {
    expect(costOf(image)).toBe(nano);
  });

  test('of no stated kind cost as much as the dearest', () => {
    expect(costOf(null)).toBe(1_000_000_000);
    expect(costOf('256x256 low', { per_image: { '1024x1024 low': '0.1', '1024x1024 high': '0.2' } })).toBe(400_000_000);
  });
});

test('a multiplied price has multiplied rates of units', () => {
  const price = multipliedPrice(priceOf({ per_hour: '0.36', per_image: { '2K': '0.1' } }), 1_500_000n);
  const counts = { ...NO_TOKENS, units: unitsOf({ seconds: 3_600, images: 1 }, '2K') as Units };
  expect(priceMessage(price, counts, MILLION, 'standard')).toBe(690_000_000);
});

test('a provider’s cost is unknown if it has no rate for what was used', () => {
  const route = (units: object) => ({ cost: priceOf(units) }) as unknown as Parameters<typeof priceRoute>[0];
  const counts = { ...NO_TOKENS, units: unitsOf({ characters: 1_000 }) };
  expect(priceRoute(route({ per_million_characters: '15' }), counts, 'standard')).toBe(15_000_000);
  expect(priceRoute(route({ audio_output: '15' }), counts, 'standard')).toBeNull();
});

describe('a document', () => {
  const routes = [{ provider: 'p' }];
  const faultsOf = (model: object) => {
    const { error } = modelInput.safeParse({ routes, ...model });
    return error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
  };

  test.each([
    ['rerank', { units: { per_thousand_searches: '2' } }],
    ['speech', { units: { per_million_characters: '15' } }],
    ['speech', { input: '0.6', output: '0', units: { audio_output: '12' } }],
    ['transcription', { units: { per_hour: '0.36' } }],
    ['images', { units: { per_image: { '1024x1024 high': '0.167', '2K': '0.1' } } }],
    ['moderation', { input: '0' }],
    ['rerank', { input: '0.05' }],
  ])('of a model that serves %s needs only the rates that it is billed by: %j', (serves, price) => {
    expect(faultsOf({ serves, price })).toEqual([]);
  });

  test.each([
    [
      { serves: 'rerank', price: { units: { per_image: '1' } } },
      'price.units.per_image: is no rate of a model that serves rerank',
    ],
    [
      { serves: 'speech', price: { units: { per_hour: '1' } } },
      'price.units.per_hour: is no rate of a model that serves speech',
    ],
    [
      { price: { input: '1', output: '1', units: { per_hour: '1' } } },
      'price.units.per_hour: is no rate of a model that serves messages',
    ],
    [{ serves: 'images', price: { units: {} } }, 'price.units: must not be empty'],
    [{ serves: 'images', price: {} }, 'price.input'],
    [{ serves: 'images', price: { units: { per_image: { 'a b c': '1' } } } }, 'price.units.per_image'],
    [{ serves: 'images', price: { units: { per_image: '-1' } } }, 'price.units.per_image'],
  ])('with %j is refused', (model, words) => {
    expect(faultsOf(model).join('\n')).toContain(words);
  });
});
