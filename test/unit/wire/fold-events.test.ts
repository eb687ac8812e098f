// A streamed message folds into the same message as one without streaming.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  laterCounts,
  MalformedStream,
  MessageFold,
  makeEvent,
  objectOf,
  unfoldMessage,
} from '../../../src/wire/wire.ts';

type EventValue = JsonObject & { type: string };

function fold(...values: EventValue[]): JsonObject {
  const folded = new MessageFold();
  for (const value of values) folded.add(makeEvent(value));
  return folded.message();
}

const start: EventValue = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 25, cache_read_input_tokens: 7, output_tokens: 1 },
  },
};
const end: EventValue = {
  type: 'message_delta',
  delta: { stop_reason: 'end_turn', stop_sequence: null },
  usage: { output_tokens: 15, input_tokens: null },
};
const stop: EventValue = { type: 'message_stop' };

function block(index: number, content: JsonObject, ...deltas: JsonObject[]): EventValue[] {
  return [
    { type: 'content_block_start', index, content_block: content },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function contentOf(...values: EventValue[]): JsonValue | undefined {
  return fold(start, ...values, end, stop)['content'];
}

test('text, thinking, tools and citations are assembled from their deltas', () => {
  const citation = { type: 'char_location', cited_text: 'c' };
  const content = contentOf(
    ...block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'Let ' },
      { type: 'thinking_delta', thinking: 'me', estimated_tokens: 5 },
      { type: 'signature_delta', signature: 'EqQB' },
    ),
    ...block(
      1,
      { type: 'text', text: '' },
      { type: 'text_delta', text: 'Hel' },
      { type: 'citations_delta', citation },
      { type: 'text_delta', text: 'lo' },
      { type: 'citations_delta', citation },
    ),
    { type: 'ping' },
    ...block(
      2,
      { type: 'tool_use', id: 't', name: 'n', input: {} },
      { type: 'input_json_delta', partial_json: '' },
      { type: 'input_json_delta', partial_json: '{"a":"P' },
      { type: 'input_json_delta', partial_json: 'aris"}' },
    ),
    ...block(3, { type: 'tool_use', id: 'u', name: 'n', input: {} }, { type: 'input_json_delta', partial_json: '' }),
    ...block(4, { type: 'redacted_thinking', data: 'x' }),
    ...block(5, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }),
    ...block(
      6,
      { type: 'compaction', content: null },
      { type: 'compaction_delta', content: 'c', encrypted_content: 'e' },
    ),
  );
  expect(content).toEqual([
    { type: 'thinking', thinking: 'Let me', signature: 'EqQB' },
    { type: 'text', text: 'Hello', citations: [citation, citation] },
    { type: 'tool_use', id: 't', name: 'n', input: { a: 'Paris' } },
    { type: 'tool_use', id: 'u', name: 'n', input: {} },
    { type: 'redacted_thinking', data: 'x' },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    { type: 'compaction', content: 'c', encrypted_content: 'e' },
  ]);
});

test('the final usage replaces the initial one, except with nulls', () => {
  expect(fold(start, end, stop)['usage']).toEqual({ input_tokens: 25, cache_read_input_tokens: 7, output_tokens: 15 });
});

test('a later count never lowers an earlier one, and the parts of a prompt may be divided later', () => {
  const usageAfter = (first: JsonObject, later: JsonObject) => {
    const begun = { ...start, message: { ...objectOf(start['message']), usage: first } };
    return fold(
      begun,
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: later },
      { type: 'message_stop' },
    )['usage'];
  };
  expect(usageAfter({ input_tokens: 1500, output_tokens: 1 }, { input_tokens: 0, output_tokens: 9 })).toEqual({
    input_tokens: 1500,
    output_tokens: 9,
  });
  expect(usageAfter({ input_tokens: 1500, output_tokens: 7 }, { input_tokens: 0, output_tokens: 0 })).toMatchObject({
    output_tokens: 7,
  });
  const divided = { input_tokens: 0, cache_read_input_tokens: 1400, cache_creation_input_tokens: 100 };
  expect(usageAfter({ input_tokens: 1500, cache_read_input_tokens: 0, output_tokens: 1 }, divided)).toMatchObject(
    divided,
  );
});

test('counts that follow estimates replace them, except zeros', () => {
  const estimated = { input_tokens: 9_000, output_tokens: 1 };
  const reported = { input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 30 };
  expect(laterCounts(estimated, reported, true)).toEqual(reported);
  expect(laterCounts(estimated, { input_tokens: 0, output_tokens: 0 }, true)).toEqual(estimated);
});

test('stop details, container and context management come from the end', () => {
  const delta = { stop_reason: 'stop_sequence', stop_sequence: 'END', container: { id: 'c' }, stop_details: null };
  const message = fold(start, { ...end, delta, context_management: { applied_edits: [] } }, stop);
  expect(message).toMatchObject({ ...delta, context_management: { applied_edits: [] }, type: 'message' });
});

test('the events are not changed by folding them', () => {
  const values = [start, ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'a' }), end, stop];
  const before = JSON.stringify(values);
  const folded = new MessageFold();
  for (const value of values) folded.add({ name: value.type, json: '', value });
  folded.message();
  expect(JSON.stringify(values)).toBe(before);
});

test('a malformed stream gives no message', () => {
  const text = (index: number) => block(index, { type: 'text', text: '' }, { type: 'text_delta', text: 'a' });
  const tool = { type: 'tool_use', id: 't', name: 'n', input: {} };
  const streams: EventValue[][] = [
    [],
    [start, end],
    [end, stop],
    [start, start, end, stop],
    [...text(0), start, end, stop],
    [start, ...text(1), end, stop],
    [start, ...text(0), ...text(0), end, stop],
    [start, ...text(0).slice(0, 2), end, stop],
    [start, ...text(0).slice(0, 2), ...text(1), end, stop],
    [start, ...text(0).slice(1), end, stop],
    [start, end, stop, ...text(0)],
    [start, end, stop, stop],
    [start, ...block(0, tool, { type: 'input_json_delta', partial_json: '{"a":' }), end, stop],
    [start, ...block(0, { type: 'text', text: '' }, { type: 'hologram_delta' }), end, stop],
    [start, ...block(0, { type: 'text', text: '' }, { type: 'text_delta' }), end, stop],
  ];
  for (const stream of streams) expect(() => fold(...stream)).toThrow(MalformedStream);
});

test('a field named __proto__ from a provider changes no prototype', () => {
  const odd = JSON.parse('{"type":"message_delta","delta":{"__proto__":{"polluted":1}},"usage":{"__proto__":{"a":1}}}');
  expect(Reflect.get(fold(start, odd, stop), 'polluted')).toBeUndefined();
});

const word = fc.string({ unit: 'grapheme', maxLength: 12 });
const json = fc.jsonValue({ maxDepth: 3 }).map((value): JsonValue => JSON.parse(JSON.stringify(value)));
const input = fc.dictionary(word, json).map((value): JsonValue => JSON.parse(JSON.stringify(value)));
const citation = fc.record({ type: fc.constant('char_location'), cited_text: word });
const blocks: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.record({ type: fc.constant('text'), text: word }),
  fc.record({ type: fc.constant('text'), text: word, citations: fc.oneof(fc.constant(null), fc.array(citation)) }),
  fc.record({ type: fc.constant('thinking'), thinking: word, signature: word }),
  fc.record({ type: fc.constant('redacted_thinking'), data: word }),
  fc.record({ type: fc.constantFrom('tool_use', 'server_tool_use', 'mcp_tool_use'), id: word, name: word, input }),
  fc.record({ type: fc.constant('web_search_tool_result'), tool_use_id: word, content: json }),
  fc.record({ type: fc.constant('compaction'), content: fc.option(word) }),
);
const count = fc.option(fc.nat());
const messages = fc.record(
  {
    id: word,
    type: fc.constant('message'),
    model: word,
    content: fc.array(blocks, { maxLength: 5 }),
    stop_reason: fc.constantFrom('end_turn', 'tool_use'),
    stop_sequence: fc.option(word),
    usage: fc.record({
      input_tokens: fc.nat(),
      output_tokens: fc.nat(),
      cache_read_input_tokens: count,
      speed: fc.constant(null),
    }),
    stop_details: json,
    container: json,
    context_management: json,
    later: json,
  },
  { requiredKeys: ['content', 'stop_reason', 'stop_sequence', 'usage'] },
);

test('a message that is unfolded and folded again is the same', () => {
  fc.assert(
    fc.property(messages, (message) => {
      expect(fold(...(unfoldMessage(message).map((event) => event.value) as EventValue[]))).toEqual(message);
    }),
  );
});

test('an unfolded message has the order and format that clients require', () => {
  const tool = { type: 'tool_use', id: 't', name: 'n', input: {} };
  const thinking = { type: 'thinking', thinking: 'a', signature: 's' };
  const usage = { input_tokens: 3, output_tokens: 9 };
  const events = unfoldMessage({
    id: 'msg_1',
    content: [thinking, tool],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage,
  });
  expect(events.map((event) => `${event.name} ${event.value['index'] ?? ''}`.trim())).toEqual([
    'message_start',
    'content_block_start 0',
    'content_block_delta 0',
    'content_block_delta 0',
    'content_block_stop 0',
    'content_block_start 1',
    'content_block_delta 1',
    'content_block_stop 1',
    'message_delta',
    'message_stop',
  ]);
  expect(events[0]?.value['message']).toMatchObject({ content: [], stop_reason: null, usage: { input_tokens: 3 } });
  expect(events[1]?.value['content_block']).toEqual({ type: 'thinking', thinking: '', signature: '' });
  expect(events[5]?.value['content_block']).toEqual({ ...tool, input: {} });
  expect(events[6]?.value['delta']).toEqual({ type: 'input_json_delta', partial_json: '{}' });
  expect(events[8]?.value).toMatchObject({ delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } });
  for (const event of events) expect(JSON.parse(event.json)).toEqual(event.value);
  expect(events.every((event) => isJsonObject(event.value) && event.name === event.value['type'])).toBe(true);
});
