// Thinking that is not shown is held for by its time, and billed by no more than is known of it.

import { expect, test } from 'bun:test';
import { Estimates, MessageCounter, readThinking } from '../../src/usage/usage.ts';
import type { JsonObject, JsonValue } from '../../src/wire/wire.ts';
import { complete, MODEL, messageDelta, messageStart, messageStop, observe } from './messages.ts';

const limits = { inputEstimate: 0, outputTokensMax: 100_000 };
const opened = (block: JsonObject) => ({ type: 'content_block_start', index: 0, content_block: block });
const closed = { type: 'content_block_stop', index: 0 };
const thinking = { type: 'thinking', thinking: '', signature: '' };
const text = { type: 'text', text: '' };
const grown = (delta: JsonObject) => ({ type: 'content_block_delta', index: 0, delta });

/** A stream whose clock stands still but for `passSeconds`; the clock says how often it was asked. */
function stream(thinks: boolean, estimates = new Estimates()) {
  const clock = { ms: 5_000, asked: 0 };
  const elapsedMs = () => {
    clock.asked++;
    return clock.ms;
  };
  const counter = new MessageCounter({ thinks, elapsedMs, estimate: estimates.output(MODEL) });
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

test('from its start until its first text a message that may think is held for at top speed', () => {
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
  expect(counter.total(limits).counts.output).toBe(0);
  expect(counter.total(limits, 'covered').counts.output).toBe(900);
});

test('a message that may not think is held for by its text, however long it takes', () => {
  const { counter, passSeconds, see } = stream(false);
  see(messageStart);
  passSeconds(60);
  see(opened(text));
  passSeconds(60);
  see(grown({ type: 'text_delta', text: 'x'.repeat(40) }));
  expect(counter.coverTokens()).toBe(10);
});

test('thinking between texts counts while its block is open, asked for or not', () => {
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

test('a message that has ended thinks no more, and its final count is what is covered', () => {
  const { counter, passSeconds, see } = stream(true);
  see(messageStart);
  passSeconds(2);
  see(messageDelta(37), messageStop);
  passSeconds(100);
  expect(counter.coverTokens()).toBe(37);
  expect(counter.total(limits, 'covered')).toMatchObject({ source: 'reported', counts: { output: 37 } });
});

test('the clock is asked where thinking begins and ends, not with every event', () => {
  const { clock, see } = stream(true);
  see(messageStart, opened(thinking));
  for (let times = 0; times < 100; times++) see(grown({ type: 'thinking_delta', thinking: 'x' }));
  see(closed, opened(text));
  for (let times = 0; times < 100; times++) see(grown({ type: 'text_delta', text: 'x' }));
  see(closed, messageDelta(3), messageStop);
  expect(clock.asked).toBeLessThan(10);
});

test('where the provider estimates its thinking, its estimate counts instead of the time', () => {
  const { counter, passSeconds, see } = stream(true);
  see(messageStart, opened(thinking), grown({ type: 'thinking_delta', thinking: '', estimated_tokens: 50 }));
  passSeconds(100);
  see(grown({ type: 'thinking_delta', thinking: '', estimated_tokens: 70 }));
  expect(counter.coverTokens()).toBe(120);
  expect(counter.total(limits).counts.output).toBe(120);
});

test('thinking that is shown is the least that is counted', () => {
  const { counter, see } = stream(true);
  see(
    messageStart,
    opened(thinking),
    grown({ type: 'thinking_delta', thinking: 'x'.repeat(400), estimated_tokens: 3 }),
  );
  expect(counter.coverTokens()).toBe(100);
  expect(counter.total(limits).counts.output).toBe(100);
});

test('of what is not seen no more is held for than the message may have, of what is seen all', () => {
  const { counter, passSeconds, see } = stream(true);
  see(messageStart, opened(thinking));
  passSeconds(100);
  expect(counter.coverTokens(200)).toBe(200);
  expect(counter.total({ inputEstimate: 0, outputTokensMax: 200 }, 'covered').counts.output).toBe(200);
  expect(counter.seenTokens(200)).toBe(0);
  see(grown({ type: 'thinking_delta', thinking: 'x'.repeat(1_200) }));
  expect(counter.coverTokens(200)).toBe(300);
  expect(counter.seenTokens(200)).toBe(300);
});

test('thinking and text that are shown are billed by the low estimate and covered by the high one', () => {
  const estimate = { ...new Estimates().output(MODEL), low: 0.5, high: 2 };
  for (const delta of [
    { type: 'thinking_delta', thinking: 'x'.repeat(400) },
    { type: 'text_delta', text: 'x'.repeat(400) },
  ]) {
    const counter = observe(new MessageCounter({ estimate }), messageStart, grown(delta));
    expect(counter.total(limits).counts.output).toBe(48);
    expect(counter.coverTokens()).toBe(200);
  }
});

test('what is covered never falls below what is reported on the way', () => {
  const { counter, see } = stream(false);
  see({ type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 7 } } });
  expect(counter.coverTokens()).toBe(7);
  see({ type: 'message_delta', delta: {}, usage: { output_tokens: 90 } }, grown({ type: 'text_delta', text: 'x' }));
  expect(counter.coverTokens()).toBe(90);
});

/** Learns of streams of 1,000 tokens at such speeds. */
function learnSpeeds(estimates: Estimates, tokensPerSecond: readonly number[], tokens = 1_000): void {
  for (const speed of tokensPerSecond) {
    const stamps = [0, (tokens / speed) * 1000];
    estimates.learnOutput(MODEL, complete([], tokens, { elapsedMs: () => stamps.shift() ?? 0 }));
  }
}

test('top and low speed are learned from long streams', () => {
  const estimates = new Estimates();
  learnSpeeds(estimates, Array(64).fill(5), 127);
  expect(estimates.output(MODEL)).toMatchObject({ topTokensPerSecond: 150, lowTokensPerSecond: 0 });
  const speeds = Array.from({ length: 100 }, (_, at) => 1_000 - at * 10);
  learnSpeeds(estimates, speeds);
  estimates.takeChanged(1); // what was learned last is looked at
  const { topTokensPerSecond, lowTokensPerSecond } = estimates.output(MODEL);
  expect(topTokensPerSecond).toBeWithin(600, 641); // of the last 64
  expect(lowTokensPerSecond).toBeWithin(10, 101);
  const { counter, passSeconds, see } = stream(true, estimates);
  see(messageStart);
  passSeconds(10);
  expect(counter.coverTokens()).toBe(Math.ceil(10 * topTokensPerSecond));
  expect(counter.total(limits).counts.output).toBe(Math.ceil(10 * lowTokensPerSecond));
  expect(counter.total({ inputEstimate: 0, outputTokensMax: 50 }).counts.output).toBe(50); // it was not above
});

test('a stream that came at once, or whose clock is broken, tells nothing of speed', () => {
  const estimates = new Estimates();
  for (const elapsedMs of [
    () => 5,
    () => Number.NaN,
    (
      (ms) => () =>
        (ms -= 1_000)
    )(0),
  ])
    for (let times = 0; times < 20; times++) estimates.learnOutput(MODEL, complete([], 1_000, { elapsedMs }));
  expect(estimates.output(MODEL)).toMatchObject({ topTokensPerSecond: 150, lowTokensPerSecond: 0 });
  learnSpeeds(estimates, Array(20).fill(9_999_999), 9_999_999);
  expect(estimates.output(MODEL).topTokensPerSecond).toBeLessThanOrEqual(10_000);
});

test('a request says whether its model may think, and how much', () => {
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

test('the prompt is known once it is reported, and only what it is', () => {
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
