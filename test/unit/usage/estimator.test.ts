// The estimator derives tokens per byte from messages with reported output, for any tokenizer.

import { expect, test } from 'bun:test';
import { addText, type ByteClasses } from '../../../src/usage/byte-classes.ts';
import { predictTokens } from '../../../src/usage/output-estimate.ts';
import { Estimates } from '../../../src/usage/usage.ts';
import {
  ACCOUNT,
  billed,
  complete,
  covered,
  MODEL,
  messageDelta,
  messageStart,
  messageStop,
  observe,
  receive,
} from './messages.ts';
import {
  byKind,
  byQuarters,
  byWords,
  cut,
  kinds,
  makeMixed,
  makePiece,
  type Piece,
  type Random,
  randomFrom,
  rates,
  type Tokenizer,
} from './synthetic-tokenizers.ts';

const tokenizers: [name: string, tokenizer: Tokenizer][] = [
  ['a token per four bytes', byQuarters],
  ['a rate per kind of text', byKind(rates)],
  ['words and punctuation', byWords],
];

type MakeMessage = (random: Random) => Piece[];
const ofKind =
  (kind: Piece['kind']): MakeMessage =>
  (random) => [makePiece(random, kind, 300 + random() * 1500)];

function learn(estimates: Estimates, tokenizer: Tokenizer, random: Random, make: MakeMessage, count: number): void {
  for (let made = 0; made < count; made++) {
    const pieces = make(random);
    estimates.addSample(MODEL, ACCOUNT, complete(pieces, tokenizer(pieces)));
  }
}

/** The estimate from the account's samples. Throws if there are too few. */
function fitOf(estimates: Estimates) {
  const { own } = estimates.output(MODEL, ACCOUNT);
  if (own === null) throw new Error('too few samples');
  return own;
}

/**
 * The ratio of estimated to actual tokens of a long text of the kind, without the margins for billing and coverage.
 */
function accuracy(estimates: Estimates, tokenizer: Tokenizer, random: Random, make: MakeMessage): number {
  const pieces = Array.from({ length: 20 }, () => make(random)).flat();
  const classes: ByteClasses = [0, 0, 0, 0, 0, 0];
  for (const { text } of pieces) addText(classes, text);
  return predictTokens(fitOf(estimates).coefficients, classes) / tokenizer(pieces);
}

test('without samples a token has four bytes', () => {
  const estimates = new Estimates();
  expect(estimates.output(MODEL, ACCOUNT)).toEqual({
    own: null,
    votes: [],
    lowTokensPerSecond: 0,
    topTokensPerSecond: 150,
  });
  const pieces = makeMixed(randomFrom(1));
  expect(billed(estimates, pieces)).toBe(byQuarters(pieces));
  expect(covered(estimates, pieces)).toBe(byQuarters(pieces));
});

test('a provider that counts four bytes per token is estimated exactly, whatever the samples', () => {
  const estimates = new Estimates();
  const random = randomFrom(2);
  learn(estimates, byQuarters, random, makeMixed, 500);
  expect(fitOf(estimates)).toMatchObject({ low: 1, high: 1 });
  for (const coefficient of fitOf(estimates).coefficients) expect(coefficient).toBeCloseTo(0.25, 9);
  const pieces = makeMixed(random);
  expect(billed(estimates, pieces)).toBe(byQuarters(pieces));
});

for (const [name, tokenizer] of tokenizers) {
  test(`ten messages of one kind are enough for an error below a twentieth: ${name}`, () => {
    for (const kind of kinds) {
      for (let seed = 0; seed < 10; seed++) {
        const [estimates, random] = [new Estimates(), randomFrom(seed)];
        learn(estimates, tokenizer, random, ofKind(kind), 10);
        expect(accuracy(estimates, tokenizer, random, ofKind(kind))).toBeWithin(0.95, 1.05);
      }
    }
  });

  test(`samples of another kind of text take effect as fast, and the first kind keeps its estimate: ${name}`, () => {
    for (const first of kinds) {
      for (const second of kinds) {
        const [estimates, random] = [new Estimates(), randomFrom(3)];
        learn(estimates, tokenizer, random, ofKind(first), 70);
        learn(estimates, tokenizer, random, ofKind(second), 16);
        expect(accuracy(estimates, tokenizer, random, ofKind(second))).toBeWithin(0.95, 1.05);
        learn(estimates, tokenizer, random, ofKind(second), 60);
        expect(accuracy(estimates, tokenizer, random, ofKind(first))).toBeWithin(0.95, 1.05);
      }
    }
  });

  test(`a cut message is rarely billed above its tokens, almost never by more than a tenth, and is covered by its hold: ${name}`, () => {
    const seen = { messages: 0, above: 0, farAbove: 0, uncovered: 0, billed: 0, covered: 0, real: 0 };
    for (let seed = 0; seed < 20; seed++) {
      const [estimates, random] = [new Estimates(), randomFrom(100 + seed)];
      learn(estimates, tokenizer, random, makeMixed, 60);
      for (let made = 0; made < 40; made++) {
        const whole = makeMixed(random);
        const characters = whole.reduce((sum, { text }) => sum + text.length, 0);
        const pieces = cut(whole, Math.ceil(random() * characters));
        const [real, bill, cover] = [tokenizer(pieces), billed(estimates, pieces), covered(estimates, pieces)];
        seen.messages++;
        if (bill > real) seen.above++;
        if (bill > real * 1.1 + 2) seen.farAbove++;
        if (cover < real) seen.uncovered++;
        seen.billed += bill;
        seen.covered += cover;
        seen.real += real;
      }
    }
    expect(seen.above / seen.messages).toBeLessThanOrEqual(0.15);
    expect(seen.farAbove / seen.messages).toBeLessThanOrEqual(0.02);
    expect(seen.uncovered / seen.messages).toBeLessThanOrEqual(0.2);
    expect(seen.billed / seen.real).toBeWithin(0.9, 1.000001);
    expect(seen.covered / seen.real).toBeWithin(1, 1.15);
  });
}

test('with samples of one kind only, the error for another kind grows by at most half, and stays within limits', () => {
  for (const [, tokenizer] of tokenizers) {
    for (const kind of kinds) {
      const [estimates, random] = [new Estimates(), randomFrom(4)];
      learn(estimates, tokenizer, random, ofKind(kind), 60);
      for (const coefficient of fitOf(estimates).coefficients) expect(coefficient).toBeWithin(0.02, 1.5000001);
      for (const other of kinds) expect(accuracy(estimates, tokenizer, random, ofKind(other))).toBeWithin(0.5, 1.5);
    }
  }
});

test('after a change of a model’s tokenizer the estimates follow, and holds cover the new counts meanwhile', () => {
  const [estimates, random] = [new Estimates(), randomFrom(5)];
  const before = byKind(rates);
  const after = byKind({ english: 3.5, code: 2.6, chinese: 2.7, json: 2.3 });
  learn(estimates, before, random, makeMixed, 200);
  learn(estimates, after, random, makeMixed, 10);
  expect(fitOf(estimates).high).toBeGreaterThan(1.15);
  learn(estimates, after, random, makeMixed, 300);
  expect(accuracy(estimates, after, random, makeMixed)).toBeWithin(0.95, 1.05);
  expect(fitOf(estimates).high).toBeLessThan(1.15);
});

test('a count that is impossible for its text changes the estimates only within their limits', () => {
  const pieces = makeMixed(randomFrom(6));
  for (const tokens of [1, 10_000_000]) {
    const estimates = new Estimates();
    for (let made = 0; made < 50; made++) estimates.addSample(MODEL, ACCOUNT, complete(pieces, tokens));
    const { coefficients, low, high } = fitOf(estimates);
    for (const coefficient of coefficients) expect(coefficient).toBeWithin(0.02, 1.5000001);
    expect(low).toBeWithin(0.24, 4.0001);
    expect(high).toBeWithin(0.24, 4.0001);
  }
});

test('an account with many samples is sampled ten times a second', () => {
  const estimates = new Estimates();
  const pieces = makeMixed(randomFrom(6));
  let taken = 0;
  for (let nowMs = 0; nowMs < 3_000; nowMs += 10) {
    if (!estimates.takeTurn(MODEL, ACCOUNT, nowMs)) continue;
    estimates.addSample(MODEL, ACCOUNT, complete(pieces, byQuarters(pieces)));
    taken++;
  }
  expect(taken).toBe(65 + 23); // every message until there are enough, then every tenth
  expect(estimates.takeTurn(MODEL, ACCOUNT + 1, 3_000)).toBe(true);
});

test('unusual messages of one account change the estimates of others only within limits', () => {
  for (const tokensPerByte of [1 / 14, 0.9]) {
    const [estimates, random] = [new Estimates(), randomFrom(7)];
    const tokenizer = byKind(rates);
    for (let made = 0; made < 400; made++) {
      const pieces = makeMixed(random);
      const bytes = pieces.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
      const tokens = made % 8 === 0 ? Math.round(bytes * tokensPerByte) : tokenizer(pieces);
      estimates.addSample(MODEL, ACCOUNT, complete(pieces, tokens));
    }
    const pieces = Array.from({ length: 20 }, () => makeMixed(random)).flat();
    expect(billed(estimates, pieces) / tokenizer(pieces)).toBeWithin(0.5, 1.2);
    expect(covered(estimates, pieces) / tokenizer(pieces)).toBeWithin(0.75, 2);
  }
});

const long: Piece[] = [{ kind: 'english', text: 'word '.repeat(200) }];
const thought = { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'so' } };

test('a message that is cut, tiny, unreported or with hidden thinking is no sample of text', () => {
  const withoutSamples = new Estimates().output(MODEL, ACCOUNT);
  const odd = [
    receive(long),
    observe(receive(long), messageDelta(700)),
    observe(receive(long), messageStop),
    complete([{ kind: 'english', text: 'word' }], 3),
    complete(long, -1),
    complete(long, Number.NaN),
    observe(receive(long), thought, messageDelta(700), messageStop),
    observe(receive(long), messageDelta(700, 900), messageStop),
    observe(receive([]), messageDelta(700), messageStop),
    receive([]),
  ];
  const estimates = new Estimates();
  for (const counter of odd) for (let times = 0; times < 20; times++) estimates.addSample(MODEL, ACCOUNT, counter);
  expect(estimates.output(MODEL, ACCOUNT)).toEqual(withoutSamples);
  expect(estimates.takeChanged(10)).toEqual([]);
});

test('if the provider reports how much of the output was thinking, the rest is a sample', () => {
  const estimates = new Estimates();
  for (let made = 0; made < 20; made++)
    estimates.addSample(MODEL, ACCOUNT, observe(receive(long), thought, messageDelta(200 + 5_000, 5_000), messageStop));
  expect(billed(estimates, long)).toBeWithin(190, 204);
});

test('a message without streaming is a sample, too', () => {
  const estimates = new Estimates();
  for (let made = 0; made < 20; made++) {
    const counter = receive([]);
    counter.observeMessage({
      content: [{ type: 'text', text: long[0]?.text ?? '' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 200 },
    });
    estimates.addSample(MODEL, ACCOUNT, counter);
  }
  expect(billed(estimates, long)).toBeWithin(190, 204);
});

test('the name of a tool is covered, but not billed', () => {
  const named = { type: 'content_block_start', content_block: { type: 'tool_use', name: 'n'.repeat(40), input: {} } };
  const counter = observe(receive([]), messageStart, named);
  expect(counter.estimate({ inputEstimate: 0, outputTokensMax: 100 }).counts.output).toBe(0);
  expect(counter.coverTokens()).toBe(10);
});
