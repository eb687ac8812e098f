// The bill of a cut message depends on the samples of its own account: honest mixed use is billed for its output, and
// samples of other accounts raise no bill.

import { expect, test } from 'bun:test';
import { Estimates } from '../../../src/usage/usage.ts';
import { type Corpus, type CountTokens, corpora, makeText, tokenizers } from './corpora.ts';
import { billed, complete, covered, MODEL } from './messages.ts';
import { type Random, randomFrom } from './synthetic-tokenizers.ts';

const VICTIM = 1;
const NEW_ACCOUNT = 2;
const ATTACKER = 100;
const asPieces = (text: string) => [{ kind: 'english' as const, text }];

function learn(estimates: Estimates, account: number, text: string, tokens: number): void {
  estimates.addSample(MODEL, account, complete(asPieces(text), tokens));
}

function makeTexts(random: Random, of: readonly Corpus[], times: number): string[] {
  return Array.from({ length: times }, (_, at) =>
    makeText(random, of[at % of.length] as Corpus, 300 + random() * 3_000),
  );
}

function learnAll(estimates: Estimates, account: number, count: CountTokens, texts: readonly string[]): void {
  for (const text of texts) learn(estimates, account, text, count(text));
}

/**
 * The lowest bill as a part of the output. A dictionary tokenizer cannot be estimated exactly from byte classes if
 * one account has eight kinds of text.
 */
function leastOf(tokenizer: string): number {
  return tokenizer === 'a dictionary' ? 0.8 : 0.85;
}

/** A text cut at a random place. */
function makeCut(random: Random, corpus: Corpus): string {
  const whole = makeText(random, corpus, 400 + random() * 4_000);
  return whole.slice(0, Math.max(100, Math.floor(random() * whole.length)));
}

const CUTS = 40;

function makeCuts(random: Random, corpus: Corpus): string[] {
  return Array.from({ length: CUTS }, () => makeCut(random, corpus));
}

interface Sum {
  ratio: number;
  aboveShare: number;
}

/** Bills divided by the actual output, and the number of bills that exceed it by more than a tenth and rounding. */
function billAll(estimates: Estimates, account: number, count: CountTokens, cuts: readonly string[]): Sum {
  const sum = { billed: 0, real: 0, above: 0 };
  for (const text of cuts) {
    const [bill, real] = [billed(estimates, asPieces(text), account), count(text)];
    sum.billed += bill;
    sum.real += real;
    if (bill > real * 1.1 + 2) sum.above++;
  }
  return { ratio: sum.billed / sum.real, aboveShare: sum.above / cuts.length };
}

/** Texts by seed, made once for all tokenizers: an account that uses all kinds of text, and one for each kind. */
const SEEDS = [0, 1, 2, 3, 4];
const uses = SEEDS.map((seed) => {
  const [mixed, single] = [randomFrom(seed), randomFrom(seed)];
  return {
    mixed: { texts: makeTexts(mixed, corpora, 80), cuts: corpora.map((corpus) => makeCuts(mixed, corpus)) },
    single: {
      texts: corpora.map((corpus) => makeTexts(single, [corpus], 20)),
      cuts: corpora.map((corpus) => makeCuts(single, corpus)),
    },
  };
});
const victimTexts = makeTexts(randomFrom(9), ['english', 'code'], 20);

for (const [name, count] of tokenizers) {
  test(`each kind of text is billed at 85 to 105 % (80 with a dictionary) to an account that uses all of them: ${name}`, () => {
    const sums = new Map<Corpus, Sum[]>(corpora.map((corpus) => [corpus, []]));
    for (const { mixed } of uses) {
      const estimates = new Estimates();
      learnAll(estimates, VICTIM, count, mixed.texts);
      for (const [at, corpus] of corpora.entries())
        sums.get(corpus)?.push(billAll(estimates, VICTIM, count, mixed.cuts[at] as string[]));
    }
    for (const of of sums.values()) {
      expect(of.reduce((sum, { ratio }) => sum + ratio, 0) / of.length).toBeWithin(leastOf(name), 1.05);
      expect(of.reduce((sum, { aboveShare }) => sum + aboveShare, 0) / of.length).toBeLessThan(0.05);
    }
  });

  test(`accounts that use one kind each are billed at 85 to 105 % of their output: ${name}`, () => {
    for (const { single } of uses) {
      const estimates = new Estimates();
      for (const [account, texts] of single.texts.entries()) learnAll(estimates, account, count, texts);
      for (const [account, cuts] of single.cuts.entries()) {
        const { ratio, aboveShare } = billAll(estimates, account, count, cuts);
        expect(ratio).toBeWithin(0.85, 1.05);
        expect(aboveShare).toBeLessThan(0.15);
      }
    }
  });

  test(`no attack changes the bill of an account with samples, or raises the bill of one without: ${name}`, () => {
    const quiet = new Estimates();
    learnAll(quiet, VICTIM, count, victimTexts);
    for (const [accounts, answers] of [
      [1, 500],
      [2, 90],
      [3, 90],
      [20, 10],
      [20, 40],
    ] as const) {
      for (const taught of ['random', 'indented', 'digits', 'chinese'] as const) {
        const random = randomFrom(accounts * answers);
        const attacked = new Estimates();
        learnAll(attacked, VICTIM, count, victimTexts);
        const text = makeText(random, taught, 160);
        const tokens = count(text);
        for (let sent = 0; sent < answers; sent++)
          for (let at = 0; at < accounts; at++) learn(attacked, ATTACKER + at, text, tokens);
        for (const corpus of corpora) {
          const pieces = asPieces(makeCut(random, corpus));
          expect(billed(attacked, pieces, VICTIM)).toBe(billed(quiet, pieces, VICTIM));
          expect(covered(attacked, pieces, VICTIM)).toBe(covered(quiet, pieces, VICTIM));
          const [before, after] = [billed(quiet, pieces, NEW_ACCOUNT), billed(attacked, pieces, NEW_ACCOUNT)];
          expect(after).toBeLessThanOrEqual(before);
          expect(after).toBeGreaterThanOrEqual(Math.floor(before * 0.7) - 2);
          const [heldBefore, held] = [covered(quiet, pieces, NEW_ACCOUNT), covered(attacked, pieces, NEW_ACCOUNT)];
          expect(held).toBeWithin(Math.floor(heldBefore * 0.8), Math.ceil(heldBefore * 1.5) + 1);
          if (accounts < 2) expect([after, held]).toEqual([before, heldBefore]);
        }
      }
    }
  });
}

test('three honest accounts lower the bill of an account without samples to its output, whatever one attacker sends', () => {
  const count: CountTokens = (text) => Math.round(Buffer.byteLength(text) / 4.8);
  const [estimates, random] = [new Estimates(), randomFrom(3)];
  for (const account of [3, 4, 5]) learnAll(estimates, account, count, makeTexts(random, ['english', 'german'], 20));
  const junk = 'xqzjv'.repeat(40);
  for (let sent = 0; sent < 200; sent++) learn(estimates, ATTACKER, junk, 180);
  expect(billAll(estimates, NEW_ACCOUNT, count, makeCuts(random, 'english')).ratio).toBeWithin(0.85, 1.02);
});

test('however low the samples of an account are, letters are billed at 0.1 tokens per byte at least, and covered at 0.2', () => {
  const estimates = new Estimates();
  for (let sent = 0; sent < 100; sent++) learn(estimates, VICTIM, 'the same word again and again '.repeat(40), 12);
  const pieces = asPieces('theother'.repeat(500));
  expect(billed(estimates, pieces, VICTIM)).toBeGreaterThanOrEqual(398);
  expect(covered(estimates, pieces, VICTIM)).toBeGreaterThanOrEqual(800);
});

/** Samples of streams of 1,000 tokens at this speed. */
function addSpeedSamples(estimates: Estimates, account: number, tokensPerSecond: number): void {
  for (let sent = 0; sent < 40; sent++) {
    const stamps = [0, (1_000 / tokensPerSecond) * 1000];
    estimates.addSample(MODEL, account, complete([], 1_000, { elapsedMs: () => stamps.shift() ?? 0 }));
  }
}

test('speeds are sampled per account; one other account has no effect, and many have a limited effect', () => {
  const estimates = new Estimates();
  addSpeedSamples(estimates, VICTIM, 80);
  const own = estimates.output(MODEL, VICTIM);
  expect(own).toMatchObject({ topTokensPerSecond: 80, lowTokensPerSecond: 80 });
  addSpeedSamples(estimates, ATTACKER, 9_000);
  const withoutSamples = { topTokensPerSecond: 150, lowTokensPerSecond: 0 };
  expect(estimates.output(MODEL, NEW_ACCOUNT)).toMatchObject(withoutSamples);
  for (let at = 1; at < 20; at++) addSpeedSamples(estimates, ATTACKER + at, 9_000);
  expect(estimates.output(MODEL, VICTIM)).toEqual(own);
  expect(estimates.output(MODEL, NEW_ACCOUNT)).toMatchObject({ topTokensPerSecond: 300, lowTokensPerSecond: 30 });
  for (let at = 20; at < 60; at++) addSpeedSamples(estimates, ATTACKER + at, 1);
  expect(estimates.output(MODEL, NEW_ACCOUNT)).toMatchObject({ topTokensPerSecond: 75, lowTokensPerSecond: 1 });
  addSpeedSamples(estimates, VICTIM, 1);
  expect(estimates.output(MODEL, VICTIM).topTokensPerSecond).toBeGreaterThanOrEqual(50);
});

test('an account has a vote from its eighth message on, and at least three votes are needed', () => {
  const estimates = new Estimates();
  const text = makeText(randomFrom(1), 'english', 1_000);
  for (const account of [10, 11, 12]) for (let sent = 0; sent < 7; sent++) learn(estimates, account, text, 200);
  for (const account of [10, 11]) learn(estimates, account, text, 200);
  expect(estimates.output(MODEL, NEW_ACCOUNT).votes).toHaveLength(0);
  learn(estimates, 12, text, 200);
  expect(estimates.output(MODEL, NEW_ACCOUNT).votes).toHaveLength(3);
});
