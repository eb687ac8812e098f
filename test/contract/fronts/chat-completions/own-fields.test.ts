// Guarantees of Chat Completions alone: fields that its clients commonly send and providers would refuse, and its paths of models.

import { expect, test } from 'bun:test';
import { scripts } from '../../../support/scripted-upstream.ts';
import { bodyOf } from '../../post-messages/world.ts';
import { chatCompletions } from '../drivers/chat-completions.ts';
import { post, sentOf, startFronts } from '../front-world.ts';

const world = await startFronts();

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
  await world.post(secret, bodyOf(habits));
  expect(sentOf(world)).toMatchObject(habits);
});

test('models are listed and found in every common form of the base URL', async () => {
  const { secret } = await world.makeKey();
  for (const path of ['/models', '/models/plain', '/v1/models/'])
    expect((await fetch(world.url + path, { headers: { authorization: `Bearer ${secret}` } })).status).toBe(200);
});
