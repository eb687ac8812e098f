// The counts that a message is charged for: the reported ones, or those of the received output if the message was
// cut.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { MessageCounter } from '../../../src/usage/usage.ts';
import { type JsonObject, makeEvent, unfoldMessage } from '../../../src/wire/wire.ts';

const limits = { inputEstimate: 100, outputTokensMax: 1000 };

type EventValue = JsonObject & { type: string };
const started = (usage: JsonObject): EventValue => ({ type: 'message_start', message: { content: [], usage } });
const opened = (block: JsonObject): EventValue => ({ type: 'content_block_start', index: 0, content_block: block });
const deltaEvent = (delta: JsonObject): EventValue => ({ type: 'content_block_delta', index: 0, delta });
const text = (characters: number) => deltaEvent({ type: 'text_delta', text: 'x'.repeat(characters) });
const ended = (usage: JsonObject): EventValue => ({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
const stop: EventValue = { type: 'message_stop' };

function count(...events: EventValue[]): MessageCounter {
  return observe(new MessageCounter(), ...events);
}

function observe(counter: MessageCounter, ...events: EventValue[]): MessageCounter {
  for (const event of events) counter.observe(makeEvent(event));
  return counter;
}

function total(...events: EventValue[]) {
  return count(...events).estimate(limits);
}

test('a whole stream is counted as reported', () => {
  const counter = count(
    started({ input_tokens: 25, cache_read_input_tokens: 7, output_tokens: 1 }),
    text(400),
    ended({ output_tokens: 15, input_tokens: null, server_tool_use: { web_search_requests: 2 } }),
    stop,
  );
  expect(counter).toMatchObject({ started: true, finished: true, stopReason: 'end_turn', contentSeen: true });
  expect(counter.estimate(limits)).toEqual({
    counts: { input: 25, output: 15, cacheRead: 7, cacheWrite5m: 0, cacheWrite1h: 0, webSearches: 2 },
    source: 'reported',
    disbelieved: [],
    unknown: [],
    contradicted: [],
    tier: null,
  });
});

const counted = (input: JsonObject) => {
  const counter = new MessageCounter();
  counter.observe({ name: 'content_block_start', json: '', value: opened({ type: 'tool_use', input }) });
  return counter.estimate({ inputEstimate: 0, outputTokensMax: 10_000_000 }).counts.output;
};

test('tool input counts by the bytes of its text', () => {
  const input = { city: 'Zürich', days: [1, -2.5, true, null], empty: {}, none: [], 'a b': { c: [[], ['d']] } };
  expect(counted(input)).toBe(Math.ceil(Buffer.byteLength(JSON.stringify(input)) / 4));
});

test('tool input is counted at any nesting depth', () => {
  let input: JsonObject = {};
  for (let level = 0; level < 200_000; level++) input = { input };
  expect(counted(input)).toBe(Math.ceil((200_000 * 10 + 2) / 4));
});

test('later counts replace earlier ones and are not added to them', () => {
  const usage = { input_tokens: 30, cache_creation_input_tokens: 5, output_tokens: 9 };
  const { counts } = total(
    started({ input_tokens: 25, output_tokens: 1 }),
    ended({ output_tokens: 4 }),
    ended(usage),
    stop,
  );
  expect(counts).toMatchObject({ input: 30, output: 9, cacheWrite5m: 5 });
});

test('a message without streaming is counted as reported, and like its own stream', () => {
  const usage = { input_tokens: 25, output_tokens: 8, cache_creation: { ephemeral_1h_input_tokens: 4 }, speed: 'fast' };
  const message = { content: [{ type: 'text', text: 'a' }], stop_reason: 'max_tokens', stop_sequence: null, usage };
  const counter = new MessageCounter();
  counter.observeMessage(message);
  expect(counter).toMatchObject({ started: true, finished: true, stopReason: 'max_tokens', contentSeen: true });
  const counted = counter.estimate(limits);
  expect(counted).toMatchObject({
    source: 'reported',
    tier: 'fast',
    counts: { input: 25, output: 8, cacheWrite1h: 4 },
  });
  const streamed = new MessageCounter();
  for (const event of unfoldMessage(message)) streamed.observe(event);
  expect(streamed.estimate(limits)).toEqual(counted);
});

test('without usage both counts are estimated', () => {
  const counter = new MessageCounter();
  counter.observeMessage({ content: [{ type: 'text', text: 'é'.repeat(20) }] });
  expect(counter.estimate(limits)).toMatchObject({ source: 'estimated', counts: { input: 100, output: 10 } });
});

test('an explicit zero is zero, an absent count is estimated', () => {
  expect(
    total(started({ input_tokens: 0, output_tokens: 0 }), text(40), ended({ output_tokens: 0 }), stop),
  ).toMatchObject({
    source: 'reported',
    counts: { input: 0, output: 0 },
  });
  expect(total(started({}), text(40), ended({ output_tokens: 3 }), stop)).toMatchObject({
    source: 'estimated',
    counts: { input: 100, output: 3 },
  });
  expect(total(started({ input_tokens: 5 }), text(40), ended({}), stop)).toMatchObject({
    source: 'estimated',
    counts: { input: 5, output: 10 },
  });
});

test('a cut stream is billed for the received output, with the input as reported', () => {
  expect(total(started({ input_tokens: 25, output_tokens: 1 }), text(10), text(30))).toMatchObject({
    source: 'estimated',
    counts: { input: 25, output: 10 },
  });
});

test('the output count in message_start is a minimum, not the final count', () => {
  expect(total(started({ input_tokens: 25, output_tokens: 7 }))).toMatchObject({
    source: 'estimated',
    counts: { output: 7 },
  });
});

test('an intermediate count is not final if more output followed it', () => {
  const intermediate: EventValue = { type: 'message_delta', delta: {}, usage: { output_tokens: 50 } };
  const usage = started({ input_tokens: 1, output_tokens: 0 });
  expect(total(usage, text(100), intermediate)).toMatchObject({ source: 'estimated', counts: { output: 50 } });
  expect(total(usage, text(100), intermediate, text(300))).toMatchObject({
    source: 'estimated',
    counts: { output: 100 },
  });
  expect(total(usage, text(8), ended({ output_tokens: 5 }), text(400), stop)).toMatchObject({ source: 'estimated' });
});

test('text, thinking and tool input all count as output; results of server tools do not', () => {
  const begin = started({ input_tokens: 1, output_tokens: 0 });
  const output = (...events: EventValue[]) => total(begin, ...events).counts.output;
  expect(output(opened({ type: 'text', text: '' }), text(40))).toBe(10);
  expect(output(deltaEvent({ type: 'thinking_delta', thinking: 'x'.repeat(40) }))).toBe(10);
  expect(output(deltaEvent({ type: 'input_json_delta', partial_json: 'x'.repeat(40) }))).toBe(10);
  expect(output(opened({ type: 'tool_use', id: 'a'.repeat(99), name: 'name', input: {} }))).toBe(0);
  expect(output(opened({ type: 'tool_use', id: 'a'.repeat(99), name: 'name', input: { a: 'b' } }))).toBe(3);
  expect(output(opened({ type: 'redacted_thinking', data: 'x'.repeat(40) }))).toBe(10);
  expect(output(opened({ type: 'web_search_tool_result', content: [{ title: 'x'.repeat(40) }] }))).toBe(0);
});

test('hidden thinking counts by its signature, which contains it; shown thinking counts by its text', () => {
  const begin = started({ input_tokens: 1, output_tokens: 0 });
  const sealed = deltaEvent({ type: 'signature_delta', signature: 'x'.repeat(4_000) });
  expect(total(begin, sealed).counts.output).toBe(750);
  expect(total(begin, deltaEvent({ type: 'thinking_delta', thinking: 'x'.repeat(40) }), sealed).counts.output).toBe(10);
});

test('the names of unusual counts are kept up to a bound, however many a stream invents', () => {
  const invented = Array.from({ length: 300 }, (_, at) => ended({ output_tokens: 1, [`odd_${at}`]: 1 }));
  expect(total(started({ input_tokens: 1 }), ...invented).unknown.length).toBeLessThanOrEqual(32);
});

test('hidden thinking is counted by the running estimate of the provider', () => {
  const hidden = deltaEvent({ type: 'thinking_delta', thinking: '', estimated_tokens: 50 });
  const none = deltaEvent({ type: 'thinking_delta', thinking: 'xxxx', estimated_tokens: null });
  expect(total(started({ input_tokens: 1 }), hidden, hidden, none, text(4)).counts.output).toBe(101);
});

test('a stream hides something until its end if the provider runs tools, seen or not', () => {
  const counter = observe(new MessageCounter({ hasServerTools: true }), started({ input_tokens: 1 }), text(4));
  expect(counter.isHidden(false)).toBe(true);
  observe(counter, { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } });
  expect(counter.isHidden(false)).toBe(false);
});

test('a model that may think hides it before its first content, and afterwards unless counts come with the events', () => {
  const begun = makeEvent(started({ input_tokens: 1 }));
  const counted = new MessageCounter();
  counted.observe({ ...begun, usage: { input_tokens: 1, output_tokens: 0 } });
  expect(counted.isHidden(true)).toBe(true);
  expect(observe(counted, text(4)).isHidden(true)).toBe(false);
  expect(count(started({ input_tokens: 1 }), text(4)).isHidden(true)).toBe(true);
  expect(count(started({ input_tokens: 1 })).isHidden(false)).toBe(false);
});

test('a message that has not begun has no counts', () => {
  expect(total()).toMatchObject({ source: 'none', counts: { input: 0, output: 0 } });
  expect(total({ type: 'ping' })).toMatchObject({ source: 'none' });
  expect(count().contentSeen).toBe(false);
});

test('a message with a beginning but no reported input has the estimated input', () => {
  expect(total(started({}))).toMatchObject({ source: 'estimated', counts: { input: 100, output: 0 } });
});

test('a count above twice the allowed output is replaced by an estimate, and reported', () => {
  const of = (output_tokens: number) => total(started({ input_tokens: 1 }), text(400), ended({ output_tokens }), stop);
  expect(of(3024)).toMatchObject({ source: 'reported', counts: { output: 3024 }, disbelieved: [] });
  expect(of(3025)).toMatchObject({ source: 'estimated', counts: { output: 100 }, disbelieved: ['output_tokens'] });
  expect(of(-5)).toMatchObject({ source: 'estimated', counts: { output: 100 }, disbelieved: ['output_tokens'] });
});

test('an estimate never exceeds the largest accepted count', () => {
  const wild = deltaEvent({ type: 'thinking_delta', thinking: '', estimated_tokens: 1e15 });
  expect(total(started({ input_tokens: 1 }), wild).counts.output).toBe(3024);
});

test('cache writes without a lifetime count as the longest that was requested, also those of summaries', () => {
  const written = (whole: number, short: number | null, long: number | null) => {
    const split = { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long };
    const usage = { input_tokens: 1, cache_creation_input_tokens: whole, cache_creation: split };
    const compaction = { type: 'compaction', input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 3 };
    const counter = observe(new MessageCounter({ cacheLifetime: () => '1h' }), started(usage));
    const prompt = counter.reportedPrompt();
    const { counts } = observe(counter, ended({ output_tokens: 1, iterations: [compaction] })).estimate(limits);
    expect([counts.cacheWrite5m, counts.cacheWrite1h - 3]).toEqual([
      prompt?.cacheWrite5m ?? -1,
      prompt?.cacheWrite1h ?? -1,
    ]);
    return [prompt?.cacheWrite5m, prompt?.cacheWrite1h];
  };
  expect(written(10, null, null)).toEqual([0, 10]);
  expect(written(15, 4, 6)).toEqual([4, 11]);
  expect(written(10, 4, 6)).toEqual([4, 6]);
  expect(written(5, 4, 6)).toEqual([4, 6]);
});

test('a refusal before any output is unbilled, unless its category is billed or unknown', () => {
  const refused = (stop_details: JsonObject | null, ...content: EventValue[]) => {
    const delta = { stop_reason: 'refusal', ...(stop_details !== null && { stop_details }) };
    const events = [started({ input_tokens: 412 }), ...content, { type: 'message_delta', delta, usage: {} }, stop];
    return count(...events).isUnbilledRefusal;
  };
  for (const details of [null, { category: null }, { category: 'cyber' }, { category: 'general_harms' }])
    expect(refused(details)).toBe(true);
  for (const category of ['bio', 'frontier_llm', 'reasoning_extraction', 'of the future', 7])
    expect(refused({ category })).toBe(false);
  expect(refused(null, opened({ type: 'text', text: '' }))).toBe(false);
  expect(count(started({ input_tokens: 412 }), ended({ output_tokens: 0 }), stop).isUnbilledRefusal).toBe(false);
  const whole = { type: 'message', stop_reason: 'refusal', stop_details: { category: 'cyber' }, usage: {} };
  for (const [content, isUnbilled] of [
    [[], true],
    [[{ type: 'text', text: 'I' }], false],
  ] as const) {
    const counter = new MessageCounter();
    counter.observeMessage({ ...whole, content: [...content] });
    expect(counter.isUnbilledRefusal).toBe(isUnbilled);
  }
});

test('cache writes are charged by their lifetime; if the parts and the total disagree, the larger sum counts', () => {
  const written = (whole: number | null, short: number | null, long: number | null) => {
    const split = { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long };
    const { counts } = total(started({ input_tokens: 1, cache_creation_input_tokens: whole, cache_creation: split }));
    return [counts.cacheWrite5m, counts.cacheWrite1h];
  };
  expect(written(10, null, null)).toEqual([10, 0]);
  expect(written(10, 4, 6)).toEqual([4, 6]);
  expect(written(null, 4, 6)).toEqual([4, 6]);
  expect(written(15, 4, 6)).toEqual([9, 6]);
  expect(written(8, 4, 6)).toEqual([4, 6]);
  expect(written(8, null, 6)).toEqual([2, 6]);
  expect(written(null, null, null)).toEqual([0, 0]);
});

test('a summary created by the provider is charged in addition to the message', () => {
  const iterations = [
    { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500 },
    { type: 'message', input_tokens: 23_000, output_tokens: 1_000 },
  ];
  const { counts, source } = total(
    started({ input_tokens: 23_000, output_tokens: 1 }),
    ended({ output_tokens: 1_000, iterations }),
    stop,
  );
  expect(counts).toMatchObject({ input: 203_000, output: 4_500 });
  expect(source).toBe('reported');
});

test('unknown and implausible fields of all events are reported once', () => {
  const odd = { input_tokens: -1, moon_tokens: 2 };
  expect(total(started(odd), ended({ ...odd, output_tokens: 1 }))).toMatchObject({
    disbelieved: ['input_tokens'],
    unknown: ['moon_tokens'],
    source: 'estimated',
    counts: { input: 100 },
  });
});

test('wherever a stream is cut, its count never decreases and never exceeds the bound', () => {
  const pieces = fc.array(fc.string({ unit: 'grapheme', maxLength: 30 }), { maxLength: 20 });
  fc.assert(
    fc.property(pieces, fc.nat(50), (parts, startOutput) => {
      const counter = count(started({ input_tokens: 9, output_tokens: startOutput }));
      let before = 0;
      for (const part of parts) {
        counter.observe(makeEvent(deltaEvent({ type: 'text_delta', text: part })));
        const { counts, source } = counter.estimate(limits);
        expect(counts.output).toBeGreaterThanOrEqual(Math.max(before, startOutput));
        expect(source).toBe('estimated');
        before = counts.output;
      }
    }),
  );
});

test('malformed events are skipped', () => {
  const odd: EventValue[] = [
    { type: 'message_start' },
    { type: 'content_block_start', content_block: null },
    { type: 'content_block_delta', delta: 'x' },
    { type: 'message_delta', delta: [], usage: 'none' },
    { type: 'later' },
  ];
  expect(total(...odd)).toMatchObject({ source: 'estimated', counts: { input: 100, output: 0 } });
});
