// GET /v1/models and /v1/models/{id}: the models that the key may use, and nothing about others.

import { afterAll, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { expectError, expectHeadersOfAll, type Json, startWorld } from './world.ts';

const price = { input: '3', output: '15' };
const routes = [{ provider: 'first' }];
const world = await startWorld({
  models: {
    'claude-a': { price, routes, aliases: ['best'], display_name: 'Claude A', max_output_tokens: 64_000 },
    'vendor/claude-b:1': { price, routes, max_input_tokens: 200_000 },
  },
  groups: { named: { models: ['claude-*', 'vendor/*'] } },
});
afterAll(() => world.stop());

const get = (path: string, secret: string) =>
  fetch(`${world.url}/v1/models${path}`, { headers: { 'x-api-key': secret } });
const idsOf = async (response: Response) =>
  ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id).sort();

test('the list has the models in the key’s scope, on one page, in the formats of both kinds of client', async () => {
  const caller = await world.makeKey({ groups: ['named'] });
  const response = await get('', caller.secret);
  expectHeadersOfAll(response);
  const list = (await response.json()) as Json & { data: Json[] };
  expect(list).toMatchObject({
    object: 'list',
    has_more: false,
    first_id: list.data[0]?.['id'],
    last_id: list.data[1]?.['id'],
  });
  expect(list.data.find(({ id }) => id === 'claude-a')).toMatchObject({
    type: 'model',
    object: 'model',
    display_name: 'Claude A',
    max_tokens: 64_000,
    max_input_tokens: null,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  });
  expect(list.data).toHaveLength(2);
});

test('the key’s own patterns narrow the list, and a key without models gets an empty list', async () => {
  const narrow = await world.makeKey({ groups: ['named', 'default'] }, { models: ['claude-*', 'plain'] });
  expect(await idsOf(await get('?limit=1000', narrow.secret))).toEqual(['claude-a', 'plain']);
  const none = await world.makeKey({}, { models: ['none'] });
  expect(await (await get('', none.secret)).json()).toMatchObject({ data: [], first_id: null, last_id: null });
});

test('with a limit the list is paged, forward and backward', async () => {
  const { secret } = await world.makeKey();
  const page = async (query: string) => {
    const list = (await (await get(query, secret)).json()) as Json & { data: { id: string }[] };
    const ids = list.data.map(({ id }) => id);
    expect([list['first_id'], list['last_id']]).toEqual([ids[0] ?? null, ids.at(-1) ?? null]);
    return { ids, hasMore: list['has_more'] };
  };
  const { ids: all, hasMore } = await page('');
  expect(hasMore).toBe(false);
  expect(all.length).toBeGreaterThan(4);
  const last = all.length - 1;
  expect(await page(`?limit=${all.length}`)).toEqual({ ids: all, hasMore: false });
  expect(await page('?limit=2')).toEqual({ ids: all.slice(0, 2), hasMore: true });
  expect(await page(`?limit=2&after_id=${encodeURIComponent(all[1] as string)}`)).toEqual({
    ids: all.slice(2, 4),
    hasMore: true,
  });
  expect(await page(`?after_id=${all[last - 1]}`)).toEqual({ ids: all.slice(last), hasMore: false });
  expect(await page(`?after_id=${all[last]}&limit=1`)).toEqual({ ids: [], hasMore: false });
  expect(await page(`?limit=2&before_id=${all[3]}`)).toEqual({ ids: all.slice(1, 3), hasMore: true });
  expect(await page(`?limit=3&before_id=${all[3]}`)).toEqual({ ids: all.slice(0, 3), hasMore: false });
  expect(await page('?unknown=1')).toEqual({ ids: all, hasMore: false });
});

test('an official client that reads all pages sees each model once', async () => {
  const { secret } = await world.makeKey();
  const client = new Anthropic({ apiKey: secret, baseURL: world.url });
  const seen: string[] = [];
  for await (const { id } of client.models.list({ limit: 2 })) seen.push(id);
  expect(seen.toSorted()).toEqual(await idsOf(await get('', secret)));
});

test.each([
  ['lifecycle: ', '?lifecycle=living'],
  ['lifecycle: ', '?lifecycle[]=active&lifecycle[]='],
  ['limit: ', '?limit=0'],
  ['limit: ', '?limit=1001'],
  ['limit: ', '?limit=many'],
  ['limit: ', '?limit='],
  ['limit: ', '?limit=1.5'],
  ['after_id: ', '?after_id=none'],
  ['after_id: ', '?after_id=plain'],
  ['before_id: ', '?before_id=none'],
  ['before_id: ', '?after_id=claude-a&before_id=claude-a'],
])('%s… is the error for %s', async (start, query) => {
  const { secret } = await world.makeKey({ groups: ['named'] });
  const message = await expectError(await get(query, secret), 400, 'invalid_request_error', 'invalid_request');
  expect(message).toStartWith(start);
});

test('a model is found by its name, however it is encoded in the path, and by its alias', async () => {
  const { secret } = await world.makeKey();
  for (const path of ['/claude-a', '/best', '/claude%2Da', '/claude-a/'])
    expect(await (await get(path, secret)).json()).toMatchObject({ id: 'claude-a' });
  for (const path of ['/vendor/claude-b:1', '/vendor%2Fclaude-b%3A1'])
    expect(await (await get(path, secret)).json()).toMatchObject({
      id: 'vendor/claude-b:1',
      max_input_tokens: 200_000,
    });
});

test('an unknown model and one out of scope are 404, with the same text', async () => {
  const { secret } = await world.makeKey({ groups: ['named'] });
  for (const id of ['none', 'plain', '%E0%A4%A']) {
    const response = await get(`/${id}`, secret);
    const message = await expectError(response, 404, 'not_found_error', 'model_not_found');
    expect(message.replace(id, '…')).toBe('model: …: the model does not exist, or this key does not have access to it');
  }
});

test('the list and the single model require a key', async () => {
  for (const path of ['', '/claude-a']) {
    await expectError(await fetch(`${world.url}/v1/models${path}`), 401, 'authentication_error', 'key_missing');
    await expectError(await get(path, 'sk-tp-wrong'), 401, 'authentication_error', 'key_invalid');
  }
});

test('models have a lifecycle, by which the list is filtered: one that its vendor will retire is deprecated', async () => {
  const { secret } = await world.makeKey({}, { models: ['claude-a', 'old', 'older-*'] });
  const old = { price, routes: [{ provider: 'first', model: 'claude-sonnet-4-5-20250929' }] };
  await world.admin('POST', '/apply', { document: { models: { old } } });
  expect(await (await get('/old', secret)).json()).toMatchObject({
    lifecycle: 'deprecated',
    retires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00Z$/),
    deprecated_at: null,
  });
  expect(await (await get('/claude-a', secret)).json()).toMatchObject({ lifecycle: 'active', retires_at: null });
  for (const [query, ids] of [
    ['', ['claude-a', 'old']],
    ['?lifecycle=active', ['claude-a']],
    ['?lifecycle[]=deprecated&lifecycle[]=retired', ['old']],
    ['?lifecycle=active,deprecated&limit=9', ['claude-a', 'old']],
    ['?lifecycle=retired', []],
  ] as const)
    expect(await idsOf(await get(query, secret))).toEqual([...ids]);
  const client = new Anthropic({ apiKey: secret, baseURL: world.url });
  const { data } = await client.models.list({ lifecycle: ['deprecated'] });
  expect(data.map(({ id }) => id)).toEqual(['old']);
});

test('models have the capabilities that all of their routes have, or null if one does not tell', async () => {
  const { secret } = await world.makeKey({}, { models: ['capable-*'] });
  const claude = (model: string) => ({ provider: 'first', model });
  const web_search_per_thousand = '10';
  await world.admin('POST', '/apply', {
    document: {
      providers: { responses: { kind: 'openai-responses', base_url: 'http://127.0.0.1:1', private_network: true } },
      models: {
        'capable-sonnet': { price: { ...price, web_search_per_thousand }, routes: [claude('claude-sonnet-5-5')] },
        'capable-old': { price: { ...price, web_search_per_thousand }, routes: [claude('claude-3-5-haiku-20241022')] },
        'capable-both': { price, routes: [claude('claude-opus-5'), { provider: 'responses', model: 'gpt-5.5' }] },
        'capable-unknown': { price, routes: [claude('claude-opus-5'), claude('upstream-model')] },
      },
    },
  });
  const capabilitiesOf = async (name: string) =>
    ((await (await get(`/capable-${name}`, secret)).json()) as Json)['capabilities'] as Json | null;
  const [yes, no] = [{ supported: true }, { supported: false }];
  expect(await capabilitiesOf('sonnet')).toEqual({
    batch: no,
    citations: yes,
    code_execution: no,
    context_management: {
      supported: true,
      clear_tool_uses_20250919: yes,
      clear_thinking_20251015: yes,
      compact_20260112: yes,
    },
    effort: { supported: true, low: yes, medium: yes, high: yes, xhigh: yes, max: yes },
    image_input: yes,
    pdf_input: yes,
    server_tools: { supported: true, web_search: yes, code_execution: no },
    structured_outputs: yes,
    thinking: { supported: true, types: { enabled: no, adaptive: yes, disabled: no, between_tools: yes } },
  });
  expect(await capabilitiesOf('old')).toMatchObject({
    structured_outputs: no,
    effort: { supported: false, low: no },
    context_management: { supported: false, compact_20260112: no },
    thinking: { supported: false, types: { enabled: no, adaptive: no, disabled: yes, between_tools: no } },
  });
  expect(await capabilitiesOf('both')).toMatchObject({
    citations: no,
    image_input: yes,
    effort: { supported: true, xhigh: yes, max: no },
    server_tools: { supported: false, web_search: no },
    thinking: { supported: true, types: { enabled: yes, adaptive: yes, disabled: yes, between_tools: no } },
  });
  expect(await capabilitiesOf('unknown')).toBeNull();
});
