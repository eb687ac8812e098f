// The wire format of Bedrock's Converse. Its frames are binary; these are padded until their checksums are ASCII, so that
// they are text like the events of other kinds. It has no tests of its own.

import { crc32 } from 'node:zlib';
import type { Dialect } from './dialects.ts';

// The service loads it for its first stream, which a break in a test would overtake.
await import('@smithy/eventstream-codec');

type Json = Record<string, unknown>;
const OVERHEAD_BYTES = 16;
const PADDING_MAX = 1_000;
const DIGITS = 3;
const TRIES_MAX = 1_000;

const word = (value: number) => String.fromCharCode(...[24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff));
const isAscii = (text: string) => /^[\0-\x7f]*$/.test(text);

/** The padding decides the length, and with it the first checksum; its digits then decide the second. */
function frame(headers: Record<string, string>, payload: Json): string {
  const head = Object.entries(headers)
    .map(
      ([name, value]) => `${String.fromCharCode(name.length)}${name}\x07\0${String.fromCharCode(value.length)}${value}`,
    )
    .join('');
  const least = Buffer.byteLength(bodyOf(payload, '')) + DIGITS;
  for (let bytes = least; bytes < least + PADDING_MAX; bytes++) {
    const lengths = word(OVERHEAD_BYTES + head.length + bytes) + word(head.length);
    if (!isAscii(lengths) || !isAscii(word(crc32(lengths)))) continue;
    for (let digits = 0; digits < TRIES_MAX; digits++) {
      const padding = String(digits).padStart(bytes - least + DIGITS, '0');
      const checked = lengths + word(crc32(lengths)) + head + bodyOf(payload, padding);
      const sum = word(crc32(checked));
      if (isAscii(sum)) return checked + sum;
    }
  }
  throw new Error(`no padding fits ${JSON.stringify(payload)}`);
}

const bodyOf = (payload: Json, padding: string) => JSON.stringify({ ...payload, p: padding });

const event = (name: string, payload: Json) => frame({ ':message-type': 'event', ':event-type': name }, payload);
const exception = (name: string, message: string) =>
  frame({ ':message-type': 'exception', ':exception-type': name }, { message });
const error = (type: string, message: string) => JSON.stringify({ __type: type, message });
const usage = { inputTokens: 25, outputTokens: 12, totalTokens: 37 };
const REFUSED = 'messages.0.content: is not to our taste';

export const bedrock: Dialect = {
  kind: 'bedrock',
  members: { region: 'eu-central-1' },
  streamType: 'application/vnd.amazon.eventstream',
  counted: null,
  wantsStream: ({ path }) => path.endsWith('/converse-stream'),
  stream: (texts) => ({
    begin: [event('messageStart', { role: 'assistant' })],
    content: texts.map((text) => event('contentBlockDelta', { contentBlockIndex: 0, delta: { text } })),
    end: [
      event('contentBlockStop', { contentBlockIndex: 0 }),
      event('messageStop', { stopReason: 'end_turn' }),
      event('metadata', { usage, metrics: { latencyMs: 9 } }),
    ],
  }),
  message: (text) =>
    JSON.stringify({
      output: { message: { role: 'assistant', content: [{ text }] } },
      stopReason: 'end_turn',
      usage,
      metrics: { latencyMs: 9 },
    }),
  error: () => JSON.stringify({ message: 'no' }),
  contentRefused: error('ValidationException', REFUSED),
  contentRefusedEvent: exception('validationException', REFUSED),
  creditRefused: error('ValidationException', 'Operation not allowed'),
  overloadedEvent: exception('serviceUnavailableException', 'Overloaded'),
  overloadedJson: error('ServiceUnavailableException', 'Overloaded'),
};
