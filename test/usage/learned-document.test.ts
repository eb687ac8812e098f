// What was learned outlives the process as plain JSON, and what cannot be read of it does no harm.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bounds } from '../../src/config.ts';
import { Estimates } from '../../src/usage/usage.ts';
import { billed, complete, MODEL } from './messages.ts';
import { byKind, makeMixed, type Random, randomFrom, rates } from './synthetic-tokenizers.ts';

const measure = { textBytes: 4_000, fixedTokensMax: 16, typicalTokens: 1 };

function learn(estimates: Estimates, random: Random, count: number): void {
  for (let made = 0; made < count; made++) {
    const pieces = makeMixed(random);
    const stamps = [0, 500 + random() * 10_000];
    const tokens = byKind(rates)(pieces);
    estimates.learnOutput(MODEL, complete(pieces, tokens, { elapsedMs: () => stamps.shift() ?? 0 }));
    estimates.learnPrompt(MODEL, measure, 900 + random() * 300);
  }
}

const stored = (estimates: Estimates): [string, unknown][] => JSON.parse(JSON.stringify(estimates.takeChanged(10)));
const asked = (estimates: Estimates) => [estimates.output(MODEL), estimates.inputTokensPerByte(MODEL)];

test('after a restart the estimates are the same, and go on learning the same', () => {
  for (const count of [1, 7, 20, 100, 333]) {
    const [estimates, random] = [new Estimates(), randomFrom(count)];
    learn(estimates, random, count);
    const again = new Estimates(stored(estimates));
    expect(asked(again)).toEqual(asked(estimates));
    learn(estimates, randomFrom(1), 30);
    learn(again, randomFrom(1), 30);
    expect(stored(again)).toEqual(stored(estimates));
  }
});

test('a document is small, and holds numbers only', () => {
  const estimates = new Estimates();
  learn(estimates, randomFrom(1), 400);
  const json = JSON.stringify(estimates.takeChanged(1)[0]?.[1]);
  expect(json.length).toBeLessThan(8 * 1024);
  expect(json).toMatch(/^\{(?:"[a-z]+":(?:-?[\d.e-]+|\[[\d.,e-]*\]),?)+\}$/);
});

test('a model is given out once after it has changed, and no more at a time than asked for', () => {
  const estimates = new Estimates();
  expect(estimates.takeChanged(10)).toEqual([]);
  for (const model of ['a', 'b', 'c', 'a']) estimates.learnPrompt(model, measure, 1_000);
  const names = (taken: ReturnType<Estimates['takeChanged']>) => taken.map(([model]) => model);
  expect(names(estimates.takeChanged(2))).toEqual(['a', 'b']);
  expect(names(estimates.takeChanged(2))).toEqual(['c']);
  expect(estimates.takeChanged(2)).toEqual([]);
  estimates.learnPrompt('b', measure, 1_000);
  expect(names(estimates.takeChanged(2))).toEqual(['b']);
});

test('what a model is estimated by stays one object until something is learned of it', () => {
  const estimates = new Estimates();
  expect(estimates.output('other')).toBe(estimates.output(MODEL));
  learn(estimates, randomFrom(1), 20);
  const known = estimates.output(MODEL);
  expect(estimates.output(MODEL)).toBe(known);
  learn(estimates, randomFrom(2), 1);
  expect(estimates.output(MODEL)).not.toBe(known);
});

test('a document that cannot be read is ignored, and the others are not', () => {
  const estimates = new Estimates();
  learn(estimates, randomFrom(1), 50);
  const [[, good]] = stored(estimates) as [[string, Record<string, unknown>]];
  const spoiled = [
    null,
    'text',
    [],
    {},
    { ...good, version: 2 },
    { ...good, matrix: [1] },
    { ...good, matrix: Array(25).fill(-1) },
    { ...good, vector: ['1', 2, 3, 4, 5] },
    { ...good, coefficients: [0.25, 0.25, 0.25, 0.25, 9] },
    { ...good, coefficients: [0.25, 0.25, 0.25, 0.25, null] },
    { ...good, prompts: Array(257).fill(0.1) },
    { ...good, prompts: [2] },
    { ...good, ratios: [Number.NaN] },
    { ...good, ratios: [0] },
    { ...good, speeds: [-1] },
    { ...good, samples: undefined },
  ];
  for (const document of spoiled) {
    const read = new Estimates([
      [MODEL, document],
      ['good', good],
    ]);
    expect(asked(read)).toEqual(asked(new Estimates()));
    expect(read.output('good')).toEqual(estimates.output(MODEL));
  }
});

test('whatever was stored, estimates are numbers within their limits', () => {
  const numbers = (least: number, most: number) =>
    fc.array(fc.oneof(fc.double({ min: -1e6, max: 1e6 }), fc.double()), { minLength: least, maxLength: most });
  const document = fc.record({
    version: fc.constant(1),
    prompts: numbers(0, 20),
    samples: fc.nat(),
    matrix: numbers(25, 25),
    vector: numbers(5, 5),
    coefficients: fc.array(fc.double({ min: 0.02, max: 1.5, noNaN: true }), { minLength: 5, maxLength: 5 }),
    ratios: fc.array(fc.double({ min: 0.25, max: 4, noNaN: true }), { maxLength: 64 }),
    speeds: fc.array(fc.double({ min: 0, max: 1e4, noNaN: true }), { maxLength: 64 }),
  });
  fc.assert(
    fc.property(
      fc.oneof(
        document,
        document.map((made) => ({ ...made, prompts: [], matrix: made.matrix.map(Math.abs) })),
      ),
      (made) => {
        const estimates = new Estimates([[MODEL, made]]);
        learn(estimates, randomFrom(1), 3);
        const { coefficients, ...others } = estimates.output(MODEL);
        for (const coefficient of coefficients) expect(coefficient).toBeWithin(0.02, 1.5000001);
        for (const figure of Object.values(others)) expect(Number.isFinite(figure)).toBe(true);
        expect(billed(estimates, makeMixed(randomFrom(2)))).toBeGreaterThan(0);
      },
    ),
    { numRuns: 50 },
  );
});

test('no more models are kept than the bound allows: the oldest are dropped', () => {
  const estimates = new Estimates();
  for (let at = 0; at <= bounds.learnedModelsMax; at++)
    for (let times = 0; times < 16; times++) estimates.learnPrompt(`model-${at}`, measure, 1_000);
  expect(estimates.inputTokensPerByte('model-0')).toBeNull();
  expect(estimates.inputTokensPerByte('model-1')).not.toBeNull();
  expect(estimates.takeChanged(Number.MAX_SAFE_INTEGER)).toHaveLength(bounds.learnedModelsMax);
});
