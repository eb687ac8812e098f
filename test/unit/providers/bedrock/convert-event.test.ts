// Answers of Converse: how they end, and what a provider may get wrong.

import { expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { type AnswerTerms, ConverseConverter, convertAnswer } from '../../../../src/providers/bedrock/convert-event.ts';
import { readUsage } from '../../../../src/usage/read-usage.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { readEvents } from '../conformance/read-events.ts';

const terms = (changes: Partial<AnswerTerms> = {}): AnswerTerms => ({
  requestId: 'req_ours',
  model: 'amazon.nova-pro-v1:0',
  home: 'h',
  names: new Map([['short', 'a long name']]),
  properties: new Map([['a long name', { sent: new Map(), own: new Map([['_top', '$top']]) }]]),
  callIds: new Set(['tooluse_taken']),
  stopSequences: ['END'],
  upstreamRequestId: 'theirs-1',
  ...changes,
});
type Events = readonly (readonly [name: string, event: JsonObject])[];
const textDelta = (text: string, contentBlockIndex = 0) =>
  ['contentBlockDelta', { contentBlockIndex, delta: { text } }] as const;
const startTool = (toolUseId: string, name: string, contentBlockIndex = 0) =>
  ['contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } }] as const;
const toolDelta = (input: string, contentBlockIndex = 0) =>
  ['contentBlockDelta', { contentBlockIndex, delta: { toolUse: { input } } }] as const;
const stop = (contentBlockIndex = 0) => ['contentBlockStop', { contentBlockIndex }] as const;
const end = (stopReason: string) => ['messageStop', { stopReason }] as const;

function convert(events: Events, changes: Partial<AnswerTerms> = {}) {
  const converter = new ConverseConverter(terms(changes));
  const converted = events.flatMap(([name, event]) => converter.push(name, event));
  return readEvents([...converted, ...converter.end()]);
}

test('names of properties are the client’s in a call that comes in pieces, or is cut', () => {
  const pieces = ['{"_t', 'op":{"_top":1', '},"other":"_top"}'].map((piece) => toolDelta(piece));
  const events = convert([startTool('a', 'short'), ...pieces, stop(), end('tool_use')]);
  expect(events).toMatchObject({ blocks: [{ input: '{"$top":{"_top":1},"other":"_top"}' }] });
  const cut = convert([startTool('a', 'short'), toolDelta('{"_top":1,"_t'), end('max_tokens')]);
  expect(cut).toMatchObject({ blocks: [{ input: '{"$top":1,"_t' }] });
});

test('input counts with the names that the provider sent, not with the client’s longer ones', () => {
  const longName = '$'.repeat(256);
  const properties = new Map([['a long name', { sent: new Map(), own: new Map([['_', longName]]) }]]);
  const callOf = (keys: number, place = 0) => [
    startTool('a', 'short', place),
    toolDelta(`{${Array(keys).fill('"_":1').join()}}`, place),
    stop(place),
  ];
  const calls = Array.from({ length: 900 }, (_, place) => callOf(20, place)).flat();
  expect((calls.length / 3) * 20 * longName.length).toBeGreaterThan(bounds.toolInputCharactersMax);
  expect(convert([...calls, end('tool_use')], { properties })).toMatchObject({ stopReason: 'tool_use' });
  const keys = Math.ceil(bounds.toolInputCharactersMax / '"_":1,'.length);
  expect(() => convert(callOf(keys), { properties })).toThrow('too much tool input');
  // Also of a key that is held back.
  const held = Array(64).fill(toolDelta('k'.repeat(bounds.toolInputCharactersMax / 64)));
  expect(() => convert([startTool('a', 'short'), toolDelta('{"'), ...held], { properties })).toThrow('too much');
});

test.each([
  ['end_turn', 'end_turn', null],
  ['max_tokens', 'max_tokens', null],
  ['model_context_window_exceeded', 'model_context_window_exceeded', null],
  ['guardrail_intervened', 'refusal', null],
  ['content_filtered', 'refusal', null],
  ['stop_sequence', 'stop_sequence', 'END'],
])('the stop reason %s becomes %s', (said, stopReason, stopSequence) => {
  expect(convert([textDelta('Hi'), stop(), end(said)])).toMatchObject({ stopReason, stopSequence });
});

test('of several stop sequences none is named, because Converse does not say which it met', () => {
  const events = [textDelta('Hi'), end('stop_sequence')];
  expect(convert(events, { stopSequences: ['A', 'B'] })).toMatchObject({
    stopReason: 'stop_sequence',
    stopSequence: null,
  });
});

test.each(['malformed_model_output', 'malformed_tool_use', 'a_reason_of_the_future'])('%s is not an end', (reason) => {
  expect(() => convert([textDelta('Hi'), stop(), end(reason)])).toThrow(`without a usable answer (${reason})`);
});

test('a call that was cut by a limit is not a fault, and one that was not is', () => {
  const cut = [startTool('tooluse_1', 'look'), toolDelta('{"a":')];
  for (const reason of ['max_tokens', 'model_context_window_exceeded', 'guardrail_intervened'])
    expect(convert([...cut, end(reason)]).blocks).toMatchObject([{ input: '{"a":' }]);
  expect(() => convert([...cut, stop(), end('tool_use')])).toThrow('not a JSON object');
  expect(() => convert([startTool('tooluse_1', 'look'), toolDelta('[1]'), end('tool_use')])).toThrow();
});

test('calls get the names of the client, and ids that the conversation does not have', () => {
  const { blocks, stopReason } = convert([
    startTool('tooluse_taken', 'short'),
    toolDelta('{}'),
    stop(),
    startTool('tooluse_2', 'look', 1),
    stop(1),
    startTool('tooluse_2', 'look', 2),
    stop(2),
    end('end_turn'),
  ]);
  expect(blocks).toMatchObject([
    { id: 'toolu_ours_0', name: 'a long name' },
    { id: 'tooluse_2', input: '{}' },
    { id: 'toolu_ours_2' },
  ]);
  expect(stopReason).toBe('tool_use');
});

test('input without its call, a call without a name, and too many calls are failures', () => {
  for (const events of [
    [toolDelta('{}')],
    [startTool('tooluse_1', 'look'), toolDelta('{}', 1)],
    [startTool('tooluse_1', 'look'), stop(), toolDelta('{}')],
    [startTool('tooluse_1', '')],
    Array.from({ length: 1_001 }, (_, at) => startTool(`tooluse_${at}`, 'look', at)),
  ] as Events[])
    expect(() => convert(events)).toThrow('the provider ');
});

test('an answer without its end is a failure', () => {
  expect(() => convert([textDelta('Hi'), stop()])).toThrow('the stream ended before the message was complete');
});

test('counts that are no whole numbers are left out, and unknown events change nothing', () => {
  const usage = {
    inputTokens: -1,
    outputTokens: 1.5,
    cacheReadInputTokens: '7',
    cacheWriteInputTokens: Number.POSITIVE_INFINITY,
  } as never;
  const events: Events = [
    ['anEventOfTheFuture', { text: 'x' }],
    textDelta('Hi'),
    end('end_turn'),
    ['metadata', { usage }],
  ];
  expect(convert(events)).toMatchObject({ blocks: [{ text: 'Hi' }], usage: {} });
  expect(convert([textDelta('Hi'), end('end_turn')]).usage).toEqual({});
});

test.each(['90000', 100_000.5, -1])('the cache count %p is passed on, so that it is reported as invalid', (count) => {
  for (const [name, shown, judged] of [
    ['cacheReadInputTokens', 'cache_read_input_tokens', { cacheRead: null, cacheWrite: 0 }],
    ['cacheWriteInputTokens', 'cache_creation_input_tokens', { cacheRead: 0, cacheWrite: null }],
  ] as const) {
    const usage = { inputTokens: 10, outputTokens: 5, [name]: count };
    const converted = convert([textDelta('Hi'), end('end_turn'), ['metadata', { usage }]]).usage;
    expect(readUsage(converted as JsonObject)).toMatchObject({ input: 10, output: 5, ...judged, disbelieved: [shown] });
  }
});

test('a whole answer with citations and reasoning has their text', () => {
  const content = [
    { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'SIG' } } },
    { reasoningContent: { redactedContent: 'QUJD' } },
    { citationsContent: { content: [{ text: 'It is ' }, { text: 'so.' }], citations: [] } },
    { image: { format: 'png' } },
  ];
  const answer = { output: { message: { role: 'assistant', content } }, stopReason: 'end_turn' } as JsonObject;
  expect(readEvents(convertAnswer(answer, terms())).blocks).toEqual([
    { type: 'thinking', thinking: 'Hm.', signature: 'bedrock.text.h.SIG' },
    { type: 'thinking', thinking: '', signature: 'bedrock.redacted.h.QUJD' },
    { type: 'text', text: 'It is so.' },
  ]);
});
