// An event stream is read the same however its bytes are split, and the size of an event is bounded.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bounds } from '../../../src/config/config.ts';
import { EventStreamParser, EventTooLong, encodeEvent, type ServerSentEvent } from '../../../src/wire/wire.ts';

const encoder = new TextEncoder();

function readAll(...parts: (string | Uint8Array)[]): ServerSentEvent[] {
  const parser = new EventStreamParser();
  return parts.flatMap((part) => parser.push(typeof part === 'string' ? encoder.encode(part) : part));
}

test('events are read with their names and data', () => {
  expect(readAll('event: a\ndata: {"x":1}\n\n', 'event:b\ndata:2\n\ndata: 3\n\n')).toEqual([
    { name: 'a', text: '{"x":1}' },
    { name: 'b', text: '2' },
    { name: 'message', text: '3' },
  ]);
});

test('the rules of the standard are followed: comments, other fields, several data lines, one space', () => {
  const text = ': hello\nid: 1\nretry: 5\nevent: a\ndata: 1\ndata:  2\ndata\nignored\nevents: x\ndatas: y\n\n';
  expect(readAll(`${text}event: lost\n\ndata\n\n\n\n: bye\n\n`)).toEqual([{ name: 'a', text: '1\n 2\n' }]);
});

test('lines may end with LF, CR LF or CR', () => {
  const expected = [
    { name: 'a', text: '1\n2' },
    { name: 'message', text: '3' },
  ];
  for (const ending of ['\n', '\r\n', '\r'])
    expect(readAll(['event: a', 'data: 1', 'data: 2', '', 'data: 3', '', ''].join(ending))).toEqual(expected);
});

test('a byte order mark at the beginning is skipped, and a later one is data', () => {
  expect(readAll('\ufeffdata: 1\n\ndata: \ufeff2\n\n').map((event) => event.text)).toEqual(['1', '\ufeff2']);
});

test('a stream that is split at every byte gives the same events', () => {
  const line = fc.constantFrom(
    'data: {"t":"é中😀"}',
    'data: ',
    'event: x',
    ': ping',
    '',
    'data:a',
    'event: ü',
    '\ufeff',
  );
  const ending = fc.constantFrom('\n', '\r\n', '\r');
  fc.assert(
    fc.property(fc.array(fc.tuple(line, ending), { maxLength: 12 }), (lines) => {
      const bytes = encoder.encode(lines.flat().join(''));
      const whole = readAll(bytes);
      for (let at = 0; at <= bytes.length; at++)
        expect(readAll(bytes.subarray(0, at), bytes.subarray(at))).toEqual(whole);
      expect(readAll(...Array.from(bytes, (byte) => new Uint8Array([byte])))).toEqual(whole);
    }),
    { numRuns: 60 },
  );
});

test('events written by this service can be read again', () => {
  expect(readAll(encodeEvent({ name: 'ping', json: '{"type":"ping"}' }))).toEqual([
    { name: 'ping', text: '{"type":"ping"}' },
  ]);
});

test('an event without its blank line is dropped', () => {
  for (const text of ['data: 1\n\n', 'data: 1\n\ndata: 2\n', 'data: 1\n\nda'])
    expect(readAll(text)).toEqual([{ name: 'message', text: '1' }]);
  expect(readAll('data: 1\n')).toEqual([]);
});

test('the size of one event is bounded, in one line or in many', () => {
  const mebibyte = encoder.encode('x'.repeat(1024 * 1024));
  const endless = (part: Uint8Array) => {
    const parser = new EventStreamParser();
    parser.push(encoder.encode('data: '));
    for (let pushed = 0; pushed <= 2 * bounds.upstreamEventBytesMax; pushed += part.length) parser.push(part);
  };
  expect(() => endless(mebibyte)).toThrow(EventTooLong);
  expect(() => endless(encoder.encode(`${'x'.repeat(1024 * 1024)}\ndata: `))).toThrow(EventTooLong);
});

test('many events and comments together may exceed the bound of one event', () => {
  const parser = new EventStreamParser();
  const part = encoder.encode(`: ${'x'.repeat(2 ** 20)}\ndata: ${'y'.repeat(2 ** 20)}\n\n`);
  const halves = [part.subarray(0, 2 ** 20), part.subarray(2 ** 20)];
  let events = 0;
  for (let count = 0; count < 20; count++) for (const half of halves) events += parser.push(half).length;
  expect(events).toBe(20);
});

test('keep-alive comments do not count toward the bound of an event', () => {
  const parser = new EventStreamParser();
  const comment = encoder.encode(`: ${'x'.repeat(2 ** 20)}\n`);
  for (let count = 0; count < 40; count++)
    for (const half of [comment.subarray(0, 2 ** 19), comment.subarray(2 ** 19)]) parser.push(half);
  expect(parser.push(encoder.encode('data: 1\n\n'))).toEqual([{ name: 'message', text: '1' }]);
});

test('an event without data is a keep-alive', () => {
  expect(readAll('data:\n\ndata: \n\nevent: ping\ndata: \n\ndata: 1\n\n')).toEqual([{ name: 'message', text: '1' }]);
});

test('objects on lines without a blank line between them are events of their own, and a text of several lines is one', () => {
  const texts = (body: string) => readAll(body).map(({ text }) => text);
  expect(texts('data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n\n')).toEqual(['{"a":1}', '{"b":2}', '[DONE]']);
  expect(texts('data: {\ndata: "a": {}\ndata: }\n\n')).toEqual(['{\n"a": {}\n}']);
});
