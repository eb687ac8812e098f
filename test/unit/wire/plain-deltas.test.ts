// Deltas that are recognized by their bytes are the events that the parser would read, however the stream is split,
// and count the same.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bounds } from '../../../src/config/config.ts';
import { MessageCounter } from '../../../src/usage/usage.ts';
import { EventStreamParser, encodeEvent, type JsonValue, type StreamEvent } from '../../../src/wire/wire.ts';

const encoder = new TextEncoder();
const OUTPUT_MAX = 1_000_000;

interface Read {
  events: StreamEvent[];
  /** The text that a client would get. */
  forwarded: string;
  plainCount: number;
  counter: MessageCounter;
}

const isDelta = ({ name }: StreamEvent) => name === 'content_block_delta';

function parse({ name, text }: { name: string; text: string }): StreamEvent {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return { name, json: text, value: isObject ? (value as StreamEvent['value']) : {} };
}

/** Plain deltas are never the beginning of a stream. */
function begunParser(): EventStreamParser {
  const parser = new EventStreamParser();
  parser.push(encoder.encode(': hello\n\n'));
  return parser;
}

function read(parts: readonly Uint8Array[], usesPlain: boolean): Read {
  const parser = begunParser();
  const counter = new MessageCounter();
  const result: Read = { events: [], forwarded: '', plainCount: 0, counter };
  for (const part of parts) {
    const plain = usesPlain ? parser.pushPlain(part) : null;
    const events = plain === null ? parser.push(part).map(parse) : plain.events();
    if (plain === null) for (const event of events) counter.observe(event);
    else if (plain.texts.length > 0) counter.observePlain(plain);
    result.plainCount += plain?.texts.length ?? 0;
    result.forwarded += plain === null ? events.map(encodeEvent).join('') : plain.text();
    result.events.push(...events);
  }
  return result;
}

function expectSame(parts: readonly Uint8Array[]): Read {
  const plain = read(parts, true);
  const parsed = read(parts, false);
  expect(plain.events).toEqual(parsed.events);
  expect(plain.forwarded).toBe(parsed.events.map(encodeEvent).join(''));
  const limits = { inputEstimate: 5, outputTokensMax: OUTPUT_MAX };
  expect(plain.counter.estimate(limits)).toEqual(parsed.counter.estimate(limits));
  expect(plain.counter.uncountedTexts(OUTPUT_MAX)).toEqual(parsed.counter.uncountedTexts(OUTPUT_MAX));
  expect(plain.counter.coverTokens(OUTPUT_MAX)).toBe(parsed.counter.coverTokens(OUTPUT_MAX));
  return plain;
}

const character = fc.constantFrom(
  ...'abQ 0;"\\/{}\b\f\n\r\t\u0001\u007f\u0085é中😀\u2028\ufeff\ufffd',
  '\ud800',
  '\udfff',
);
const text = fc.array(character, { maxLength: 12 }).map((characters) => characters.join(''));
const KINDS = [
  ['text_delta', 'text'],
  ['input_json_delta', 'partial_json'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'signature'],
] as const;
const delta = fc
  .tuple(text, fc.constantFrom(...KINDS), fc.constantFrom(0, 7, 12, 1_234_567_890), fc.constantFrom('', '   '))
  .map(([value, [type, member], index, spaces]) => {
    const json = JSON.stringify({ type: 'content_block_delta', index, delta: { type, [member]: value } });
    return `event: content_block_delta\ndata: ${json.slice(0, -1).replaceAll('/', '\\/')}${spaces}}\n\n`;
  });
const other = fc.constantFrom(
  ': comment\n\n',
  'event: ping\ndata: {"type":"ping"}\n\n',
  'event: content_block_stop\r\ndata: {"type":"content_block_stop","index":0}\r\n\r\n',
  'event: content_block_start\ndata: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}\n\n',
  'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\n\n',
  'id: 1\nevent: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":01,"delta":{"type":"text_delta","text":"x"}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":,"delta":{"type":"text_delta","text":"x"}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\u00e9\\/\\ud83d"}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\x"}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\u00g9"}}\n\n',
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\n\r\n',
  '\n',
  '\r',
  '\ufeff',
);
const stream = fc.array(fc.oneof({ weight: 4, arbitrary: delta }, other), { maxLength: 8 });

/** Cuts at these places, in any order. */
function split(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, at) => bytes.subarray(places[at], place));
}

test('a stream gives the same events and counts as when it is parsed, however it is split', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 12 }), (events, cuts) => {
      const bytes = encoder.encode(events.join(''));
      expectSame(split(bytes, cuts));
      expectSame(events.map((event) => encoder.encode(event)));
    }),
    { numRuns: 1_000 },
  );
});

test('a stream that is split at every byte gives the same events and counts', () => {
  fc.assert(
    fc.property(stream, (events) => {
      const bytes = encoder.encode(events.join(''));
      for (let at = 0; at <= bytes.length; at++) expectSame([bytes.subarray(0, at), bytes.subarray(at)]);
      expectSame(Array.from(bytes, (byte) => new Uint8Array([byte])));
    }),
    { numRuns: 15 },
  );
});

test('a stream with any byte changed gives the same events and counts as when it is parsed', () => {
  fc.assert(
    fc.property(stream, fc.nat(), fc.nat(255), fc.array(fc.nat(), { maxLength: 3 }), (events, place, byte, cuts) => {
      const bytes = encoder.encode(events.join(''));
      if (bytes.length > 0) bytes[place % bytes.length] = byte;
      expectSame(split(bytes, cuts));
    }),
    { numRuns: 2_000 },
  );
});

test('deltas are recognized with escapes, letters of any script and padding, alone, in runs, and split', () => {
  const values = ['Hi', '', 'é中😀', '"a\\b"\n', '\u0001', '{"x":'];
  const events = values.flatMap((value) =>
    KINDS.slice(0, 3).map(([type, member]) => {
      const json = JSON.stringify({ type: 'content_block_delta', index: 3, delta: { type, [member]: value } });
      return `event: content_block_delta\ndata: ${json.slice(0, -1)}  }\n\n`;
    }),
  );
  const whole = encoder.encode(events.join(''));
  expect(expectSame([whole]).plainCount).toBe(events.length);
  expect(expectSame(events.map((event) => encoder.encode(event))).plainCount).toBe(events.length);
  for (let at = 0; at <= whole.length; at++)
    expect(expectSame([whole.subarray(0, at), whole.subarray(at)]).plainCount).toBe(events.length);
});

test('a long delta with escapes counts the same', () => {
  const value = 'a "quoted" word\n'.repeat(1_000);
  const json = JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: value } });
  const { plainCount } = expectSame([encoder.encode(`event: content_block_delta\ndata: ${json}\n\n`)]);
  expect(plainCount).toBe(1);
});

test('a chunk of whole deltas is forwarded as it came', () => {
  const chunk = encoder.encode(
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\n\n',
  );
  expect(begunParser().pushPlain(chunk)?.bytes).toBe(chunk);
});

test('a delta that exceeds the bound of one event is not recognized', () => {
  const json = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"';
  const chunk = encoder.encode(
    `event: content_block_delta\ndata: ${json}${'x'.repeat(bounds.upstreamEventBytesMax)}"}}\n\n`,
  );
  expect(begunParser().pushPlain(chunk)).toBeNull();
});

test('the incomplete rest of a long delta is left to the parser, which bounds it', () => {
  const event = `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${'x'.repeat(20_000)}"}}\n\n`;
  const bytes = encoder.encode(event);
  const parser = begunParser();
  const taken = Array.from({ length: 20 }, (_, at) => parser.pushPlain(bytes.subarray(at * 400, at * 400 + 400)));
  expect(taken.indexOf(null)).toBe(10);
  const { events, plainCount } = expectSame(split(bytes, [1_000, 3_000, 7_000, 12_000]));
  expect(events.filter(isDelta)).toHaveLength(1);
  expect(plainCount).toBe(0);
});
