// A conversation stays with its route and credential while that is well, so that what its provider has cached of it and
// the signatures that it gave out are of use; many conversations part themselves by weight.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { bodyOf, type Json, startWorld } from '../post-messages/world.ts';
import { scripts } from '../support/scripted-upstream.ts';

const world = await startWorld();
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

/** Sends it, and gives the credential that some provider was shown for it. */
async function wayOf(members: Json): Promise<string> {
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

test('every turn of a conversation takes the way of the first, and all ways are taken by some', async () => {
  const ways = new Set<string>();
  for (let conversation = 0; conversation < 24; conversation++) {
    const first = await wayOf(turn(`conversation ${conversation}`, 1));
    ways.add(first);
    for (const number of [2, 3]) expect(await wayOf(turn(`conversation ${conversation}`, number))).toBe(first);
  }
  expect(ways).toEqual(new Set(['a-0', 'b-0', 'a-1', 'b-1']));
});

test('a session that the request names takes one way from its first turn on, whatever its words', async () => {
  const ways = new Set<string>();
  for (let session = 0; session < 24; session++) {
    const user_id = JSON.stringify({ device_id: 'd', account_uuid: '', session_id: `session-${session}` });
    const first = await wayOf(turn('one', 1, { metadata: { user_id } }));
    ways.add(first);
    expect(await wayOf(turn('other words', 1, { metadata: { user_id } }))).toBe(first);
    expect(await wayOf(turn('one', 2, { metadata: { user_id } }))).toBe(first);
  }
  expect(ways).toEqual(new Set(['a-0', 'b-0', 'a-1', 'b-1']));
});

test('one whose way fails moves on, and stays where it is then', async () => {
  const more = { metadata: { user_id: 'moves' } };
  const first = await wayOf(turn('x', 1, more));
  const broken = first.endsWith('-0') ? world.upstream : world.second;
  broken.play(scripts.overloaded());
  const tried = (await wayOf(turn('x', 2, more))).split(' ');
  broken.play(scripts.good());
  const moved = tried.find((way) => way.at(-1) !== first.at(-1));
  for (const number of [3, 4]) expect(await wayOf(turn('x', number, more))).toBe(moved as string);
});

test('first turns of the same words part themselves by weight', async () => {
  for (let time = 0; time < 120; time++)
    expect((await world.post(secret, bodyOf({ model: 'uneven' }))).status).toBe(200);
  const [heavy, light] = [world.upstream.requests.length, world.second.requests.length];
  expect(heavy + light).toBe(120);
  expect(heavy).toBeGreaterThan(70); // 90 are expected; 19 fewer are four times the usual scatter
  expect(light).toBeGreaterThan(10);
});
