// How many tokens a byte of a prompt may have is learned from the prompts that providers counted.

import { expect, test } from 'bun:test';
import { Estimates, inputTokensLikely, inputTokensUpperBound } from '../../src/usage/usage.ts';
import { MODEL } from './messages.ts';
import { randomFrom } from './synthetic-tokenizers.ts';

const measure = (textBytes: number, fixedTokensMax = 16) => ({ textBytes, fixedTokensMax, typicalTokens: 1 });

function learn(estimates: Estimates, count: number, tokensPerByte: (at: number) => number, bytes = 4_000): void {
  for (let at = 0; at < count; at++)
    estimates.learnPrompt(MODEL, measure(bytes), Math.round(bytes * tokensPerByte(at)) + 16);
}

test('nothing is said before sixteen prompts were counted', () => {
  const estimates = new Estimates();
  learn(estimates, 15, () => 0.3);
  expect(estimates.inputTokensPerByte(MODEL)).toBeNull();
  learn(estimates, 1, () => 0.3);
  expect(estimates.inputTokensPerByte(MODEL)).toBeCloseTo(0.309, 6);
  expect(estimates.inputTokensPerByte('another')).toBeNull();
});

test('few prompts have more tokens than was learned, and none more than the bound', () => {
  const random = randomFrom(1);
  const [estimates, seen] = [new Estimates(), { above: 0, likely: 0, most: 0 }];
  const draw = () => 0.2 + random() ** 3 * 0.3;
  learn(estimates, 300, draw);
  const tokensPerByte = estimates.inputTokensPerByte(MODEL) ?? 1;
  for (let at = 0; at < 1_000; at++) {
    const prompt = measure(1_000 + random() * 100_000);
    const real = prompt.textBytes * draw() + 16;
    const likely = inputTokensLikely(prompt, tokensPerByte);
    if (real > likely) seen.above++;
    seen.likely += likely;
    seen.most += inputTokensUpperBound(prompt);
  }
  expect(seen.above).toBeLessThanOrEqual(50);
  expect(seen.likely).toBeLessThan(0.6 * seen.most);
});

test('prompts of a new sort take the place of the old ones', () => {
  const estimates = new Estimates();
  learn(estimates, 300, () => 0.6);
  learn(estimates, 320, () => 0.2);
  expect(estimates.inputTokensPerByte(MODEL)).toBeCloseTo(0.206, 6);
});

test('it is never above one token a byte', () => {
  const estimates = new Estimates();
  learn(estimates, 20, () => 5);
  expect(estimates.inputTokensPerByte(MODEL)).toBe(1);
  expect(inputTokensLikely(measure(1_000), 1)).toBe(inputTokensUpperBound(measure(1_000)));
});

test('nothing is learned from short prompts, from those that are mostly images, and from odd counts', () => {
  const estimates = new Estimates();
  for (let times = 0; times < 40; times++) {
    estimates.learnPrompt(MODEL, measure(399), 200);
    estimates.learnPrompt(MODEL, measure(8_000, 5_000), 3_000);
    for (const odd of [-1, Number.NaN, Number.POSITIVE_INFINITY]) estimates.learnPrompt(MODEL, measure(4_000), odd);
    for (const odd of [-1, Number.NaN]) estimates.learnPrompt(MODEL, measure(odd), 1_000);
  }
  expect(estimates.inputTokensPerByte(MODEL)).toBeNull();
  expect(estimates.takeChanged(10)).toEqual([]);
});
