// Mutations of a body: its JSON, its text, its fields, its chunks, its length.

import type { Chance } from '../simulation/chance.ts';
import type { Draft } from './draft.ts';

const FIELDS = [
  'model',
  'max_tokens',
  'messages',
  'stream',
  'system',
  'tools',
  'tool_choice',
  'stop_sequences',
  'temperature',
  'metadata',
  'thinking',
  'n',
  'stream_options',
  'response_format',
  'service_tier',
  '__proto__',
  'unknown_field',
];
const VALUES = [
  'null',
  'true',
  '0',
  '-1',
  '1e400',
  '-0',
  '1e-400',
  '9007199254740993',
  '123456789012345678901234567890',
  '0.1',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '[]',
  '[null]',
  '[[]]',
  '{}',
  '{"type":"x"}',
  '[{"role":"user","content":[{"type":"text"}]}]',
  '[{"role":"user","content":null}]',
  '[{"role":"x","content":"y"}]',
  '"sandbox-slow"',
  '"sandbox-lorem"',
  '10000000',
];
const NO_JSON = ['', '{', '}', '[', '{"a":}', "{'a':1}", '{"a":1,}', '\ufeff{}', '{}{}', 'NaN', '"', '\0', '1', '[]'];
const NO_UTF8 = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]];
const SIZES = ['', '-1', 'g', '0x5', ' 5', '5 ', '+5', 'ffffffffffffffff', '7fffffff', 'fffffffffffffffff', '00000005'];

export const bodyMutations: Record<string, (draft: Draft, chance: Chance) => void> = {
  'json-broken': (draft, chance) => {
    const text = draft.body.toString();
    draft.body = Buffer.from(chance.is(0.5) ? chance.pick(NO_JSON) : text.slice(0, chance.below(text.length + 1)));
  },
  'json-field': (draft, chance) => {
    addField(draft, chance.pick(FIELDS), chance.pick(VALUES));
  },
  'json-deep': (draft, chance) => {
    const depth = chance.pick([100, 130, 2_000, 100_000]);
    const [open, close] = chance.pick([
      ['[', ']'],
      ['{"a":', '}'],
    ]) as [string, string];
    addField(draft, chance.pick(FIELDS), `${open.repeat(depth)}1${chance.is(0.8) ? close.repeat(depth) : ''}`);
  },
  'json-many': (draft, chance) => {
    const count = chance.pick([1_000, 20_000, 200_000]);
    addField(
      draft,
      chance.pick(FIELDS),
      `[${Array(count)
        .fill(chance.pick(['0', '{}', '""', '[]']))
        .join(',')}]`,
    );
  },
  'json-not-utf8': (draft, chance) => {
    const place = chance.below(draft.body.byteLength + 1);
    const bytes = Buffer.from(chance.pick(NO_UTF8));
    draft.body = Buffer.concat([draft.body.subarray(0, place), bytes, draft.body.subarray(place)]);
  },
  'json-long': (draft, chance) => {
    const length = chance.pick([130_000, 300_000, 3_000_000]);
    addField(draft, chance.pick(FIELDS), JSON.stringify('x'.repeat(length)));
  },
  'length-more': (draft, chance) => {
    declare(draft, draft.body.byteLength + chance.pick([1, 2, 100, 70_000, 200_000, 20_000_000]));
  },
  'length-less': (draft, chance) => {
    declare(draft, chance.below(draft.body.byteLength + 1));
  },
  chunks: (draft, chance) => {
    draft.headers = draft.headers.filter(({ name }) => name !== 'content-length' && name !== 'transfer-encoding');
    draft.headers.push({ name: 'transfer-encoding', colon: ': ', value: 'chunked', end: '\r\n' });
    const fault = chance.below(9);
    const seed = chance.between(1, 200);
    const bad = chance.pick(SIZES);
    const last = chance.pick([
      '',
      '0',
      '0\r\n',
      '0\r\nx: y\r\n\r\n',
      '0\r\ncontent-length: 5\r\n\r\n',
      `0\r\n${'t: v\r\n'.repeat(900)}\r\n`,
    ]);
    const extension = chance.pick([';a=b', ';', `;${'x'.repeat(chance.pick([10, 20_000]))}`, ';a="\r\n"', '\0']);
    draft.encode = (body) => encodeChunks(body, seed, { fault, bad, last, extension });
  },
};

function addField(draft: Draft, name: string, value: string): void {
  const text = draft.body.toString('latin1');
  const field = `${JSON.stringify(name)}:${value}`;
  // Before or after the others: of doubled keys either may be the one that counts.
  if (!text.startsWith('{')) draft.body = Buffer.from(`{${field}}`);
  else if (value.length % 2 === 0) draft.body = Buffer.from(`{${field},${text.slice(1)}`, 'latin1');
  else draft.body = Buffer.from(`${text.slice(0, -1)},${field}}`, 'latin1');
}

function declare(draft: Draft, length: number): void {
  for (const header of draft.headers) if (header.name === 'content-length') header.value = String(length);
}

interface ChunkFault {
  /** Which of them is made; those above are none. */
  fault: number;
  bad: string;
  last: string;
  extension: string;
}

function encodeChunks(body: Buffer, pieces: number, { fault, bad, last, extension }: ChunkFault): Buffer {
  const size = Math.max(1, Math.ceil(body.byteLength / pieces));
  const parts: Buffer[] = [];
  for (let from = 0; from < body.byteLength; from += size) {
    const piece = body.subarray(from, from + size);
    const isFirst = from === 0;
    let head = piece.byteLength.toString(16);
    if (fault === 0 && isFirst) head = bad;
    if (fault === 1) head += extension;
    if (fault === 2) head = head.padStart(30, '0');
    const end = fault === 3 ? '\n' : '\r\n';
    parts.push(Buffer.from(head + end, 'latin1'), piece, Buffer.from(fault === 4 && isFirst ? 'xx' : '\r\n'));
  }
  parts.push(Buffer.from(fault === 5 ? last : '0\r\n\r\n', 'latin1'));
  return Buffer.concat(parts);
}
