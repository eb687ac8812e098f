// A conversation stays with its target while that works, so that provider caches and signatures remain useful; many
// conversations are distributed by weight.

import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { type Script, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, type Json, startOwnWorld } from '../post-messages/world.ts';

const world = await startOwnWorld('it reads the measurements of every provider');
afterAll(() => world.stop());
const { secret } = await world.makeKey();
const price = { input: '3', output: '15' };
const providers = Object.fromEntries(
  [world.upstream, world.second].map(({ url }, place) => [
    `equal-${place}`,
    {
      kind: 'anthropic',
      base_url: url,
      private_network: true,
      credentials: { a: { api_key: `a-${place}` }, b: { api_key: `b-${place}` } },
    },
  ]),
);
await world.admin('POST', '/apply', {
  document: {
    providers,
    models: {
      twins: { price, routes: [0, 1].map((place) => ({ provider: `equal-${place}`, model: 'm' })) },
      quick: { price, prefer: 'latency', routes: [0, 1].map((place) => ({ provider: `equal-${place}`, model: 'q' })) },
      uneven: {
        price,
        routes: [0, 1].map((place) => ({ provider: `equal-${place}`, model: 'u', weight: place === 0 ? 3 : 1 })),
      },
    },
  },
});

beforeEach(() => {
  for (const upstream of [world.upstream, world.second]) {
    upstream.requests.length = 0;
    upstream.play(scripts.good());
  }
});

/** Sends the message, and returns the credential that a provider received for it. */
async function credentialOf(members: Json): Promise<string> {
  const before = [world.upstream, world.second].map(({ requests }) => requests.length);
  expect((await world.post(secret, bodyOf({ model: 'twins', ...members }))).status).toBe(200);
  const all = [world.upstream, world.second].flatMap(({ requests }, place) => requests.slice(before[place]));
  return all.map(({ headers }) => headers['x-api-key']).join(' ');
}

function turn(words: string, number: number, more: Json = {}): Json {
  const messages = [{ role: 'user', content: words }];
  for (let round = 1; round < number; round++)
    messages.push({ role: 'assistant', content: `answer ${round}` }, { role: 'user', content: `and ${round}?` });
  return { messages, ...more };
}

const MANY = 200; // with four targets, one is left out once in 10^25 runs

test('every turn of a conversation uses the target of the first, and every target is used by some conversation', async () => {
  const used = new Set<string>();
  for (let conversation = 0; conversation < 4 || (used.size < 4 && conversation < MANY); conversation++) {
    const first = await credentialOf(turn(`conversation ${conversation}`, 1));
    used.add(first);
    for (const number of [2, 3]) expect(await credentialOf(turn(`conversation ${conversation}`, number))).toBe(first);
  }
  expect(used).toEqual(new Set(['a-0', 'b-0', 'a-1', 'b-1']));
});

test('a session named by the request uses one target from its first turn, whatever its text', async () => {
  const used = new Set<string>();
  for (let session = 0; session < 4 || (used.size < 4 && session < MANY); session++) {
    const user_id = JSON.stringify({ device_id: 'd', account_uuid: '', session_id: `session-${session}` });
    const first = await credentialOf(turn('one', 1, { metadata: { user_id } }));
    used.add(first);
    expect(await credentialOf(turn('other words', 1, { metadata: { user_id } }))).toBe(first);
    expect(await credentialOf(turn('one', 2, { metadata: { user_id } }))).toBe(first);
  }
  expect(used).toEqual(new Set(['a-0', 'b-0', 'a-1', 'b-1']));
});

test('a conversation whose target fails moves to another and stays there', async () => {
  const more = { metadata: { user_id: 'moves' } };
  const first = await credentialOf(turn('x', 1, more));
  const broken = first.endsWith('-0') ? world.upstream : world.second;
  broken.play(scripts.overloaded());
  const tried = (await credentialOf(turn('x', 2, more))).split(' ');
  broken.play(scripts.good());
  const moved = tried.find((way) => way.at(-1) !== first.at(-1));
  for (const number of [3, 4]) expect(await credentialOf(turn('x', number, more))).toBe(moved as string);
});

test('first turns with the same text are distributed by weight', async () => {
  for (let time = 0; time < 120; time++)
    expect((await world.post(secret, bodyOf({ model: 'uneven' }))).status).toBe(200);
  const [heavy, light] = [world.upstream.requests.length, world.second.requests.length];
  expect(heavy + light).toBe(120);
  expect(heavy).toBeGreaterThan(70); // 90 are expected; 71 is four standard deviations below
  expect(light).toBeGreaterThan(10);
});

test('streams of a model that prefers latency are measured, and other messages are not', async () => {
  const measured = async () => {
    const { data } = (await world.admin('GET', '/providers')) as { data: { routes: Json[] }[] };
    const routes = data.flatMap((provider) => provider.routes);
    return routes.filter((route) => route['first_token_ms'] !== null).map(({ model }) => model);
  };
  for (const members of [{ model: 'quick' }, { model: 'twins', stream: true }]) {
    const response = await world.post(secret, bodyOf(members));
    expect(response.status).toBe(200);
    await response.text();
  }
  expect(await measured()).toEqual([]);
  for (let time = 0; time < 4; time++)
    await (await world.post(secret, bodyOf({ model: 'quick', stream: true }))).text();
  const models = await measured();
  expect(models.length).toBeGreaterThan(0);
  expect(new Set(models)).toEqual(new Set(['q']));
});

describe('thinking that must not be lost', () => {
  const bound = (block_binding: Json | null) => ({
    model: 'twins',
    metadata: { user_id: 'bound' },
    thinking: { type: 'adaptive', block_binding },
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: '', signature: 'c2ln' },
          { type: 'text', text: 'Yes?' },
        ],
      },
      { role: 'user', content: 'Go on' },
    ],
  });

  /** Sends the turn while the conversation's own credential fails; returns the credentials that were used. */
  async function credentialsWhile(
    members: Json,
    own: string,
    failing = scripts.error(529, 'overloaded_error', 'Overloaded'),
  ): Promise<{ status: number; used: string[] }> {
    for (const upstream of [world.upstream, world.second]) {
      upstream.requests.length = 0;
      upstream.play((answer, request) =>
        (request.headers['x-api-key'] === own ? failing : scripts.good())(answer, request),
      );
    }
    const response = await world.post(secret, bodyOf(members));
    const used = [world.upstream, world.second].flatMap(({ requests }) =>
      requests.map(({ headers }) => headers['x-api-key'] ?? ''),
    );
    return { status: response.status, used };
  }

  test('is sent to its own target only, and nowhere if that does not answer', async () => {
    const own = await credentialOf(bound(null));
    for (const binding of [{}, { prefix_mismatch_behavior: 'error' }, { prefix_mismatch_behavior: null }])
      expect(await credentialsWhile(bound(binding), own)).toEqual({ status: 529, used: [own] });
    // Other credentials of the provider would be tried for any other message.
    const body = JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'Too many requests' } });
    const limited: Script = (answer) =>
      answer.send(429, { 'content-type': 'application/json', 'retry-after': '1' }, body);
    expect((await credentialsWhile(bound({}), own, limited)).used).toEqual([own]);
    // It is resting now, and the others come first for any other message.
    const { used } = await credentialsWhile(bound({}), own, limited);
    expect(used.filter((credential) => credential !== own)).toEqual([]);
  });

  test('may be lost if the client says so, says nothing, or sends none', async () => {
    const own = await credentialOf(bound(null));
    const [user] = bound(null).messages;
    for (const members of [
      bound({ prefix_mismatch_behavior: 'drop_block' }),
      bound(null),
      { ...bound({}), messages: [user] },
    ]) {
      const { status, used } = await credentialsWhile(members, own);
      expect(status).toBe(200);
      expect(used.some((credential) => credential !== own)).toBe(true);
    }
  });
});
