// A native body beside the translated message, and native events in place of translated ones.

import { expect, test } from 'bun:test';
import { AnswerStream, type AnswerWriter } from '../../../src/fronts/answer-stream.ts';
import { makeEvent, makeMessageRequest, PING } from '../../../src/wire/wire.ts';

const NAMES: AnswerWriter = {
  ping: () => 'ping;',
  begin: () => 'begin;',
  openBlock: () => 'open;',
  grow: () => 'grow;',
  closeBlock: () => 'close;',
  finish: () => 'finish;',
  fail: () => 'fail;',
};

test('native events are kept as they were sent, and others are translated', () => {
  const stream = new AnswerStream({
    origins: { messages: [], system: [], tools: [], fields: new Map() },
    writer: () => NAMES,
  });
  const native = [
    { name: 'response.created', text: '{"a":\n1}' },
    { name: 'message', text: '{}' },
  ];
  const events = [
    PING,
    { ...makeEvent({ type: 'message_start' }), native },
    { ...makeEvent({ type: 'content_block_stop' }), native: [] },
    makeEvent({ type: 'error' }),
    PING,
  ];
  expect(stream.take(events)).toBe('ping;event: response.created\ndata: {"a": 1}\n\ndata: {}\n\nfail;');
});

test('the longer of message and native body counts', async () => {
  const message = { model: 'm', messages: [{ role: 'user', content: 'é' }] };
  const lengthOf = async (text: string) =>
    (await makeMessageRequest(message, 'gemini', { kind: 'gemini', text, members: new Map() })).bytes;
  expect(await lengthOf('{}')).toBe(Buffer.byteLength(JSON.stringify(message)));
  expect(await lengthOf('é'.repeat(100))).toBe(200);
});
