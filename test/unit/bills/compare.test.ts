// The comparison of a bill with recorded costs: the parts of a difference add up to it exactly, and name its cause.

import { describe, expect, test } from 'bun:test';
import {
  type BillFeature,
  type BillLine,
  billFeatures,
  parseUnits,
  readDecimal,
} from '../../../src/bills/bill-line.ts';
import { type BillParts, billParts, type ComparedDay } from '../../../src/bills/bill-source.ts';
import { compareDay } from '../../../src/bills/compare.ts';
import { addRecord, type OurDay } from '../../../src/bills/gather-usage.ts';
import { matchModels } from '../../../src/bills/match-models.ts';
import type { AttemptRecord, StoredUsageRecord } from '../../../src/ledger/ledger.ts';
import { emptyRecord } from '../../../src/ledger/usage-record.ts';
import { makeRandom } from '../../support/random.ts';
import { setBounds } from '../../support/set-bounds.ts';

const DAY = Date.UTC(2026, 10, 1);
const units = (text: string) => readDecimal(text, 36)?.units ?? 0n;

const line = (facts: Partial<Omit<BillLine, 'amount'>> & { amount: string }): BillLine => ({
  ...{ dayMs: DAY, model: 'm', feature: 'output', tier: 'standard', quantity: null, rows: 1 },
  ...facts,
  amount: units(facts.amount),
});

function record(facts: Partial<StoredUsageRecord>): StoredUsageRecord {
  const blank = emptyRecord({ requestId: 'r', account: 1, key: 1, group: 'g', model: 'sold', stream: false });
  const answered = { provider: 'p', upstreamModel: 'm', usageSource: 'reported', outcome: 'completed' } as const;
  return { ...blank, seq: 1, refunded: 0, atMs: DAY, ...answered, ...facts } as StoredUsageRecord;
}

const attempt = (facts: Partial<AttemptRecord> = {}): AttemptRecord => {
  return { provider: 'p', model: 'm', result: 'failed', status: 200, ms: 1, ...facts };
};

/** A catalog whose route costs 3 USD per million input tokens and 15 per million of output. */
const route = { provider: 'p', upstreamModel: 'm', cost: costOf(3n, 15n) };
const catalog = { models: new Map([['sold', { routes: [route] }]]) } as unknown as Parameters<typeof addRecord>[3];

function costOf(input: bigint, output: bigint) {
  const unit = 10n ** 12n;
  const rates = { input: input * unit, output: output * unit, cacheRead: unit, cacheWrite5m: unit, cacheWrite1h: unit };
  return { standard: rates, longContext: null, tiers: {}, webSearchPerThousand: null, fromMs: 0, next: null };
}

function oursOf(records: readonly StoredUsageRecord[]): OurDay {
  const day: OurDay = { models: new Map() };
  for (const one of records) addRecord(day, one, 'p', catalog);
  return day;
}

function compare(lines: BillLine[], records: readonly StoredUsageRecord[], places = 2, mapping = {}): ComparedDay {
  return compareDay({ lines, ours: oursOf(records), mapping, places });
}

/** The parts that are not zero. */
const causes = ({ parts }: { parts: BillParts }) =>
  Object.fromEntries(Object.entries(parts).filter(([, amount]) => amount !== '0'));

const million = record({ outputTokens: 1_000_000, providerCost: 15_000_000_000 });

describe('a difference', () => {
  test('is none where bill and records agree', () => {
    const day = compare([line({ amount: '15', quantity: 1_000_000 })], [million]);
    expect(day).toMatchObject({ billed: '15.00', ours: '15.00', difference: '0', messages: 1 });
    expect(causes(day)).toEqual({});
  });

  test('within what was rounded is rounding', () => {
    const small = record({ inputTokens: 1, outputTokens: 1, providerCost: 18_000 });
    const lines = [line({ feature: 'input', amount: '0.00', quantity: 1 }), line({ amount: '0.00', quantity: 1 })];
    expect(causes(compare(lines, [small]))).toEqual({ rounding: '-0.000018' });
  });

  test('of a tier that nobody requested is what it costs more than the standard one', () => {
    const lines = [line({ amount: '7.5', quantity: 500_000 }), line({ tier: 'fast', amount: '15', quantity: 500_000 })];
    const day = compare(lines, [million]);
    expect(day.difference).toBe('7.50');
    expect(causes(day)).toEqual({ tiers: '7.50' });
  });

  test('of attempts without a reported answer is cancelled work, at most as much as the message used in the end', () => {
    const retried = { ...million, attempts: [attempt(), attempt({ result: 'answered' })] };
    const lines = (quantity: number) => [line({ amount: String(quantity * 0.000015), quantity })];
    expect(causes(compare(lines(1_400_000), [retried]))).toEqual({ cancelled: '6.00' });
    expect(causes(compare(lines(3_000_000), [retried]))).toEqual({ cancelled: '15.00', beside: '15.00' });
    // A refused attempt costs nothing.
    const refused = { ...million, attempts: [attempt({ status: 429 })] };
    expect(causes(compare(lines(1_400_000), [refused]))).toEqual({ beside: '6.00' });
  });

  test('of attempts whose message used nothing is cancelled work, at most as much as a message of the day uses', () => {
    const gone = record({ provider: null, upstreamModel: null, usageSource: 'none', attempts: [attempt()] });
    const lines = [line({ amount: '60', quantity: 4_000_000 })];
    expect(causes(compare(lines, [million, gone]))).toEqual({ cancelled: '15.00', beside: '30.00' });
    // Without any message that tells how much one uses, all of it may be.
    expect(causes(compare(lines, [gone]))).toEqual({ cancelled: '60.00' });
  });

  test('of usage that was estimated is cancelled work, in both directions', () => {
    const cut = { ...million, usageSource: 'estimated' as const, outcome: 'client_gone' as const };
    expect(causes(compare([line({ amount: '9', quantity: 600_000 })], [cut]))).toEqual({ cancelled: '-6.00' });
    expect(causes(compare([line({ amount: '9' })], [cut]))).toEqual({ cancelled: '-6.00' });
  });

  test('of use that this service did not see is traffic beside it', () => {
    expect(causes(compare([line({ amount: '30', quantity: 2_000_000 })], [million]))).toEqual({ beside: '15.00' });
    expect(causes(compare([line({ amount: '30' })], [million]))).toEqual({ beside: '15.00' });
    expect(causes(compare([line({ model: 'other', amount: '1' })], []))).toEqual({ beside: '1.00' });
  });

  test('of a route without a cost is an unknown price', () => {
    const unpriced = { ...million, providerCost: null };
    expect(causes(compare([line({ amount: '15', quantity: 1_000_000 })], [unpriced]))).toEqual({
      unknownPrice: '15.00',
    });
    expect(causes(compare([line({ amount: '15' })], [unpriced]))).toEqual({ unknownPrice: '15.00' });
  });

  test('of another price is not explained', () => {
    expect(causes(compare([line({ amount: '20', quantity: 1_000_000 })], [million]))).toEqual({ unexplained: '5.00' });
    expect(causes(compare([], [million]))).toEqual({ unexplained: '-15.00' });
  });

  test('of web searches that are billed without a model is compared with those of all models', () => {
    const searched = record({ webSearches: 2, outputTokens: 1, providerCost: null });
    const day = compare([line({ model: '', feature: 'web_search', amount: '0.02', quantity: 2 })], [searched]);
    expect(day.models.map(({ model }) => model)).toEqual(['', 'm']);
    expect(day.models[0]?.features).toMatchObject([{ feature: 'web_search', billedQuantity: 2, ourQuantity: 2 }]);
  });
});

describe('our cost', () => {
  test('is split by feature where the route’s cost gives it, and is whole under `other` where it does not', () => {
    const mixed = record({ inputTokens: 1_000_000, outputTokens: 1_000_000, providerCost: 18_000_000_000 });
    const featuresOf = (day: ComparedDay) =>
      Object.fromEntries((day.models[0]?.features ?? []).map(({ feature, ours }) => [feature, ours]));
    expect(featuresOf(compare([], [mixed]))).toEqual({ input: '3.00', output: '15.00' });
    expect(featuresOf(compare([], [{ ...mixed, providerCost: 1 }]))).toEqual({
      ...{ input: '0', output: '0', other: '0.000000001' },
    });
  });
});

describe('names on a bill', () => {
  const ours = ['anthropic.claude-sonnet-4-6-20260501-v1:0', 'claude-haiku-4-5-20251001', 'gpt-5', 'gpt-5-mini'];
  const matched = (name: string, mapping = {}) => matchModels([name], ours, mapping).get(name);

  test('are matched by their words and numbers, or as the operator says, but never by likeness', () => {
    expect(matched('Claude4.6Sonnet')).toBe('anthropic.claude-sonnet-4-6-20260501-v1:0');
    expect(matched('Claude Haiku 4.5')).toBe('claude-haiku-4-5-20251001');
    expect(matched('gpt-5')).toBe('gpt-5');
    expect(matched('Claude4.5Sonnet')).toBe('Claude4.5Sonnet');
    expect(matched('Sonnet', { Sonnet: 'gpt-5' })).toBe('gpt-5');
    const two = ['claude-haiku-4-5-20251001', 'claude-haiku-4-5-20260101'];
    expect(matchModels(['Claude Haiku 4.5'], two, {}).get('Claude Haiku 4.5')).toBe('Claude Haiku 4.5');
  });
});

class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = makeRandom(seed);
  }

  below(end: number): number {
    return Math.floor(this.#next() * end);
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }
}

test('models beyond a bound are added up, on both sides', () => {
  using _ = setBounds({ billModelsPerDayMax: 2 });
  const names = ['a', 'b', 'c', 'd'];
  const lines = names.map((model) => line({ model, amount: '1', quantity: 10 }));
  const records = names.map((upstreamModel) =>
    record({ upstreamModel, outputTokens: 10, providerCost: 1_000_000_000 }),
  );
  const day = compare(lines, records);
  expect(day).toMatchObject({ billed: '4.00', ours: '4.00', difference: '0' });
  expect(day.models.map(({ model, billed }) => [model, billed])).toEqual([
    ['(other models)', '2.00'],
    ['a', '1.00'],
    ['b', '1.00'],
  ]);
});

function randomLine(random: Random): BillLine {
  const feature = random.pick(billFeatures);
  return {
    dayMs: DAY,
    model: random.pick(['m', 'n', '']),
    feature,
    tier: random.pick(['standard', 'standard', 'fast', 'flex', feature === 'batch' ? 'batch' : 'standard']),
    amount: BigInt(random.below(2 ** 40)) * 10n ** BigInt(random.below(26)) * (random.below(20) === 0 ? -1n : 1n),
    quantity: random.pick([null, 0, random.below(2 ** 20), random.below(2 ** 20)]),
    rows: random.below(5),
  };
}

function randomRecord(random: Random): StoredUsageRecord {
  const count = () => random.pick([0, random.below(2 ** 20)]);
  const [inputTokens, outputTokens, cacheReadTokens, webSearches] = [count(), count(), count(), random.below(3)];
  const results = ['answered', 'failed', 'timeout', 'rate_limited'];
  return record({
    upstreamModel: random.pick(['m', 'n']),
    usageSource: random.pick(['reported', 'estimated', 'none']),
    providerCost: random.pick([null, random.below(2 ** 40), inputTokens * 3_000 + outputTokens * 15_000]),
    attempts: [attempt({ result: random.pick(results), status: random.pick([null, 200, 429, 529]) })],
    rates: random.pick([{}, { tier: 'fast' }, { tier: 'flex' }]),
    ...{ inputTokens, outputTokens, cacheReadTokens, webSearches },
  });
}

const sumOf = (parts: BillParts) => billParts.reduce((sum, part) => sum + parseUnits(parts[part]), 0n);

test('the parts of every difference add up to it exactly, for any bill and any records', () => {
  for (let seed = 1; seed <= 2_000; seed++) {
    const random = new Random(seed);
    const lines = Array.from({ length: random.below(8) }, () => randomLine(random));
    const records = Array.from({ length: random.below(6) }, () => randomRecord(random));
    const day = compare(lines, records, random.below(20));
    const recorded = records
      .filter(({ usageSource }) => usageSource !== 'none')
      .reduce((sum, { providerCost }) => sum + BigInt(providerCost ?? 0), 0n);
    const billed = lines.reduce((sum, { amount }) => sum + amount, 0n);
    const seen = { seed, billed: parseUnits(day.billed), ours: parseUnits(day.ours), parts: sumOf(day.parts) };
    expect(seen).toEqual({ seed, billed, ours: recorded * 10n ** 27n, parts: billed - recorded * 10n ** 27n });
    for (const { features, ...model } of day.models) {
      expect({ seed, sum: sumOf(model.parts) }).toEqual({ seed, sum: parseUnits(model.difference) });
      const differences = features.reduce((sum, { difference }) => sum + parseUnits(difference), 0n);
      expect({ seed, differences }).toEqual({ seed, differences: parseUnits(model.difference) });
      expect(features.map(({ feature }) => feature satisfies BillFeature)).toHaveLength(features.length);
    }
  }
});
