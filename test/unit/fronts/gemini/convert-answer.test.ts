// Translates messages to Gemini's format, whole and streamed.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { AnswerStream } from '../../../../src/fronts/answer-stream.ts';
import { decodeThinking } from '../../../../src/fronts/gemini/carried-thinking.ts';
import { ChunkWriter } from '../../../../src/fronts/gemini/chunk-writer.ts';
import { convertMessage } from '../../../../src/fronts/gemini/convert-message.ts';
import { type JsonObject, makeEvent, type StreamEvent, unfoldMessage } from '../../../../src/wire/wire.ts';
import { chunksOf } from './chunks.ts';
import type { Json } from './read-gemini.ts';

const terms = (includesThoughts: boolean) => ({
  includesThoughts,
  isEnum: false,
  origins: { messages: [], system: [], tools: [], fields: new Map<string, string>() },
});
const message = (content: object[], more: object = {}): JsonObject => ({
  type: 'message',
  role: 'assistant',
  id: 'msg_1',
  model: 'claude',
  content: content as JsonObject[],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } },
  ...more,
});
const whole = (content: object[], includesThoughts = true, more: object = {}): Json =>
  JSON.parse(convertMessage(message(content, more), { includesThoughts, isEnum: false }));
const partsOf = (answer: Json) => (answer['candidates'] as { content: { parts?: Json[] } }[])[0]?.content.parts ?? [];

const thought = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' };
const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } };
const text = { type: 'text', text: 'Hello' };

describe('an answer', () => {
  test('carries the thinking before a call in its signature', () => {
    const parts = partsOf(whole([thought, text, call, { ...call, id: 'toolu_2' }]));
    expect(parts.slice(0, 2)).toEqual([{ text: 'Hm.', thought: true }, { text: 'Hello' }]);
    expect(parts[2]).toMatchObject({ functionCall: { id: 'toolu_1', name: 'f', args: { a: 1 } } });
    expect(decodeThinking(parts[2]?.['thoughtSignature'] as string)).toEqual([thought, 'text']);
    expect(parts[3]).toEqual({ functionCall: { id: 'toolu_2', name: 'f', args: { a: 1 } } });
  });

  test('shows thoughts only where the client asks for them', () => {
    expect(partsOf(whole([thought, text], false))).toEqual([{ text: 'Hello', thoughtSignature: expect.any(String) }]);
    expect(partsOf(whole([thought, call], false))[0]).toHaveProperty('thoughtSignature');
  });

  test('counts thoughts beside the other output', () => {
    expect(whole([text])['usageMetadata']).toEqual({
      promptTokenCount: 5,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 4,
      totalTokenCount: 14,
    });
  });

  test.each([
    ['end_turn', 'STOP'],
    ['tool_use', 'STOP'],
    ['stop_sequence', 'STOP'],
    ['max_tokens', 'MAX_TOKENS'],
    ['model_context_window_exceeded', 'MAX_TOKENS'],
    ['refusal', 'SAFETY'],
    ['constructor', 'STOP'],
  ])('that ended by %s has the finish reason %s', (stop_reason, finishReason) => {
    expect(whole([text], true, { stop_reason })).toMatchObject({ candidates: [{ finishReason }] });
  });
});

describe('a stream', () => {
  const written = (events: StreamEvent[], isList = false) => {
    const stream = new AnswerStream({
      origins: terms(true).origins,
      writer: () => new ChunkWriter(terms(true), isList),
    });
    return stream.take(events) + stream.last();
  };
  const eventsOf = (content: object[]) => unfoldMessage(message(content));

  test.each([
    [
      { input_tokens: 5, output_tokens: 1 },
      { promptTokenCount: 5, totalTokenCount: 5 },
    ],
    [
      { input_tokens: 5, cache_read_input_tokens: 3, output_tokens: 1 },
      { promptTokenCount: 8, cachedContentTokenCount: 3, totalTokenCount: 8 },
    ],
    [{ input_tokens: 0, output_tokens: 0 }, undefined],
    [{}, undefined],
  ])(
    'names itself in each chunk, with the prompt of %j, and only the last has an end and the output',
    (usage, shown) => {
      const begun = makeEvent({ type: 'message_start', message: message([], { usage }) });
      const chunks = chunksOf(written([begun, ...eventsOf([thought, text, call]).slice(1)]));
      expect(chunks).toHaveLength(4);
      for (const [place, chunk] of chunks.entries()) {
        const isLast = place === chunks.length - 1;
        expect(Object.keys(chunk)).toEqual(
          ['candidates', 'usageMetadata', 'modelVersion', 'responseId'].filter((name) => name in chunk),
        );
        expect(chunk).toMatchObject({ modelVersion: 'claude', responseId: '1' });
        expect('finishReason' in (chunk['candidates'] as [Json])[0]).toBe(isLast);
        if (isLast) expect(chunk['usageMetadata']).toMatchObject({ candidatesTokenCount: 9 });
        else expect(chunk['usageMetadata'] as Json | undefined).toEqual(shown);
      }
    },
  );

  test('has no thinking in a signature if it is too long to be kept whole', () => {
    const half = { ...thought, thinking: 'x'.repeat(bounds.reasoningDetailsCharactersMax / 2) };
    const callsOf = (content: object[]) =>
      chunksOf(written(eventsOf(content)))
        .flatMap(partsOf)
        .filter((part) => 'functionCall' in part);
    expect(callsOf([half, half, call])).toEqual([{ functionCall: { id: 'toolu_1', name: 'f', args: { a: 1 } } }]);
    expect(callsOf([half, call, half, call]).every((part) => 'thoughtSignature' in part)).toBe(true);
  });

  test('has no part of a call that was cut', () => {
    const events = eventsOf([text, call]).filter(({ name }) => name !== 'content_block_stop');
    const cutJson = (json: string) => json.replace('{\\"a\\":1}', '{\\"a\\":');
    const cut = events.map(({ json }) => makeEvent(JSON.parse(cutJson(json))));
    cut.splice(-2, 0, makeEvent({ type: 'content_block_stop', index: 1 }));
    expect(chunksOf(written(cut)).flatMap(partsOf)).toEqual([{ text: 'Hello' }, { text: '' }]);
  });

  test('sends chunks of a provider of the same protocol as they are', () => {
    const native = [{ name: 'message', text: '{ "a": 1 }' }];
    const event = { ...makeEvent({ type: 'content_block_start' }), native };
    expect(written([event, event])).toBe('data: { "a": 1 }\n\ndata: { "a": 1 }\n\n');
    expect(JSON.parse(written([event, event], true))).toEqual([{ a: 1 }, { a: 1 }]);
    expect(JSON.parse(written([], true))).toEqual([]);
  });

  test('names the field of the client in an error before the answer', () => {
    const origins = { ...terms(true).origins, tools: ['tools.0.functionDeclarations.3'] };
    const stream = new AnswerStream({ origins, writer: () => new ChunkWriter(terms(true), false) });
    const error = { type: 'invalid_request_error', code: 'upstream_rejected', message: 'tools.0.name: is too long' };
    const event = makeEvent({ type: 'error', error, request_id: 'req_1' });
    expect(chunksOf(stream.take([event]))).toMatchObject([
      { error: { code: 400, message: 'tools.0.functionDeclarations.3.name: is too long' } },
    ]);
    expect(stream.take([event])).toBe('');
  });
});
