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
  expect(await page('?lifecycle[]=active&unknown=1')).toEqual({ ids: all, hasMore: false });
});

test('an official client that reads all pages sees each model once', async () => {
  const { secret } = await world.makeKey();
  const client = new Anthropic({ apiKey: secret, baseURL: world.url });
  const seen: string[] = [];
  for await (const { id } of client.models.list({ limit: 2 })) seen.push(id);
  expect(seen.toSorted()).toEqual(await idsOf(await get('', secret)));
});

test.each([
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
