// Paths of the vendors that this server does not serve: each says which feature is not offered, in the format of its clients,
// and a wrong base URL which one is right.

import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NOT_OFFERED } from '../../../src/public-api/not-offered.ts';
import { OK, openFront } from './front.ts';

const front = openFront(async () => OK);
afterAll(() => front.stop(false));

type Format = 'messages' | 'openai' | 'gemini';
const MEMBERS: Readonly<Record<Format, string[]>> = {
  messages: ['error', 'request_id', 'type'],
  openai: ['error'],
  gemini: ['error'],
};
const ERROR: Readonly<Record<Format, object>> = {
  messages: { type: 'not_found_error', code: 'route_not_found' },
  openai: { type: 'not_found_error', code: 'route_not_found', param: null },
  gemini: { code: 404, status: 'NOT_FOUND' },
};

/** The message of the 404, in exactly this format. */
async function refusalOf(path: string, format: Format, init: RequestInit = {}): Promise<string> {
  const response = await fetch(front.url + path, init);
  expect({ path, status: response.status }).toEqual({ path, status: 404 });
  const body = (await response.json()) as { error: { message: string } };
  expect({ path, members: Object.keys(body).sort() }).toEqual({ path, members: MEMBERS[format] });
  expect(body.error).toMatchObject(ERROR[format]);
  return body.error.message;
}

const OPENAI = { authorization: 'Bearer sk-tp-a' };
const GOOGLE = { 'x-goog-api-key': 'sk-tp-a' };
const MESSAGES = { ...OPENAI, 'anthropic-version': '2023-06-01' };
const filled = (path: string) => path.replace('{id}', 'some_1').replace('{model}', 'models/some-1');

test.each(NOT_OFFERED.map((row) => [row.feature, row] as const))(
  '%s not offered, at each of its paths',
  async (feature, { vendor, paths, isExact = false, instead }) => {
    const senders: [Format, Record<string, string>][] =
      vendor === 'shared'
        ? [
            ['openai', OPENAI],
            ['messages', MESSAGES],
            ['messages', {}],
          ]
        : [[vendor, vendor === 'gemini' ? GOOGLE : {}]];
    for (const path of paths.map(filled))
      for (const [format, headers] of senders)
        for (const spelling of spellingsOf(path, isExact))
          for (const method of ['GET', 'POST', 'DELETE']) {
            const message = await refusalOf(spelling, format, { method, headers });
            expect(message).toStartWith(`${feature} not offered by this server`);
            expect(message).toContain(instead ?? 'it offers ');
          }
  },
);

const listed = new Set(NOT_OFFERED.flatMap(({ paths }) => paths));

/** With what is below it, with slashes, and with `/v1` left out, unless that is another path of the table, or doubled. */
function spellingsOf(path: string, isExact: boolean): string[] {
  const below = isExact || path.includes(':') ? [] : [`${path}/some_2/rest?a=b`];
  const versions = path.startsWith('/v1/') ? [path.slice('/v1'.length), `/v1${path}`] : [];
  return [path, `/${path}/`, ...below, ...versions.filter((one) => !listed.has(one))];
}

test.each<[path: string, words: string]>([
  ['/v1/agents/completions', 'Mistral’s agents are'],
  ['/v1/fim/completions', 'use /v1/completions with `suffix`'],
  ['/v1/chat/completions/chatcmpl-1/messages', 'Stored conversations are'],
  ['/v1/chat', 'Cohere’s own API is'],
  ['/tokenize', 'The own APIs of vLLM'],
  ['/v1/tokenize', 'Cohere’s own API is'],
  ['/dashboard/billing/credit_grants', 'OpenAI’s dashboard is'],
  ['/v1/engines/davinci/completions', 'Engines are'],
])('%s is refused by the closest row', async (path, words) => {
  expect(await refusalOf(path, 'openai', { method: 'POST', headers: OPENAI })).toContain(words);
});

test.each(['/v1/chat/completion', '/api/chat/rooms', '/v1/embed/text'])('%s is of no row', async (path) => {
  expect(await refusalOf(path, 'openai', { method: 'POST', headers: OPENAI })).toBe(`The path ${path} does not exist.`);
});

test.each<[path: string, format: Format, advice: string]>([
  ['/openai/v1/chat/completions', 'openai', '/v1: the client adds /chat/completions'],
  ['/v1/chat/completions/chat/completions', 'openai', '/v1: the client adds /chat/completions'],
  ['/openai/deployments/m/chat/completions', 'openai', '/v1: the client adds /chat/completions'],
  ['/api/responses', 'openai', '/v1: the client adds /responses'],
  ['/v2/embeddings', 'openai', '/v1: the client adds /embeddings'],
  ['/anthropic/v1/messages', 'messages', 'without a path: the client adds /v1/messages'],
  ['/v1/messages/v1/messages', 'messages', 'without a path: the client adds /v1/messages'],
  ['/anthropic/v1/messages/count_tokens', 'messages', 'without a path: the client adds /v1/messages'],
  ['/gemini/models/m:generateContent', 'gemini', 'without a path: the client adds /v1beta/models'],
  ['/api/chat/completions', 'openai', '/v1: the client adds /chat/completions'],
  ['/v1/chat/completions/v1/embeddings', 'openai', '/v1: the client adds /embeddings'],
  ['/v1/chat/completions/responses', 'openai', '/v1: the client adds /responses'],
  ['/v1/responses/v1/responses', 'openai', '/v1: the client adds /responses'],
  ['/v1/chat/completions/models', 'openai', 'the list is at /v1/models'],
  ['/v1/responses/models', 'openai', 'the list is at /v1/models'],
  ['/v1/messages/v1/models', 'openai', 'the list is at /v1/models'],
  ['/api/v1/models', 'openai', 'the list is at /v1/models'],
  ['/api/models', 'openai', 'the list is at /v1/models'],
  ['/openai/v1/models/some-1', 'openai', 'the list is at /v1/models'],
  ['/gemini/v1beta/models', 'gemini', 'without a path: the client adds /v1beta/models'],
  ['/v1', 'messages', 'This is a base URL'],
])('%s is a wrong base URL, and the error says which is right', async (path, format, advice) => {
  const headers = format === 'openai' ? OPENAI : {};
  for (const method of ['GET', 'POST']) expect(await refusalOf(path, format, { method, headers })).toContain(advice);
});

test('any other path is refused in the format of the client that sent it', async () => {
  const sent: [Format, Record<string, string>][] = [
    ['openai', OPENAI],
    ['gemini', GOOGLE],
    ['messages', MESSAGES],
    ['messages', { 'x-api-key': 'sk-tp-a' }],
  ];
  for (const [format, headers] of sent)
    expect(await refusalOf('/v1/nothing', format, { headers })).toBe('The path /v1/nothing does not exist.');
});

test('docs/clients.md lists what is not offered', () => {
  const page = readFileSync(join(import.meta.dir, '..', '..', '..', 'docs', 'clients.md'), 'utf8');
  const [, section = ''] = page.split('\n## What is not offered\n');
  const rows = [...section.matchAll(/^\| (.+) \| (`.+`) \|$/gm)].map(([, feature, paths = '']) => ({
    feature,
    paths: paths.split(', ').map((path) => path.slice(1, -1)),
  }));
  const expected = NOT_OFFERED.map(({ feature, paths }) => ({ feature: feature.replace(/ (?:is|are)$/, ''), paths }));
  expect(rows).toEqual(expected as typeof rows);
});
