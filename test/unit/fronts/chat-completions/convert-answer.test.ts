// Conversion of a message, whole or streamed: both have the same result.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { ChunkWriter } from '../../../../src/fronts/chat-completions/chunk-writer.ts';
import { convertMessage } from '../../../../src/fronts/chat-completions/convert-message.ts';
import { convertEvents } from '../../../../src/fronts/fronts.ts';
import { encodeEvent, type JsonObject, makeEvent, PING_TEXT, unfoldMessage } from '../../../../src/wire/wire.ts';
import { chunksOf, foldChunks } from './chunks.ts';
import { type Json, termsOf } from './read-as-messages.ts';

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
  JSON.parse(convertMessage(JSON.stringify({ ...message, ...members }), of, AT_MS)) as Json & { choices: Json[] };
const streamOf = (members: Json = {}) =>
  unfoldMessage({ ...message, ...members } as JsonObject)
    .map(encodeEvent)
    .join('');
const write = (text: string, of = terms) => new ChunkWriter(of, AT_MS).push(text);

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
  expect(convertMessage(text, terms, AT_MS)).toContain('\\"days\\":12345678901234567890');
  const start =
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{"a":12345678901234567890}}}\n\n' +
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n';
  expect(write(start)).toContain('"arguments":"{\\"a\\":12345678901234567890}"');
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
    ].map((event) => encodeEvent(makeEvent(event)));
    const deltas = chunksOf(write(events.join(''))).map(({ choices }) => choices[0]?.delta['tool_calls']);
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
    const events = unfoldMessage(message as JsonObject).map(encodeEvent);
    const writer = new ChunkWriter(withUsage, AT_MS);
    const before = writer.push(events.slice(0, -1).join(''));
    expect(before).not.toMatch(/DONE|"finish_reason":"|prompt_tokens/);
    expect(writer.push(events.at(-1) as string)).toEndWith('data: [DONE]\n\n');
  });

  test('sends a ping as a comment', () => {
    expect(write(PING_TEXT + PING_TEXT)).toBe(': ping\n\n: ping\n\n');
  });

  test('that breaks off ends with an error, and sends nothing more', () => {
    const error = { type: 'error', error: { type: 'api_error', code: 'upstream_failed', message: 'It failed.' } };
    const events = unfoldMessage(message as JsonObject).map(encodeEvent);
    const text = [...events.slice(0, 4), encodeEvent(makeEvent(error)), ...events.slice(4)].join('');
    const streamText = write(text, withUsage);
    expect(streamText).toEndWith(
      'data: {"error":{"message":"It failed.","type":"api_error","param":null,"code":"upstream_failed"}}\n\n',
    );
    expect(streamText).not.toContain('DONE');
  });

  test('is the same however its text is split', () => {
    const text = PING_TEXT + streamOf();
    const whole = write(text, withUsage);
    for (let at = 1; at < text.length; at++) {
      const writer = new ChunkWriter(withUsage, AT_MS);
      expect(writer.push(text.slice(0, at)) + writer.push(text.slice(at))).toBe(whole);
    }
    const writer = new ChunkWriter(withUsage, AT_MS);
    expect([...text].map((sign) => writer.push(sign)).join('')).toBe(whole);
  });

  test('that is cut off at any place has no finish reason', () => {
    const text = streamOf();
    for (let at = 0; at < text.length; at += 7) expect(write(text.slice(0, at))).not.toContain('DONE');
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

  test('whose client disconnects cancels its source', async () => {
    let isLeft = false;
    async function* events() {
      try {
        for (;;) yield PING_TEXT;
      } finally {
        isLeft = true;
      }
    }
    for await (const text of convertEvents(events(), new ChunkWriter(terms, AT_MS))) {
      expect(text).toBe(': ping\n\n');
      break;
    }
    expect(isLeft).toBe(true);
  });

  test('is read from its source no faster than its client reads it', async () => {
    let readCount = 0;
    async function* events() {
      for (;;) {
        readCount++;
        yield PING_TEXT;
      }
    }
    const chunks = convertEvents(events(), new ChunkWriter(terms, AT_MS));
    await chunks.next();
    await chunks.next();
    expect(readCount).toBe(2);
    await chunks.return(undefined);
  });
});
