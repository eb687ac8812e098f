// Objects stored at a provider belong to the installation's account there, not to the client.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, type Json, sharedWorld } from './world.ts';

const world = await sharedWorld();
beforeEach(() => world.reset());
afterAll(() => world.stop());

const file = { type: 'document', source: { type: 'file', file_id: 'file_1' } };
const withBlock = (block: Json) =>
  bodyOf({ messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, block] }] });

test.each<[string, Json]>([
  ['messages.0.content.1.source.file_id', withBlock(file)],
  ['messages.0.content.1.source.file_id', withBlock({ type: 'image', source: { type: 'file', file_id: 'file_1' } })],
  [
    'messages.0.content.1.content.0.source.file_id',
    withBlock({ type: 'tool_result', tool_use_id: 'toolu_1', content: [file] }),
  ],
  ['messages.0.content.1.file_id', withBlock({ type: 'container_upload', file_id: 'file_1' })],
  ['container', bodyOf({ container: 'container_1' })],
  ['container', bodyOf({ container: { skills: [{ type: 'custom', skill_id: 'skill_1' }] } })],
  ['skills', bodyOf({ skills: [{ skill_id: 'skill_1' }] })],
  ['previous_message_id', bodyOf({ previous_message_id: 'msg_1' })],
])('%s is refused, for a message and for a token count', async (path, body) => {
  const caller = await world.makeKey();
  for (const suffix of ['', '/count_tokens']) {
    const response = await fetch(`${world.url}/v1/messages${suffix}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': caller.secret },
      body: JSON.stringify(body),
    });
    const message = await expectError(response, 400, 'invalid_request_error', 'feature_unavailable');
    expect(message).toStartWith(`${path}: `);
  }
  expect(world.upstream.requests).toHaveLength(0);
  await expectNoTrace(world, caller);
});

test.each(['anthropic-workspace-id', 'vendor-user-profile-id'])(
  '%s is refused: it selects an object of the installation’s account',
  async (name) => {
    const caller = await world.makeKey();
    for (const path of ['messages', 'messages/count_tokens', 'chat/completions']) {
      const response = await fetch(`${world.url}/v1/${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-api-key': caller.secret,
          [name.replace(/-.*/, '-version')]: '2023-06-01',
          [name]: 'object_1',
        },
        body: JSON.stringify(bodyOf()),
      });
      expect(response.status).toBe(400);
      const { error } = (await response.json()) as { error: Json };
      expect(error).toMatchObject({ code: 'feature_unavailable', message: expect.stringContaining(`${name}: `) });
    }
    expect(world.upstream.requests).toHaveLength(0);
    await expectNoTrace(world, caller);
  },
);

test('an empty container is accepted', async () => {
  const caller = await world.makeKey();
  for (const skills of [null, []])
    expect((await world.post(caller.secret, bodyOf({ container: { id: null, skills } }))).status).toBe(200);
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('an advisor tool that nobody demands is not sent to the provider, and one that is demanded is refused', async () => {
  const caller = await world.makeKey();
  world.upstream.play(scripts.good());
  const tools = [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5-5' }];
  const demanded = bodyOf({ tools, tool_choice: { type: 'tool', name: 'advisor' } });
  const refused = await world.post(caller.secret, demanded);
  expect(await expectError(refused, 400, 'invalid_request_error', 'feature_unavailable')).toStartWith(
    'advisor_20260301',
  );
  expect(world.upstream.requests).toHaveLength(0);
  const response = await world.post(caller.secret, bodyOf({ tools, tool_choice: { type: 'auto' } }));
  expect(response.status).toBe(200);
  expect(world.upstream.requests.at(-1)?.body).not.toContain('advisor');
  await response.text();
  await expectMoney(world, caller, [GOOD]);
});
