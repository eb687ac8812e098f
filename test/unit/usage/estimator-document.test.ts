// Estimator state is stored as plain JSON and survives restarts. Unreadable state is ignored.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bounds } from '../../../src/config/config.ts';
import { Estimates, type SampleDocument } from '../../../src/usage/usage.ts';
import { ACCOUNT, billed, complete, covered, MODEL } from './messages.ts';
import { byKind, makeMixed, type Random, randomFrom, rates } from './synthetic-tokenizers.ts';

function learn(estimates: Estimates, random: Random, count: number, accounts = [ACCOUNT], model = MODEL): void {
  for (let made = 0; made < count; made++) {
    const pieces = makeMixed(random);
    const tokens = byKind(rates)(pieces);
    const durationMs = 500 + random() * 10_000;
    for (const account of accounts) {
      const stamps = [0, durationMs];
      const counter = complete(pieces, tokens, { elapsedMs: () => stamps.shift() ?? 0 });
      estimates.addSample(model, account, counter);
    }
  }
}

const stored = (estimates: Estimates): [string, unknown][] => JSON.parse(JSON.stringify(estimates.takeChanged(10)));
const NEW_ACCOUNT = 999;
const estimateOf = (estimates: Estimates, model = MODEL) =>
  [ACCOUNT, NEW_ACCOUNT].map((account) => estimates.output(model, account));

test('after a restart the estimates are the same, and so is the effect of new samples', () => {
  for (const count of [1, 7, 20, 100, 333]) {
    const [estimates, random] = [new Estimates(), randomFrom(count)];
    learn(estimates, random, count, [ACCOUNT, 2, 3, 4]);
    const again = new Estimates(stored(estimates));
    expect(estimateOf(again)).toEqual(estimateOf(estimates));
    learn(estimates, randomFrom(1), 30);
    learn(again, randomFrom(1), 30);
    expect(stored(again)).toEqual(stored(estimates));
  }
});

test('a document is small, and contains only numbers', () => {
  const estimates = new Estimates();
  const accounts = Array.from({ length: bounds.sampledAccountsStoredMax + 40 }, (_, at) => at);
  learn(estimates, randomFrom(1), 90, accounts);
  const document = estimates.takeChanged(1)[0]?.[1];
  expect(document?.accounts.map(({ account }) => account)).toEqual(accounts.slice(40));
  const json = JSON.stringify(document);
  expect(json.length).toBeLessThan(160 * 1024);
  expect(json.replaceAll(/"[a-z]+":/g, '')).toMatch(/^[-\d.e,[\]{}]+$/);
});

test('a changed model is returned once, and each call returns at most the requested number', () => {
  const estimates = new Estimates();
  const change = (model: string) => learn(estimates, randomFrom(1), 1, [ACCOUNT], model);
  expect(estimates.takeChanged(10)).toEqual([]);
  for (const model of ['a', 'b', 'c', 'a']) change(model);
  const names = (taken: ReturnType<Estimates['takeChanged']>) => taken.map(([model]) => model);
  expect(names(estimates.takeChanged(2))).toEqual(['a', 'b']);
  expect(names(estimates.takeChanged(2))).toEqual(['c']);
  expect(estimates.takeChanged(2)).toEqual([]);
  change('b');
  expect(names(estimates.takeChanged(2))).toEqual(['b']);
});

test('an unreadable document is ignored, and the others are read', () => {
  const estimates = new Estimates();
  learn(estimates, randomFrom(1), 50);
  const [[, good]] = stored(estimates) as [[string, SampleDocument]];
  const [account] = good.accounts as [SampleDocument['accounts'][number]];
  const spoiled = [
    null,
    'text',
    [],
    {},
    { ...good, version: 1 },
    { ...good, accounts: {} },
    { ...good, accounts: Array(bounds.sampledAccountsStoredMax + 1).fill(account) },
    ...[
      null,
      { ...account, account: 'one' },
      { ...account, matrix: [1] },
      { ...account, matrix: Array(36).fill(-1) },
      { ...account, vector: ['1', 2, 3, 4, 5, 6] },
      { ...account, coefficients: [0.25, 0.25, 0.25, 0.25, 0.25, 9] },
      { ...account, coefficients: [0.25, 0.25, 0.25, 0.25, 0.25, null] },
      { ...account, kinds: [{ shares: [0, 0, 0, 0, 0, 1], ratios: [Number.NaN] }] },
      { ...account, kinds: [{ shares: [0, 0, 0, 0, 0, 1], ratios: [0] }] },
      { ...account, kinds: [{ shares: [1], ratios: [1] }] },
      { ...account, kinds: [null] },
      { ...account, speeds: [-1] },
      { ...account, samples: undefined },
    ].map((odd) => ({ ...good, accounts: [account, odd] })),
  ];
  for (const document of spoiled) {
    const read = new Estimates([
      [MODEL, document],
      ['good', good],
    ]);
    expect(estimateOf(read)).toEqual(estimateOf(new Estimates()));
    expect(estimateOf(read, 'good')).toEqual(estimateOf(estimates));
  }
});

test('whatever was stored, estimates are numbers within their limits', () => {
  const numbers = (least: number, most: number) =>
    fc.array(fc.oneof(fc.double({ min: -1e6, max: 1e6 }), fc.double()), { minLength: least, maxLength: most });
  const document = fc.record({
    account: fc.constant(ACCOUNT),
    samples: fc.nat(),
    matrix: numbers(36, 36),
    vector: numbers(6, 6),
    coefficients: fc.array(fc.double({ min: 0.02, max: 1.5, noNaN: true }), { minLength: 6, maxLength: 6 }),
    kinds: fc.array(
      fc.record({
        shares: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }),
        ratios: fc.array(fc.double({ min: 0.25, max: 4, noNaN: true }), { minLength: 1, maxLength: 12 }),
      }),
      { maxLength: 12 },
    ),
    speeds: fc.array(fc.double({ min: 0, max: 1e4, noNaN: true }), { maxLength: 32 }),
  });
  fc.assert(
    fc.property(
      fc.oneof(
        document,
        document.map((made) => ({ ...made, matrix: made.matrix.map(Math.abs) })),
      ),
      (made) => {
        const estimates = new Estimates([[MODEL, { version: 2, accounts: [made] }]]);
        learn(estimates, randomFrom(1), 9);
        const { own, topTokensPerSecond, lowTokensPerSecond } = estimates.output(MODEL, ACCOUNT);
        for (const coefficient of own?.coefficients ?? [Number.NaN]) expect(coefficient).toBeWithin(0.02, 1.5000001);
        for (const figure of [own?.low, own?.high, topTokensPerSecond, lowTokensPerSecond])
          expect(Number.isFinite(figure)).toBe(true);
        const [bill, cover] = [billed, covered].map((of) => of(estimates, makeMixed(randomFrom(2)))) as [
          number,
          number,
        ];
        expect(bill).toBeGreaterThan(0);
        expect(cover).toBeGreaterThanOrEqual(bill);
      },
    ),
    { numRuns: 50 },
  );
});

test('an account that is sampled for many models, and other accounts like it, take no samples of another', () => {
  const estimates = new Estimates();
  const addSamplesOf = (model: string, account: number) => {
    const counter = complete([{ kind: 'english', text: 'word '.repeat(40) }], 50);
    for (let sent = 0; sent < 8; sent++) estimates.addSample(model, account, counter);
  };
  addSamplesOf('model-0', ACCOUNT);
  for (let at = 0; at < bounds.sampledAccountsMax; at++) addSamplesOf(`model-${at % 100}`, 100 + Math.floor(at / 100));
  expect(estimates.output('model-0', ACCOUNT).own).not.toBeNull();
});

test('models and accounts are bounded: the oldest are dropped', () => {
  const estimates = new Estimates();
  const addSamplesOf = (model: string, account: number, times: number) => {
    const counter = complete([{ kind: 'english', text: 'word '.repeat(40) }], 50);
    for (let sent = 0; sent < times; sent++) estimates.addSample(model, account, counter);
  };
  for (let at = 0; at <= bounds.sampledModelsMax; at++) addSamplesOf(`model-${at}`, ACCOUNT, 8);
  expect(estimates.output('model-0', ACCOUNT).own).toBeNull();
  expect(estimates.output('model-1', ACCOUNT).own).not.toBeNull();
  expect(estimates.takeChanged(Number.MAX_SAFE_INTEGER)).toHaveLength(bounds.sampledModelsMax);
  const room = bounds.sampledAccountsMax - bounds.sampledModelsMax;
  for (let at = 0; at < room + 100; at++) addSamplesOf('model-1000', 2 + at, 1);
  expect(estimates.output('model-100', ACCOUNT).own).toBeNull();
  expect(estimates.output('model-101', ACCOUNT).own).not.toBeNull();
});
