// Deltas that were not parsed are written as their events are, in every protocol.

import { expect, test } from 'bun:test';
import { AnswerStream } from '../../../src/fronts/answer-stream.ts';
import type { Front } from '../../../src/fronts/front.ts';
import { frontOf } from '../../../src/fronts/fronts.ts';
import { EventStreamParser, encodePiece, makeEvent, PlainDeltas } from '../../../src/wire/wire.ts';
import { translateBytes } from './translate-bytes.ts';

const blocks = [
  [
    { type: 'thinking', thinking: '' },
    { type: 'thinking_delta', thinking: 'Hm “\n”.' },
  ],
  [
    { type: 'text', text: '' },
    { type: 'text_delta', text: 'A "word" and \u0001é😀' },
  ],
  [
    { type: 'tool_use', id: 'a', name: 'f', input: {} },
    { type: 'input_json_delta', partial_json: '{"a":1}' },
  ],
] as const;
const requests = {
  'chat-completions': { model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true },
  responses: { model: 'm', input: 'Hi', stream: true, reasoning: { summary: 'auto' } },
  gemini: { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { thinkingConfig: { includeThoughts: true } } },
  completions: { model: 'm', prompt: 'Hi', stream: true },
} as const;

function plainOf(bytes: Uint8Array): PlainDeltas {
  const parser = new EventStreamParser();
  parser.push(Buffer.from(':\n\n'));
  const plain = parser.pushPlain(bytes);
  if (plain === null) throw new Error('these are plain deltas');
  return plain;
}

test.each(Object.entries(requests))('%s', (protocol, request) => {
  const front = frontOf(protocol as keyof typeof requests) as Front;
  const body = Buffer.from(JSON.stringify(request));
  const streamOf = () =>
    new AnswerStream(translateBytes(front, body, { operation: { asks: 'message', model: 'm', stream: true } }).answer);
  const [parsed, plain] = [streamOf(), streamOf()];
  const begun = makeEvent({ type: 'message_start', message: { id: 'msg_1', model: 'm', usage: {} } });
  expect(plain.take([begun])).toBe(parsed.take([begun]));
  for (const [index, [content_block, delta]] of blocks.entries()) {
    const start = makeEvent({ type: 'content_block_start', index, content_block });
    const pieces = [1, 2].map(() => makeEvent({ type: 'content_block_delta', index, delta }));
    const stop = makeEvent({ type: 'content_block_stop', index });
    const deltas = plainOf(Buffer.from(encodePiece(pieces)));
    expect(deltas).toBeInstanceOf(PlainDeltas);
    expect(plain.take([start]) + plain.take(deltas) + plain.take([stop])).toBe(parsed.take([start, ...pieces, stop]));
  }
});
