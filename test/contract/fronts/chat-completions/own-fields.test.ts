// Guarantees of Chat Completions alone: fields that its clients commonly send and providers would refuse, its paths of models, and
// requests without max_tokens: a stream may be as long as the model allows, as long as the balance pays for it.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../../support/scripted-upstream.ts';
import { bodyOf, type Json, sharedWorld } from '../../post-messages/world.ts';
import { chatCompletions } from '../drivers/chat-completions.ts';
import { expectError, post, sentOf } from '../front-world.ts';

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

test('fields that these clients commonly send and the provider would refuse are adapted; a message is sent unchanged', async () => {
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  const habits = { temperature: 1.7, top_p: 1 };
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
    { role: 'user', content: 'c' },
    { role: 'system', content: 'Be brief.' },
  ];
  await post(chatCompletions, world, secret, { members: { ...habits, presence_penalty: 0.1, user: 'ann', messages } });
  const sent = sentOf(world);
  expect(sent).toMatchObject({ temperature: 1, metadata: { user_id: 'ann' } });
  expect(sent).not.toContainAnyKeys(['top_p', 'presence_penalty']);
  expect((sent['messages'] as { role: string }[]).map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'user',
    'user',
  ]);
  const own = { temperature: 0.7, top_p: 1 };
  await world.post(secret, bodyOf(own));
  expect(sentOf(world)).toMatchObject(own);
});

test('models are listed and found in every common form of the base URL', async () => {
  const { secret } = await world.makeKey();
  for (const path of ['/models', '/models/plain', '/v1/models/'])
    expect((await fetch(world.url + path, { headers: { authorization: `Bearer ${secret}` } })).status).toBe(200);
});

const { max_tokens: _, ...open } = chatCompletions.body({});
const ask = (secret: string, members: Json) =>
  post(chatCompletions, world, secret, {}, { body: JSON.stringify({ ...open, ...members }) });
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
  await expectError(chatCompletions, await ask(secret, { model: 'long' }), 'insufficient_user_quota');
});
