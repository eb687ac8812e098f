// Mutations of a request. Each changes a draft, the same way for the same seed, and has a name, so that a list of
// them can be shortened and repeated.

import { Chance } from '../simulation/chance.ts';
import { bodyMutations } from './body-mutations.ts';
import { type Draft, line } from './draft.ts';

export type Mutate = (draft: Draft, chance: Chance) => void;

export interface Mutation {
  name: string;
  seed: number;
}

const ODD_TEXT = ['', ' ', '\t', '\0', '\x7f', '\x01', '\xff\xfe', '"', ',', ',,', ';', '%00', '-1', '0', 'null', 'é'];
const LENGTHS = ['', '0', '-1', '+5', '0x10', '1e3', '5.0', ' 5', '5 ', '5,5', '5, 6', '00005', '٣', 'abc'];
const HUGE_LENGTHS = ['33554433', '9007199254740993', '18446744073709551615', '18446744073709551616', '9'.repeat(400)];
const ENCODINGS = ['chunked', 'Chunked', 'chunked, chunked', 'gzip, chunked', 'chunked, gzip', 'identity', 'xchunked'];
const ODD_ENCODINGS = ['', ' chunked ', '\x0bchunked', 'chunked;q=1', 'chunked\0', 'trailers'];
const METHODS = [
  '',
  'get',
  'post',
  'PUT',
  'DELETE',
  'PATCH',
  'TRACE',
  'CONNECT',
  'PRI',
  'QUERY',
  'P OST',
  'POST\0',
  'Ä',
];
const VERSIONS = [
  '',
  ' HTTP/1.0',
  ' HTTP/0.9',
  ' HTTP/2.0',
  ' HTTP/1.10',
  ' http/1.1',
  ' HTTP/1.1 ',
  ' X',
  ' HTTP/9.9',
];
const TARGETS = [
  'http://127.0.0.1/v1/messages',
  'http://other.example/v1/messages',
  'https://[::1/v1/messages',
  '//v1/messages',
  '/v1//messages',
  '/v1/./messages',
  '/v1/messages/../models',
  '/v1/%6dessages',
  '/v1/messages%00',
  '/v1/messages?beta=true&beta=%zz',
  '/v1/messages#x',
  '/v1/usage/%ff',
  '/v1/models/%2e%2e%2f',
  '/api/v1/accounts/acct_%00',
  '/api/v1/usage?limit=-1&model=%f0%28',
  '/console/%2e%2e/%2e%2e/etc/passwd',
  '/console/..%2f..%2fpackage.json',
  '*',
  '',
  '127.0.0.1:80',
  '\\v1\\messages',
  '/\xff\xfe',
];

/** Headers that the service reads, with unusual values. */
const READ: Record<string, readonly string[]> = {
  host: ['', '127.0.0.1:99999', 'a b', '[::1', '/', '@', 'x'.repeat(3_000), 'höst', '..', '127.0.0.1, other'],
  'content-type': ['text/plain', 'application/json; charset=utf-16', 'multipart/form-data', 'application/jsonx'],
  'content-encoding': ['gzip', 'br', 'identity', 'identity, gzip', 'GZIP'],
  'x-api-key': ['sk-tp-', 'sk-tp-wrong', 'x'.repeat(10_000), 'sk-tp-\xff'],
  authorization: ['Bearer', 'Bearer  ', 'Basic QTpC', 'bearer x', 'Bearer Bearer', 'Bearer x y'],
  'anthropic-version': ['2023-06-01', '1999-01-01', 'x'.repeat(5_000)],
  'anthropic-beta': ['a,b,c', ','.repeat(5_000), 'x'.repeat(9_000), 'files-api-2025-04-14'],
  'idempotency-key': ['one', 'x'.repeat(300), 'two words', '\x80'],
  origin: ['null', 'https://app.example', 'https://app.example,https://b', 'x'.repeat(5_000)],
  'x-forwarded-for': ['10.1.2.3', '10.1.2.3, 10.2.3.4', 'unknown', '::1', '10.1.2.3:80', '1.1.1.1,'.repeat(500)],
  'x-forwarded-proto': ['https', 'https,http', 'gopher'],
  expect: ['100-continue', '100-Continue', '200-ok', '100-continue, 100-continue'],
  connection: ['close', 'keep-alive', 'upgrade', 'close, keep-alive', 'x-api-key', 'content-length', 'close\0'],
  upgrade: ['websocket', 'h2c', 'TLS/1.0', 'websocket, h2c'],
  'sec-websocket-key': ['dGhlIHNhbXBsZSBub25jZQ=='],
  traceparent: ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '00-0-0-0', 'ff-', 'x'.repeat(5_000)],
  tracestate: ['a=b', 'a=b,'.repeat(1_000), '='],
  cookie: ['a=b; c=d', 'session=%00', '='.repeat(3_000), ';'.repeat(3_000)],
  accept: ['text/html', 'text/event-stream', '*/*;q=9'],
  'anthropic-dangerous-direct-browser-access': ['true', 'TRUE'],
  'transfer-encoding': [...ENCODINGS, ...ODD_ENCODINGS],
  'content-length': [...LENGTHS, ...HUGE_LENGTHS],
};
const READ_NAMES = Object.keys(READ);

const headMutations: Record<string, Mutate> = {
  method: (draft, chance) => {
    draft.method = chance.pick(METHODS);
  },
  target: (draft, chance) => {
    draft.target = chance.is(0.1) ? `/v1/${'a'.repeat(chance.between(1_000, 40_000))}` : chance.pick(TARGETS);
  },
  version: (draft, chance) => {
    draft.version = chance.pick(VERSIONS);
  },
  'header-value': (draft, chance) => {
    const name = chance.pick(READ_NAMES);
    replace(draft, name, [chance.is(0.3) ? chance.pick(ODD_TEXT) : chance.pick(READ[name] as readonly string[])]);
  },
  /** With its own value, or others: of any header that the service reads. */
  'header-twice': (draft, chance) => {
    const name = chance.pick(draft.headers)?.name ?? 'host';
    const value = draft.headers.find((header) => header.name === name)?.value ?? null;
    draft.headers.push(line(chance.is(0.3) ? name.toUpperCase() : name, value));
  },
  'header-twice-different': (draft, chance) => {
    const name = chance.pick(READ_NAMES);
    draft.headers.push(line(name, chance.pick(READ[name] as readonly string[])));
  },
  'header-missing': (draft, chance) => {
    if (draft.headers.length > 0) draft.headers.splice(chance.below(draft.headers.length), 1);
  },
  'header-name': (draft, chance) => {
    const odd = ['', ' ', 'a b', 'a\0b', 'ä', '(', ':', '\tx', 'x'.repeat(3_000), '__proto__', 'constructor'];
    insert(draft, chance, line(chance.pick(odd), '1'));
  },
  'header-line': (draft, chance) => {
    const header = chance.pick(draft.headers);
    if (header === undefined) return;
    const change = chance.below(5);
    if (change === 0) header.colon = chance.pick([' : ', ':', '', '\t:', ':\0', '::', ' ']);
    else if (change === 1) header.end = chance.pick(['\n', '\r', '', '\r\r\n', '\n\r', '\0\r\n']);
    else if (change === 2) header.end = `\r\n${chance.pick([' folded', '\tfolded', '  '])}\r\n`;
    else if (change === 3) header.value = `${header.value ?? ''}${chance.pick(ODD_TEXT)}`;
    else
      header.name = chance.pick([header.name.toUpperCase(), ` ${header.name}`, `${header.name} `, `\0${header.name}`]);
  },
  'header-long': (draft, chance) => {
    insert(draft, chance, line(chance.pick(['x-long', ...READ_NAMES]), 'v'.repeat(chance.between(4_000, 70_000))));
  },
  'header-many': (draft, chance) => {
    const count = chance.pick([90, 101, 200, 400, 3_000]);
    const name = chance.pick(['x-many', 'cookie', 'x-forwarded-for', 'anthropic-beta']);
    for (let place = 0; place < count; place++) draft.headers.push(line(chance.is(0.9) ? name : `x-${place}`, 'v'));
  },
  'line-end': (draft, chance) => {
    if (chance.is(0.5)) draft.requestLineEnd = chance.pick(['\n', '\r', '', '\r\n\r\n', ' \r\n', '\r\n ']);
    else draft.headEnd = chance.pick(['\n', '\r', '', '\r\n\r\n', '\n\n', ' \r\n']);
  },
  'content-length': (draft, chance) => {
    const real = draft.body.byteLength;
    const near = [`${real},${real}`, `+${real}`, `0${real}`, `0x${real.toString(16)}`, `${real} `, `${real + 1}`];
    replace(draft, 'content-length', [chance.pick([...near, ...LENGTHS, ...HUGE_LENGTHS])]);
  },
  'content-length-twice': (draft, chance) => {
    const other = chance.is(0.4) ? null : chance.pick(['0', '5', `${draft.body.byteLength + 1}`, '-1', '']);
    replace(draft, 'content-length', chance.is(0.5) ? [null, other] : [other, null]);
  },
  'transfer-encoding': (draft, chance) => {
    if (chance.is(0.5)) replace(draft, 'content-length', []);
    const values = [chance.pick([...ENCODINGS, ...ODD_ENCODINGS])];
    if (chance.is(0.2)) values.push(chance.pick(ENCODINGS));
    replace(draft, 'transfer-encoding', values);
    if (chance.is(0.7)) draft.encode ??= encodeAsChunks;
  },
  'wrong-key': (draft, chance) => {
    for (const name of ['x-api-key', 'authorization']) replace(draft, name, []);
    const value = chance.pick([null, 'sk-tp-0123456789abcdefghijklmnopqrstuvwxyzABCDEF', 'x', '']);
    if (value !== null)
      draft.headers.push(chance.is(0.5) ? line('x-api-key', value) : line('authorization', `Bearer ${value}`));
  },
  'bytes-changed': (draft, chance) => {
    const seed = chance.below(2 ** 31);
    draft.rewrites.push((bytes) => changeBytes(bytes, new Chance(seed)));
  },
  'cut-short': (draft, chance) => {
    const part = chance.below(1_000) / 1_000;
    draft.rewrites.push((bytes) => bytes.subarray(0, Math.floor(bytes.byteLength * part)));
  },
  'more-behind': (draft, chance) => {
    const more = chance.pick(['\r\n', '\0\0\0\0', 'GET / HTTP/1.1\r\n', '{"x":1}', '\r\n\r\n\r\n', '0\r\n\r\n']);
    draft.rewrites.push((bytes) => Buffer.concat([bytes, Buffer.from(more, 'latin1')]));
  },
};

const all: Record<string, Mutate> = { ...headMutations, ...bodyMutations };
const NAMES = [
  ...Object.keys(all),
  'content-length',
  'content-length-twice',
  'header-value',
  'transfer-encoding',
  'chunks',
];
/** Those after which each request of a connection is still one request, answered by one answer. */
const HARMLESS = new Set(['wrong-key', ...Object.keys(bodyMutations).filter((name) => name.startsWith('json-'))]);

export function pickMutation(chance: Chance): Mutation {
  return { name: chance.pick(NAMES), seed: chance.below(2 ** 31) };
}

export function applyMutation(draft: Draft, { name, seed }: Mutation): void {
  const mutate = all[name];
  if (mutate === undefined) throw new Error(`there is no mutation "${name}"`);
  mutate(draft, new Chance(seed));
}

export function keepsFraming({ name }: Mutation): boolean {
  return HARMLESS.has(name);
}

function encodeAsChunks(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${body.byteLength.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
}

function replace(draft: Draft, name: string, values: readonly (string | null)[]): void {
  draft.headers = draft.headers.filter((header) => header.name !== name);
  for (const value of values) draft.headers.push(line(name, value));
}

function insert(draft: Draft, chance: Chance, header: ReturnType<typeof line>): void {
  draft.headers.splice(chance.below(draft.headers.length + 1), 0, header);
}

function changeBytes(bytes: Buffer, chance: Chance): Buffer {
  const changed = Buffer.from(bytes);
  const reach = chance.is(0.7) ? Math.min(changed.byteLength, 300) : changed.byteLength;
  for (let count = chance.between(1, 4); count > 0 && reach > 0; count--)
    changed[chance.below(reach)] = chance.below(256);
  return changed;
}
