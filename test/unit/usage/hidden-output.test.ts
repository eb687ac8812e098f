// Hidden thinking is held by its duration, and billed only as far as its size is known.

import { expect, test } from 'bun:test';
import { Estimates, MessageCounter, readThinking } from '../../../src/usage/usage.ts';
import type { JsonObject, JsonValue } from '../../../src/wire/wire.ts';
import { ACCOUNT, complete, MODEL, messageDelta, messageStart, messageStop, observe } from './messages.ts';

const limits = { inputEstimate: 0, outputTokensMax: 100_000 };
const opened = (block: JsonObject) => ({ type: 'content_block_start', index: 0, content_block: block });
const closed = { type: 'content_block_stop', index: 0 };
const thinking = { type: 'thinking', thinking: '', signature: '' };
const text = { type: 'text', text: '' };
const deltaEvent = (delta: JsonObject) => ({ type: 'content_block_delta', index: 0, delta });

/** A stream whose clock advances only with `passSeconds`, and which counts how often the clock is read. */
function stream(thinks: boolean, estimates = new Estimates()) {
  const clock = { ms: 5_000, asked: 0 };
  const elapsedMs = () => {
    clock.asked++;
    return clock.ms;
  };
  const counter = new MessageCounter({ thinks, elapsedMs, estimate: estimates.output(MODEL, ACCOUNT) });
  const passSeconds = (seconds: number) => {
    clock.ms += seconds * 1000;
  };
  return {
    counter,
    clock,
    passSeconds,
    see: (...events: Parameters<typeof observe>[1][]) => observe(counter, ...events),
  };
}

test('a message that may think is held at top speed from its start until its first text', () => {
  const { counter, passSeconds, see } = stream(true);
  see(messageStart);
  passSeconds(2);
  expect(counter.coverTokens()).toBe(300);
  see(opened(thinking));
  passSeconds(2);
  see(closed);
  passSeconds(2);
  expect(counter.coverTokens()).toBe(900);
  see(opened(text));
  passSeconds(100);
  expect(counter.coverTokens()).toBe(900);
  expect(counter.estimate(limits).counts.output).toBe(0);
  expect(counter.isHidden(true)).toBe(true);
});

test('a message that may not think is held by its text, however long it takes', () => {
  const { counter, passSeconds, see } = stream(false);
  see(messageStart);
  passSeconds(60);
  see(opened(text));
  passSeconds(60);
  see(deltaEvent({ type: 'text_delta', text: 'x'.repeat(40) }));
  expect(counter.coverTokens()).toBe(10);
});

test('thinking between texts counts while its block is open, requested or not', () => {
  for (const thinks of [true, false]) {
    const { counter, passSeconds, see } = stream(thinks);
    see(messageStart, opened(text), closed);
    passSeconds(10);
    see(opened({ type: 'redacted_thinking', data: '' }));
    passSeconds(1);
    see(closed);
    passSeconds(10);
    expect(counter.coverTokens()).toBe(150);
  }
});

test('a message that has ended does not think, and its final count is covered', () => {
  const { counter, passSeconds, see } = stream(true);
  see(messageStart);
  passSeconds(2);
  see(messageDelta(37), messageStop);
  passSeconds(100);
  expect(counter.coverTokens()).toBe(37);
  expect(counter.estimate(limits)).toMatchObject({ source: 'reported', counts: { output: 37 } });
});

test('the clock is read when thinking begins and ends, not with every event', () => {
  const { clock, see } = stream(true);
  see(messageStart, opened(thinking));
  for (let times = 0; times < 100; times++) see(deltaEvent({ type: 'thinking_delta', thinking: 'x' }));
  see(closed, opened(text));
  for (let times = 0; times < 100; times++) see(deltaEvent({ type: 'text_delta', text: 'x' }));
  see(closed, messageDelta(3), messageStop);
  expect(clock.asked).toBeLessThan(10);
});

test('the provider’s estimate of its thinking is used instead of the time', () => {
  const { counter, passSeconds, see } = stream(true);
  see(messageStart, opened(thinking), deltaEvent({ type: 'thinking_delta', thinking: '', estimated_tokens: 50 }));
  passSeconds(100);
  see(deltaEvent({ type: 'thinking_delta', thinking: '', estimated_tokens: 70 }));
  expect(counter.coverTokens()).toBe(120);
  expect(counter.estimate(limits).counts.output).toBe(120);
});

test('shown thinking counts as the minimum', () => {
  const { counter, see } = stream(true);
  see(
    messageStart,
    opened(thinking),
    deltaEvent({ type: 'thinking_delta', thinking: 'x'.repeat(400), estimated_tokens: 3 }),
  );
  expect(counter.coverTokens()).toBe(100);
  expect(counter.estimate(limits).counts.output).toBe(100);
});

test('hidden output is held up to the limit of the message, and shown output in full', () => {
  const { counter, passSeconds, see } = stream(true);
  see(messageStart, opened(thinking));
  passSeconds(100);
  expect(counter.coverTokens(200)).toBe(200);
  expect(counter.seenTokens(200)).toBe(0);
  see(deltaEvent({ type: 'thinking_delta', thinking: 'x'.repeat(1_200) }));
  expect(counter.coverTokens(200)).toBe(300);
  expect(counter.seenTokens(200)).toBe(300);
});

test('shown thinking and text are billed with the low estimate and covered with the high estimate', () => {
  const quarters = [0.25, 0.25, 0.25, 0.25, 0.25, 0.25] as const;
  const own = { coefficients: quarters, kinds: [], low: 0.5, high: 2 };
  const estimate = { ...new Estimates().output(MODEL, ACCOUNT), own };
  for (const delta of [
    { type: 'thinking_delta', thinking: 'x'.repeat(400) },
    { type: 'text_delta', text: 'x'.repeat(400) },
  ]) {
    const counter = observe(new MessageCounter({ estimate }), messageStart, deltaEvent(delta));
    expect(counter.estimate(limits).counts.output).toBe(48);
    expect(counter.coverTokens()).toBe(200);
  }
});

test('coverage never falls below a reported intermediate count', () => {
  const { counter, see } = stream(false);
  see({ type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 7 } } });
  expect(counter.coverTokens()).toBe(7);
  see(
    { type: 'message_delta', delta: {}, usage: { output_tokens: 90 } },
    deltaEvent({ type: 'text_delta', text: 'x' }),
  );
  expect(counter.coverTokens()).toBe(90);
});

/** Adds samples of streams of 1,000 tokens at these speeds. */
function addSpeedSamples(estimates: Estimates, tokensPerSecond: readonly number[], tokens = 1_000): void {
  for (const speed of tokensPerSecond) {
    const stamps = [0, (tokens / speed) * 1000];
    estimates.addSample(MODEL, ACCOUNT, complete([], tokens, { elapsedMs: () => stamps.shift() ?? 0 }));
  }
}

test('top speed and low speed are sampled from long streams', () => {
  const estimates = new Estimates();
  addSpeedSamples(estimates, Array(64).fill(5), 127);
  expect(estimates.output(MODEL, ACCOUNT)).toMatchObject({ topTokensPerSecond: 150, lowTokensPerSecond: 0 });
  const speeds = Array.from({ length: 100 }, (_, at) => 1_000 - at * 10);
  addSpeedSamples(estimates, speeds);
  estimates.takeChanged(1); // applies the latest samples
  const { topTokensPerSecond, lowTokensPerSecond } = estimates.output(MODEL, ACCOUNT);
  expect(topTokensPerSecond).toBeWithin(300, 321); // the maximum of the last 32
  expect(lowTokensPerSecond).toBeWithin(10, 101);
  const { counter, passSeconds, see } = stream(true, estimates);
  see(messageStart);
  passSeconds(10);
  expect(counter.coverTokens()).toBe(Math.ceil(10 * topTokensPerSecond));
  expect(counter.estimate(limits).counts.output).toBe(Math.ceil(10 * lowTokensPerSecond));
  expect(counter.estimate({ inputEstimate: 0, outputTokensMax: 50 }).counts.output).toBe(50); // the speed did not exceed the maximum
});

test('a stream that arrived at once, or with a broken clock, is no sample of speed', () => {
  const estimates = new Estimates();
  for (const elapsedMs of [
    () => 5,
    () => Number.NaN,
    (
      (ms) => () =>
        (ms -= 1_000)
    )(0),
  ])
    for (let times = 0; times < 20; times++) estimates.addSample(MODEL, ACCOUNT, complete([], 1_000, { elapsedMs }));
  expect(estimates.output(MODEL, ACCOUNT)).toMatchObject({ topTokensPerSecond: 150, lowTokensPerSecond: 0 });
  addSpeedSamples(estimates, Array(20).fill(9_999_999), 9_999_999);
  expect(estimates.output(MODEL, ACCOUNT).topTokensPerSecond).toBeLessThanOrEqual(10_000);
});

test('a request determines whether its model may think, and how much', () => {
  const read = (value: JsonValue) => readThinking({ body: { thinking: value } });
  expect(read({ type: 'enabled', budget_tokens: 2048 })).toEqual({ thinks: true, budgetTokens: 2048 });
  expect(read({ type: 'adaptive' })).toEqual({ thinks: true, budgetTokens: null });
  expect(read({ type: 'between_tools' })).toEqual({ thinks: true, budgetTokens: null });
  for (const odd of [-1, 1.5, '9', null, 1e300])
    expect(read({ type: 'enabled', budget_tokens: odd }).budgetTokens).toBeNull();
  for (const none of [null, 'enabled', [], {}, { type: 'disabled', budget_tokens: 2048 }, { type: ['enabled'] }])
    expect(read(none)).toEqual({ thinks: false, budgetTokens: null });
  expect(readThinking({ body: {} })).toEqual({ thinks: false, budgetTokens: null });
});

test('the prompt is known once its count is reported, and other counts do not matter', () => {
  const { counter, see } = stream(false);
  expect(counter.reportedPrompt()).toBeNull();
  see({ type: 'message_start', message: { usage: { output_tokens: 1 } } });
  expect(counter.reportedPrompt()).toBeNull();
  const cached = { cache_read_input_tokens: 7, cache_creation_input_tokens: 5 };
  see({ type: 'message_delta', delta: {}, usage: { input_tokens: 3, output_tokens: 9, ...cached } });
  expect(counter.reportedPrompt()).toEqual({
    input: 3,
    output: 0,
    cacheRead: 7,
    cacheWrite5m: 5,
    cacheWrite1h: 0,
    webSearches: 0,
  });
});
