// Bodies that block the event loop during parsing: each is refused by its structure before it is parsed, and the
// error names the place. Bodies of ordinary clients are accepted.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bounds } from '../../../src/config/config.ts';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { heldBy } from './gauges.ts';

let turnpike: Turnpike;
let secret: string;
beforeAll(async () => {
  turnpike = await sharedTurnpike();
  secret = (await turnpike.makeKey()).secret;
});
afterAll(() => turnpike.stop());

const { jsonValuesMax, jsonNewKeysMax, jsonBareCharactersMax, jsonEscapedCharactersMax, jsonLongNumbersMax } = bounds;
const each = (count: number, write: (place: number) => string) =>
  Array.from({ length: count }, (_, at) => write(at)).join();
const message = (more: string, content = '"hi"') =>
  `{"model":"sandbox-echo","max_tokens":5,"messages":[{"role":"user","content":${content}}]${more}}`;

const COSTLY: [string, string, string][] = [
  ['390,000 keys in one object', message(`,"metadata":{${each(390_000, (at) => `"k${at}":1`)}}`), 'metadata.k'],
  ['an object per key', message(`,"metadata":[${each(jsonNewKeysMax + 1, (at) => `{"k${at}":1}`)}]`), 'metadata.'],
  ['keys at the top level', message(`,${each(jsonNewKeysMax, (at) => `"k${at}":1`)}`), 'k'],
  [
    'array indexes as keys',
    message(`,"metadata":[${each(jsonNewKeysMax + 1, () => '{"4000000000":1}')}]`),
    'metadata.',
  ],
  ['one key of megabytes', message(`,"metadata":{"${'k'.repeat(4_000_000)}":1}`), 'metadata.kkk'],
  ['too many values', message(`,"metadata":[${each(jsonValuesMax, () => '1')}]`), 'metadata.'],
  ['too many small objects', message(`,"metadata":[${each(jsonValuesMax / 2, () => '{}')}]`), 'metadata.'],
  [
    'too many long numbers',
    message(`,"metadata":[${each(jsonLongNumbersMax + 2, () => '7'.repeat(20))}]`),
    'metadata.',
  ],
  ['one endless number', message(`,"top_k":${'7'.repeat(jsonBareCharactersMax)}`), 'top_k: '],
  ['white space', message(`,"top_k":${' '.repeat(jsonBareCharactersMax)}1`), 'top_k: '],
  ['escapes', message('', `"${'\\n'.repeat(jsonEscapedCharactersMax / 2 + 1)}"`), 'messages.0.content: '],
  ['escaped quotes', message('', `"${'\\"'.repeat(jsonEscapedCharactersMax / 2 + 1)}"`), 'messages.0.content: '],
  ['backslashes', message('', `"${'\\\\'.repeat(jsonEscapedCharactersMax / 2 + 1)}"`), 'messages.0.content: '],
  ['levels', message(`,"metadata":${'['.repeat(100_000)}`), 'metadata.'],
];

describe.each(['/v1/messages', '/v1/messages/count_tokens', '/v1/chat/completions', '/api/v1/accounts'])(
  '%s',
  (path) => {
    test.each(COSTLY)('refuses %s, and the error names the place', async (_, body, place) => {
      const token = path.startsWith('/api/')
        ? JSON.parse(readFileSync(join(turnpike.dataDirectory, 'operator.json'), 'utf8')).token
        : secret;
      const response = await fetch(`${turnpike.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
      });
      const { error } = (await response.json()) as { error: { code?: string; message: string } };
      if (path.startsWith('/api/') && body.length > bounds.adminBodyBytesMax) expect(response.status).toBe(413);
      else {
        expect(response.status).toBe(400);
        expect(error.message).toStartWith(place);
        expect(error.message).toContain('Input should not');
      }
    });
  },
);

test('tool call arguments count toward the size of the body', async () => {
  const call = (at: number, text: string) => ({
    id: `c${at}`,
    type: 'function',
    function: { name: 'f', arguments: text },
  });
  const half = (from: number) => `{${each(jsonNewKeysMax / 2, (at) => `"k${from + at}":1`)}}`;
  const ask = (texts: string[]) =>
    fetch(`${turnpike.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sandbox-echo',
        max_tokens: 5,
        messages: [
          { role: 'user', content: 'go' },
          { role: 'assistant', content: null, tool_calls: texts.map((text, at) => call(at, text)) },
          ...texts.map((_, at) => ({ role: 'tool', tool_call_id: `c${at}`, content: 'ok' })),
        ],
      }),
    });
  expect((await ask([half(0)])).status).toBe(200);
  const refused = await ask([half(0), half(jsonNewKeysMax)]);
  expect(refused.status).toBe(400);
  expect(((await refused.json()) as { error: { message: string } }).error.message).toStartWith(
    'messages.1.tool_calls.1.function.arguments: Input should not have more than',
  );
});

test('a long conversation, a hundred tools and a body full of files are served', async () => {
  const { secret } = await turnpike.makeKey({ credit: '1000.00' });
  const turns = Array.from({ length: 2_000 }, (_, at) => [
    { role: 'user', content: [{ type: 'text', text: `line ${at}\n\t"quoted"\n`.repeat(25) }] },
    { role: 'assistant', content: [{ type: 'text', text: `answer ${at}` }] },
  ]).flat();
  const properties = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [`p${at}`, { type: 'string', enum: ['a', 'b'] }]),
  );
  const tools = Array.from({ length: 100 }, (_, at) => ({
    name: `t${at}`,
    input_schema: { type: 'object', properties },
  }));
  const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0K'.repeat(1_800_000) };
  const files = [
    {
      role: 'user',
      content: [
        { type: 'image', source },
        { type: 'image', source },
        { type: 'text', text: 'so?' },
      ],
    },
  ];
  const ask = (messages: object[], more: object = {}) =>
    turnpike.post(secret, { model: 'sandbox-echo', max_tokens: 5, messages, ...more });
  expect((await ask([...turns, { role: 'user', content: 'so?' }], { tools })).status).toBe(200);
  expect((await ask(files)).status).toBe(200);
});

test('a refused request holds nothing', async () => {
  expect(await heldBy(turnpike)).toEqual([]);
});
