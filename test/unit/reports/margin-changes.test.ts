// The changes of a margin: a factor that changes alone is the only effect, and the effects always add up to the change.

import { describe, expect, test } from 'bun:test';
import { explainMargin, type MarginCell, marginOfCells, type Rating } from '../../../src/reports/margin-changes.ts';
import { makeRandom } from '../../support/random.ts';

const price = { input: 3, cacheRead: 0.3, cacheWrite: 3.75, output: 15 };
const rating: Rating = { priceOf: () => price, costOf: () => ({ ...price, output: 10 }) };

interface Terms {
  model?: string;
  group?: string;
  provider?: string;
  multiplier?: number;
  priceFactor?: number;
  costFactor?: number;
  cached?: number;
  output?: number;
  writtenOff?: number;
}

/** A cell of `units` thousand requests of 1,000 tokens of prompt each. */
function cell(requests: number, terms: Terms = {}): MarginCell {
  const { model = 'm', group = 'g', provider = 'p', multiplier = 1, priceFactor = 1, costFactor = 1 } = terms;
  const { cached = 0, output = 200, writtenOff = 0 } = terms;
  const tokens = {
    input: requests * (1000 - cached),
    cacheRead: requests * cached,
    cacheWrite: 0,
    output: requests * output,
  };
  const rated = (factor: number, rates: typeof price) =>
    BigInt(
      Math.round(
        factor *
          1000 *
          (tokens.input * rates.input + tokens.cacheRead * rates.cacheRead + tokens.output * rates.output),
      ),
    );
  const listed = rated(priceFactor, price);
  const cost = BigInt(Math.round(Number(listed) * multiplier));
  const revenue = cost - BigInt(Math.round(Number(cost) * writtenOff));
  const providerCost = rated(costFactor, { ...price, output: 10 });
  return { model, group, provider, messages: requests, tokens, listed, cost, revenue, providerCost };
}

const effectsOf = (before: MarginCell[], after: MarginCell[]) =>
  Object.fromEntries(explainMargin(before, after, rating).map(({ effect, amount }) => [effect, amount]));

describe('one factor that changes is the only effect', () => {
  const usual = [
    cell(100),
    cell(100, { group: 'vip', multiplier: 0.8 }),
    cell(100, { provider: 'q', costFactor: 1.2 }),
  ];
  const cases: Record<string, MarginCell[]> = {
    traffic: [cell(200), cell(200, { group: 'vip', multiplier: 0.8 }), cell(200, { provider: 'q', costFactor: 1.2 })],
    multiplier: [
      cell(100),
      cell(100, { group: 'vip', multiplier: 0.5 }),
      cell(100, { provider: 'q', costFactor: 1.2 }),
    ],
    price: usual.map((_, at) =>
      cell(
        100,
        [
          { priceFactor: 1.5 },
          { group: 'vip', multiplier: 0.8, priceFactor: 1.5 },
          { provider: 'q', costFactor: 1.2, priceFactor: 1.5 },
        ][at] ?? {},
      ),
    ),
    provider_price: [
      cell(100),
      cell(100, { group: 'vip', multiplier: 0.8 }),
      cell(100, { provider: 'q', costFactor: 2 }),
    ],
    written_off: [
      cell(100, { writtenOff: 0.25 }),
      cell(100, { group: 'vip', multiplier: 0.8 }),
      cell(100, { provider: 'q', costFactor: 1.2 }),
    ],
    routes: [cell(50), cell(100, { group: 'vip', multiplier: 0.8 }), cell(150, { provider: 'q', costFactor: 1.2 })],
    groups: [cell(50), cell(200, { group: 'vip', multiplier: 0.8 }), cell(50, { provider: 'q', costFactor: 1.2 })],
    cache: [
      cell(100, { cached: 500 }),
      cell(100, { group: 'vip', multiplier: 0.8, cached: 500 }),
      cell(100, { provider: 'q', costFactor: 1.2, cached: 500 }),
    ],
  };
  for (const [effect, after] of Object.entries(cases))
    test(effect, () => {
      const change = marginOfCells(after) - marginOfCells(usual);
      expect(change).not.toBe(0n);
      const effects = effectsOf(usual, after);
      // Rounding leaves at most a few nanodollars to another effect.
      for (const [name, amount] of Object.entries(effects))
        if (name !== effect) expect(Math.abs(Number(amount))).toBeLessThan(10);
      expect(Math.abs(Number((effects[effect] ?? 0n) - change))).toBeLessThan(10);
    });
});

test('a model that is new is an effect of the models, and names it', () => {
  const changes = explainMargin([cell(100)], [cell(50), cell(50, { model: 'new', costFactor: 3 })], rating);
  const models = changes.find(({ effect }) => effect === 'models');
  expect(models?.parts[0]).toMatchObject({ model: 'new', group: null, provider: null });
  expect(changes.map(({ effect }) => effect)).toEqual(['models']);
});

test('longer answers are an effect of the lengths', () => {
  const [before, after] = [[cell(100, { cached: 300 })], [cell(100, { cached: 300, output: 900 })]];
  const effects = effectsOf(before, after);
  expect(effects['lengths']).toBeGreaterThan(0n);
  expect(effects['cache'] ?? 0n).toBe(0n);
});

test('without traffic in one of the periods all is traffic', () => {
  expect(effectsOf([], [cell(1)])).toEqual({ traffic: marginOfCells([cell(1)]) });
  expect(effectsOf([cell(1)], [])).toEqual({ traffic: -marginOfCells([cell(1)]) });
  expect(effectsOf([], [])).toEqual({});
  expect(effectsOf([cell(3)], [cell(3)])).toEqual({});
});

test('a multiplier that is not known in one of the periods has no effect of its own', () => {
  const unknown = { ...cell(100, { multiplier: 0.8 }), listed: null };
  expect(Object.keys(effectsOf([unknown], [cell(100, { multiplier: 0.5 })]))).toEqual(['price']);
});

test('the effects add up to the change to the nanodollar, whatever the cells', () => {
  const random = makeRandom(34);
  const some = (count: number) => Math.floor(random() * count);
  const pick = (names: string[]) => names[some(names.length)] as string;
  const anyCell = (): MarginCell => {
    const amount = () => BigInt(some(4) === 0 ? 0 : some(10 ** (1 + some(13))));
    const count = () => (some(4) === 0 ? 0 : some(10 ** (1 + some(8))));
    const [cost, writtenOff] = [amount(), amount()];
    return {
      model: pick(['a', 'b', 'c']),
      group: pick(['x', 'y']),
      provider: pick(['p', 'q', '']),
      messages: some(1000),
      tokens: { input: count(), cacheRead: count(), cacheWrite: count(), output: count() },
      listed: some(5) === 0 ? null : amount(),
      cost,
      revenue: cost > writtenOff ? cost - writtenOff : cost,
      providerCost: amount(),
    };
  };
  const cells = () => [
    ...new Map(
      Array.from({ length: some(9) }, anyCell).map((one) => [`${one.model} ${one.group} ${one.provider}`, one]),
    ).values(),
  ];
  const anyRating: Rating = {
    priceOf: (model) => (model === 'a' ? null : { ...price, cacheRead: 0 }),
    costOf: (model) => (model === 'b' ? { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 } : price),
  };
  for (let run = 0; run < 500; run++) {
    const [before, after] = [cells(), cells()];
    const changes = explainMargin(before, after, anyRating);
    const sum = changes.reduce((total, { amount }) => total + amount, 0n);
    expect(sum).toBe(marginOfCells(after) - marginOfCells(before));
    for (const { amount, parts } of changes) {
      const ofParts = parts.reduce((total, part) => total + part.amount, 0n);
      if (parts.length > 0)
        expect(Math.abs(Number(ofParts - amount))).toBeLessThanOrEqual(
          1 + parts.length + Math.abs(Number(amount)) * 1e-9,
        );
    }
    expect(explainMargin(after, after, anyRating).filter(({ effect }) => effect !== 'other')).toEqual([]);
  }
});
