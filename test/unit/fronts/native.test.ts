// A native body beside the translated message, and native events in place of translated ones.

import { expect, test } from 'bun:test';
import { EventWriter } from '../../../src/fronts/event-writer.ts';
import { encodeEvent, type JsonObject, makeEvent, PING_TEXT, parseInTurns } from '../../../src/wire/wire.ts';

class NamesWriter extends EventWriter {
  protected override convert(event: JsonObject): string {
    return `${String(event['type'])};`;
  }
}

const native = { name: 'response.created', text: '{"a":\n1}' };
const stream = [
  PING_TEXT,
  encodeEvent({ ...makeEvent({ type: 'message_start' }), native: [native, { name: 'message', text: '{}' }] }),
  encodeEvent({ ...makeEvent({ type: 'content_block_stop' }), native: [] }),
  encodeEvent(makeEvent({ type: 'error' })),
].join('');

test('native events are kept as they were sent, and others are translated, wherever the text is split', () => {
  const written = 'ping;event: response.created\ndata: {"a": 1}\n\ndata: {}\n\nerror;';
  for (let at = 0; at <= stream.length; at++) {
    const writer = new NamesWriter();
    expect(writer.push(stream.slice(0, at)) + writer.push(stream.slice(at))).toBe(written);
  }
});

test('the longer of message and native body counts', async () => {
  const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"é"}]}');
  const lengthOf = async (text: string) =>
    (await parseInTurns(body, 'messages', { kind: 'gemini', text, members: new Map() })).bytes;
  expect(await lengthOf('{}')).toBe(body.length);
  expect(await lengthOf('é'.repeat(100))).toBe(200);
});
