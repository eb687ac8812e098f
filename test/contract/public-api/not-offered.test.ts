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
  async (feature, { vendor, paths, instead }) => {
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
        for (const spelling of spellingsOf(path))
          for (const method of ['GET', 'POST', 'DELETE']) {
            const message = await refusalOf(spelling, format, { method, headers });
            expect(message).toStartWith(`${feature} not offered by this server`);
            expect(message).toContain(instead ?? 'it offers ');
          }
  },
);

/** With what is below it, with slashes, and with `/v1` left out or doubled. */
function spellingsOf(path: string): string[] {
  const below = path.includes(':') ? [] : [`${path}/some_2/rest?a=b`];
  const versions = path.startsWith('/v1/') ? [path.slice('/v1'.length), `/v1${path}`] : [];
  return [path, `/${path}/`, ...below, ...versions];
}

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
  ['/v1', 'messages', 'This is a base URL'],
])('%s is a wrong base URL, and the error says which is right', async (path, format, advice) => {
  expect(await refusalOf(path, format, { method: 'POST' })).toContain(advice);
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
  const listed = NOT_OFFERED.map(({ feature, paths }) => ({ feature: feature.replace(/ (?:is|are)$/, ''), paths }));
  expect(rows).toEqual(listed as typeof rows);
});
