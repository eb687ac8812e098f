// Data residency: no request of a group leaves the providers within its residency, whatever is asked and whatever fails.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, type Json, startWorld } from '../post-messages/world.ts';

const world = await startWorld({
  groups: { default: { models: ['*'] }, europe: { models: ['*'], residency: ['eu'] } },
});
afterAll(() => world.stop());
const european = await world.makeKey({ groups: ['europe'] });
const anyone = await world.makeKey();

const price = { input: '3', output: '15' };
const [home, abroad] = [world.upstream, world.second];
const place = (base_url: string, residency: string[] | null, more: Json = {}) => ({
  kind: 'anthropic',
  base_url,
  private_network: true,
  api_key: 'sk-shared',
  ...(residency !== null && { residency }),
  ...more,
});
const own = { credentials: { own: { api_key: 'sk-own', account: european.account } } };
const embeds = { serves: 'embeddings', price: { input: '0.02' } };
await world.admin('POST', '/apply', {
  document: {
    providers: {
      eu: place(home.url, ['eu']),
      us: place(abroad.url, ['us'], own),
      world: place(abroad.url, ['eu', 'us']),
      unstated: place(abroad.url, null),
      vectors: { ...place(abroad.url, ['us']), kind: 'openai' },
    },
    models: {
      // The provider abroad has the better priority, and a credential of the account.
      mixed: {
        price,
        routes: [
          { provider: 'us', model: 'm' },
          { provider: 'world', model: 'm' },
          { provider: 'eu', model: 'm', priority: 1 },
          { provider: 'unstated', model: 'm', priority: 2 },
        ],
      },
      abroad: {
        price,
        routes: [
          { provider: 'us', model: 'm' },
          { provider: 'unstated', model: 'm' },
        ],
      },
      vectors: { ...embeds, routes: [{ provider: 'vectors', model: 'v' }] },
    },
  },
});

beforeEach(() => {
  for (const upstream of [home, abroad]) {
    upstream.requests.length = 0;
    upstream.play(scripts.good());
  }
});

const asked = () => [home.requests.length, abroad.requests.length];
const ask = (secret: string, members: Json = {}, headers: Record<string, string> = {}) =>
  world.post(secret, bodyOf({ model: 'mixed', ...members }), { headers });
const send = (path: string, secret: string, body: Json) =>
  fetch(`${world.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': secret },
    body: JSON.stringify(body),
  });

test('messages go to a provider within the residency, whatever the priorities and credentials', async () => {
  for (const stream of [false, true]) expect((await ask(european.secret, { stream })).status).toBe(200);
  expect(asked()).toEqual([2, 0]);
  expect((await ask(anyone.secret)).status).toBe(200);
  expect(asked()).toEqual([2, 1]);
});

test('failover and a retry with an idempotency key stay within the residency', async () => {
  home.play(scripts.error(400, 'invalid_request_error', 'no'));
  const headers = { 'idempotency-key': 'one' };
  await expectError(await ask(european.secret, {}, headers), 400, 'invalid_request_error', 'upstream_rejected');
  home.play(scripts.error(500, 'api_error', 'down'));
  await expectError(await ask(european.secret, {}, headers), 502, 'api_error', 'upstream_failed');
  home.play(scripts.good());
  expect((await ask(european.secret, {}, headers)).status).toBe(200);
  expect((await ask(european.secret, {}, headers)).headers.get('idempotency-replayed')).toBe('true');
  expect(asked()).toEqual([3, 0]);
});

test('tokens are counted within the residency, and estimated if that fails', async () => {
  home.play(scripts.json('{"input_tokens":77}'));
  const count = async () =>
    (await (await send('/v1/messages/count_tokens', european.secret, bodyOf({ model: 'mixed' }))).json()) as Json;
  expect(await count()).toEqual({ input_tokens: 77 });
  home.play(scripts.error(500, 'api_error', 'down'));
  expect((await count())['input_tokens']).toBeNumber();
  expect(asked()).toEqual([2, 0]);
});

test('a model without a route within the residency is not listed, and unknown for every use', async () => {
  const namesFor = async (secret: string) => {
    const answer = await fetch(`${world.url}/v1/models`, { headers: { 'x-api-key': secret } });
    const { data } = (await answer.json()) as { data: { id: string }[] };
    return ['abroad', 'mixed'].filter((name) => data.some(({ id }) => id === name));
  };
  expect(await namesFor(european.secret)).toEqual(['mixed']);
  expect(await namesFor(anyone.secret)).toEqual(['abroad', 'mixed']);
  const unknown = [400, 'not_found_error', 'model_not_found'] as const;
  await expectError(await ask(european.secret, { model: 'abroad' }), ...unknown);
  await expectError(await send('/v1/messages/count_tokens', european.secret, bodyOf({ model: 'abroad' })), ...unknown);
  const embedding = await send('/v1/embeddings', european.secret, { model: 'vectors', input: 'a text' });
  expect(((await embedding.json()) as { error: { code: string } }).error.code).toBe('model_not_found');
  expect(asked()).toEqual([0, 0]);
});

test('operators see residency, and in which groups a model is sold', async () => {
  expect(await world.admin('GET', '/providers/world')).toMatchObject({ residency: ['eu', 'us'] });
  expect(await world.admin('GET', '/providers/unstated')).toMatchObject({ residency: null });
  const { data: groups } = (await world.admin('GET', '/groups')) as { data: Json[] };
  const residencyOf = (group: string) => groups.find(({ name }) => name === group)?.['residency'];
  expect([residencyOf('default'), residencyOf('europe')]).toEqual([null, ['eu']]);
  const { data: models } = (await world.admin('GET', '/models')) as { data: Json[] };
  const groupsOf = (name: string) => models.find((model) => model['name'] === name)?.['groups'];
  expect([groupsOf('mixed'), groupsOf('abroad')]).toEqual([['default', 'europe'], ['default']]);
});
