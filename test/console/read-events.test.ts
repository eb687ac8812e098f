// Parsing server-sent events.

import { expect, test } from 'bun:test';
import { makeEventReader, readEvents, type StreamEvent } from '../../console/features/playground/send-message.ts';

const TEXT = [
  ': a comment\r\n',
  'event: first\r\ndata: one\r\ndata: two\r\n\r\n',
  'data:{"a":1}\n\n',
  'event: nothing\n\n', // without data there is no event, and its name does not apply to the next one
  'id: 7\nretry: 10\nunknown\ndata\n\n', // an empty text is a text
  'event:last\rdata:  é 🙂 \r\r',
  'data: never ended',
].join('');
const EVENTS: StreamEvent[] = [
  { name: 'first', text: 'one\ntwo' },
  { name: 'message', text: '{"a":1}' },
  { name: 'message', text: '' },
  { name: 'last', text: ' é 🙂 ' },
];

function streamOf(chunks: Iterable<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

test('a stream yields the same events wherever its bytes are split', async () => {
  const bytes = new TextEncoder().encode(`\ufeff${TEXT}`);
  for (let size = 1; size <= bytes.length; size++) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    expect(await Array.fromAsync(readEvents(streamOf(chunks)))).toEqual(EVENTS);
  }
});

test('a line end that is split between two chunks counts once, also around an empty chunk', () => {
  const take = makeEventReader();
  expect([...take('data: a\r'), ...take(''), ...take('\ndata: b\r'), ...take('\n\r'), ...take('\n')]).toEqual([
    { name: 'message', text: 'a\nb' },
  ]);
});

test('leaving the iteration cancels the stream', async () => {
  let isCancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\ndata: 2\n\n')),
    cancel: () => {
      isCancelled = true;
    },
  });
  for await (const event of readEvents(stream)) {
    expect(event.text).toBe('1');
    break;
  }
  expect(isCancelled).toBe(true);
});

test('an event that never ends is rejected before it fills the memory', () => {
  const take = makeEventReader();
  const piece = `data: ${'x'.repeat(1024 * 1024)}\n`;
  expect(() => {
    for (let at = 0; at < 17; at++) take(piece);
  }).toThrow('too long');
});
