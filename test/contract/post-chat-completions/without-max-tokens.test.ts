// A request without max_tokens: a stream may be as long as the model allows, as long as the balance pays for it.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, type Json, sharedWorld } from '../post-messages/world.ts';
import { chatOf, expectChatError, postChat, sentOf } from './chat-world.ts';

const price = { input: '3', output: '15' };
const routes = [{ provider: 'first', model: 'upstream-model' }];
const world = await sharedWorld({
  models: {
    long: { price, routes, max_output_tokens: 64_000, max_input_tokens: 200_000 },
    short: { price, routes, max_output_tokens: 1_000 },
    chosen: { price, routes, max_output_tokens: 64_000, default_max_tokens: 500 },
  },
});
afterAll(() => world.stop());

const { max_tokens: _, ...open } = chatOf();
const ask = (secret: string, members: Json) =>
  postChat(world, secret, {}, { body: JSON.stringify({ ...open, ...members }) });
async function maxTokensOf(members: Json, credit = '10.00'): Promise<unknown> {
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey({ credit });
  const response = await ask(secret, members);
  expect(response.status).toBe(200);
  await response.text();
  return sentOf(world)['max_tokens'];
}

test('a stream may reach the model’s limit, unless the operator configured a default length', async () => {
  for (const stream of [true, false]) {
    expect(await maxTokensOf({ model: 'long', stream })).toBe(stream ? 32_000 : 4_096);
    expect(await maxTokensOf({ model: 'short', stream })).toBe(1_000);
    expect(await maxTokensOf({ model: 'chosen', stream })).toBe(500);
    expect(await maxTokensOf({ model: 'plain', stream })).toBe(4_096); // its limit is unknown
    expect(await maxTokensOf({ model: 'long', stream, max_tokens: 7 })).toBe(7);
  }
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  const { max_tokens: __, ...message } = bodyOf({ model: 'long' });
  await world.post(secret, message);
  expect(sentOf(world)).toMatchObject({ max_tokens: 4_096 });
});

test('a stream after a long prompt has the rest of the context window for output', async () => {
  const words = (count: number) => [{ role: 'user', content: 'word '.repeat(count) }];
  const left = (await maxTokensOf({ model: 'long', stream: true, messages: words(120_000) })) as number;
  expect(left).toBeWithin(4_096, 32_000);
  expect(await maxTokensOf({ model: 'long', stream: true, messages: words(300_000) })).toBe(4_096);
});

test('thinking gets its budget plus room for an answer', async () => {
  expect(await maxTokensOf({ model: 'long', reasoning: { max_tokens: 40_000 }, stream: true })).toBe(64_000);
  expect(await maxTokensOf({ model: 'plain', reasoning: { max_tokens: 10_000 } })).toBe(14_096);
});

test('a stream is served even if the balance could not pay the maximum', async () => {
  expect(await maxTokensOf({ model: 'long', stream: true }, '0.05')).toBe(32_000);
});

test('a response without streaming is held in full, with the default length', async () => {
  expect(await maxTokensOf({ model: 'long' }, '0.10')).toBe(4_096);
  const { secret } = await world.makeKey({ credit: '0.05' });
  await expectChatError(await ask(secret, { model: 'long' }), 400, 'insufficient_user_quota');
});
