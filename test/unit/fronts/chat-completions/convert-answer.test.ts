// Conversion of a message, whole or streamed: both have the same result.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { convertMessage } from '../../../../src/fronts/chat-completions/convert-message.ts';
import {
  type JsonObject,
  makeEvent,
  PING,
  parseExactly,
  type StreamEvent,
  unfoldMessage,
} from '../../../../src/wire/wire.ts';
import { chunksOf, foldChunks } from './chunks.ts';
import { type Json, streamWith, termsOf } from './read-as-messages.ts';

const AT_MS = 1_700_000_000_999;
const message = {
  id: 'msg_01abc',
  type: 'message',
  role: 'assistant',
  model: 'upstream-model',
  content: [
    { type: 'thinking', thinking: 'Hm. Let me see.', signature: 'c2lnbmVk' },
    { type: 'redacted_thinking', data: 'c2VhbGVk' },
    { type: 'text', text: 'I shall ask ' },
    { type: 'text', text: 'twice.' },
    { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Köln', days: 3 } },
    { type: 'tool_use', id: 'toolu_2', name: 'now', input: {} },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: {
    input_tokens: 10,
    cache_creation_input_tokens: 20,
    cache_read_input_tokens: 300,
    output_tokens: 40,
    output_tokens_details: { thinking_tokens: 15 },
  },
};
const terms = termsOf({ stream: true });
const withUsage = termsOf({ stream: true, stream_options: { include_usage: true } });

const answerOf = (members: Json = {}, of = terms) =>
  JSON.parse(convertMessage({ ...message, ...members } as JsonObject, of, AT_MS)) as Json & { choices: Json[] };
const streamOf = (members: Json = {}) => unfoldMessage({ ...message, ...members } as JsonObject);
const write = (events: readonly StreamEvent[], of = terms) => streamWith(of, AT_MS).take(events);

test('a message becomes a response with its text, thinking, calls, finish reason and usage', () => {
  expect(answerOf()).toEqual({
    id: 'chatcmpl-01abc',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'upstream-model',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'I shall ask twice.',
          refusal: null,
          reasoning_content: 'Hm. Let me see.',
          reasoning_details: [
            { type: 'reasoning.text', text: 'Hm. Let me see.', signature: 'c2lnbmVk', index: 0 },
            { type: 'reasoning.encrypted', data: 'c2VhbGVk', index: 1 },
          ],
          tool_calls: [
            { id: 'toolu_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Köln","days":3}' } },
            { id: 'toolu_2', type: 'function', function: { name: 'now', arguments: '{}' } },
          ],
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ],
    usage: {
      prompt_tokens: 330,
      completion_tokens: 40,
      total_tokens: 370,
      prompt_tokens_details: { cached_tokens: 300, cache_write_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 15 },
    },
    system_fingerprint: 'fp_0',
  });
});

test('a response with only calls has null content, and an empty one has an empty text', () => {
  expect(answerOf({ content: message.content.slice(4) }).choices[0]).toMatchObject({ message: { content: null } });
  expect(answerOf({ content: [] }).choices[0]).toMatchObject({ message: { content: '' } });
});

const ends: [stopReason: string | null, finishReason: string][] = [
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
  ['constructor', 'stop'],
  [null, 'stop'],
];

test.each(ends)('%s becomes the finish reason %s, streamed or not', (stop_reason, finish) => {
  expect(answerOf({ stop_reason }).choices[0]).toMatchObject({ finish_reason: finish });
  expect(foldChunks(chunksOf(write(streamOf({ stop_reason }))))).toMatchObject({ finish_reason: finish });
});

test('tool inputs keep every digit, streamed or not', () => {
  const text = JSON.stringify({ ...message, content: [message.content[4]] }).replace(
    '"days":3',
    '"days":12345678901234567890',
  );
  expect(convertMessage(parseExactly(text) as JsonObject, terms, AT_MS)).toContain('\\"days\\":12345678901234567890');
  const json =
    '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{"a":12345678901234567890}}}';
  const start = { name: 'content_block_start', json, value: JSON.parse(json) };
  expect(write([start, makeEvent({ type: 'content_block_stop', index: 0 })])).toContain(
    '"arguments":"{\\"a\\":12345678901234567890}"',
  );
});

test('a client that uses the older functions field gets the call as a function call, streamed or not', () => {
  const functions = termsOf({ functions: [{ name: 'weather' }] });
  const called = { name: 'weather', arguments: '{"city":"Köln","days":3}' };
  const content = message.content.slice(2);
  const [choice] = answerOf({ content }, functions).choices;
  expect(choice).toMatchObject({ message: { function_call: called }, finish_reason: 'function_call' });
  expect(choice).not.toHaveProperty('message.tool_calls');
  const chunks = chunksOf(write(streamOf({ content }), functions));
  const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta['function_call'] ?? []) as Json[];
  expect(deltas[0]).toEqual({ name: 'weather', arguments: '' });
  expect(deltas.map((delta) => delta['arguments']).join('')).toBe(called.arguments);
  expect(JSON.stringify(chunks)).not.toContain('tool_calls');
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('function_call');
  expect(answerOf({ stop_reason: 'end_turn' }, functions).choices[0]).toMatchObject({ finish_reason: 'stop' });
});

describe('a stream', () => {
  test('begins with the role, and adds up to the same response as the message', () => {
    const chunks = chunksOf(write(streamOf()));
    expect(chunks[0]).toEqual({
      id: 'chatcmpl-01abc',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model: 'upstream-model',
      system_fingerprint: 'fp_0',
      choices: [{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }],
    });
    expect(foldChunks(chunks)).toEqual(answerOf().choices[0] as Json);
  });

  test('passes on the pieces of a call’s arguments as the model wrote them', () => {
    const pieces = ['{"ci', 'ty": "K\\u00f6ln",', '  "days":3}'];
    const events = [
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'f', input: {} } },
      ...['', ...pieces].map((partial_json) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      })),
      { type: 'content_block_stop', index: 0 },
    ].map((event) => makeEvent(event));
    const deltas = chunksOf(write(events)).map(({ choices }) => choices[0]?.delta['tool_calls']);
    expect(deltas).toEqual([
      [{ index: 0, id: 't', type: 'function', function: { name: 'f', arguments: '' } }],
      ...pieces.map((piece) => [{ index: 0, function: { arguments: piece } }]),
    ]);
  });

  test('sends its usage once: on request in a chunk of its own, unasked with the finish reason, and not if that is refused', () => {
    const usage = answerOf()['usage'] as Json;
    const end = { choices: [{ delta: {}, finish_reason: 'tool_calls' }] };
    const chunksWithUsage = chunksOf(write(streamOf(), withUsage));
    expect(chunksWithUsage.at(-1)).toMatchObject({ choices: [], usage });
    expect(chunksWithUsage.at(-2)).toMatchObject(end);
    const plain = chunksOf(write(streamOf()));
    expect(plain.at(-1)).toMatchObject({ ...end, usage });
    const without = chunksOf(write(streamOf(), termsOf({ stream: true, stream_options: { include_usage: false } })));
    expect(without.at(-1)).toMatchObject(end);
    for (const chunk of [...chunksWithUsage.slice(0, -1), ...plain.slice(0, -1), ...without])
      expect(chunk).not.toHaveProperty('usage');
    for (const { choices } of plain) expect(choices).toHaveLength(1);
  });

  test('sends no finish reason before the message has its own', () => {
    const events = streamOf();
    const writer = streamWith(withUsage, AT_MS);
    const before = writer.take(events.slice(0, -1));
    expect(before).not.toMatch(/DONE|"finish_reason":"|prompt_tokens/);
    expect(writer.take(events.slice(-1))).toEndWith('data: [DONE]\n\n');
  });

  test('sends a ping as a comment', () => {
    expect(write([PING, PING])).toBe(': ping\n\n: ping\n\n');
  });

  test('that breaks off ends with an error, and sends nothing more', () => {
    const error = { type: 'error', error: { type: 'api_error', code: 'upstream_failed', message: 'It failed.' } };
    const events = streamOf();
    const streamText = write([...events.slice(0, 4), makeEvent(error), ...events.slice(4)], withUsage);
    expect(streamText).toEndWith(
      'data: {"error":{"message":"It failed.","type":"api_error","param":null,"code":"upstream_failed"}}\n\n',
    );
    expect(streamText).not.toContain('DONE');
  });

  test('that is cut off at any place has no finish reason', () => {
    const events = streamOf();
    for (let at = 0; at < events.length; at++) expect(write(events.slice(0, at))).not.toContain('DONE');
  });

  test('with very long thinking relays all of it, without repeating it at the end', () => {
    const long = 'x'.repeat(bounds.reasoningDetailsCharactersMax);
    const hm = { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' };
    for (const block of [
      { ...hm, thinking: long },
      { ...hm, signature: long },
      { type: 'redacted_thinking', data: long },
    ]) {
      const streamText = write(streamOf({ content: [hm, block, hm] }));
      expect(streamText).toContain('"reasoning_content":"Hm.');
      expect(streamText.length > long.length).toBe('thinking' in block && block.thinking === long);
      expect(streamText).not.toContain('reasoning_details');
      expect(streamText).toEndWith('data: [DONE]\n\n');
    }
  });
});
