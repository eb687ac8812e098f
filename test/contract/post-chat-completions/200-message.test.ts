// 200: a message in the Chat Completions format. The request to the provider, the response to the client, and the
// cost are those of the same message.

import { afterAll, expect, test } from 'bun:test';
import { scripts, upstreamMessage } from '../../support/scripted-upstream.ts';
import { bodyOf, expectMoney, GOOD, sharedWorld } from '../post-messages/world.ts';
import { chatOf, postChat, sentOf } from './chat-world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

test('the provider gets a message, and the client gets its response', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const response = await postChat(world, caller.secret, {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Good morning!' },
    ],
    user: 'ann',
  });
  expect(response.headers.get('x-request-id')).toMatch(/^req_\w+$/);
  expect(await response.json()).toEqual({
    id: 'chatcmpl-upstream',
    object: 'chat.completion',
    created: expect.any(Number),
    model: 'upstream-model',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello there, world!', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: 25,
      completion_tokens: 12,
      total_tokens: 37,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    },
    system_fingerprint: null,
  });
  expect(world.upstream.requests.at(-1)?.path).toBe('/v1/messages');
  expect(sentOf(world)).toEqual({
    model: 'upstream-model',
    max_tokens: 64,
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Good morning!' }] }],
    metadata: { user_id: 'ann' },
  });
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed', stream: false }]);
});

test('fields that these clients commonly send and the provider would refuse are adapted; a message is sent unchanged', async () => {
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  const habits = { temperature: 1.7, top_p: 1 };
  await postChat(world, secret, {
    ...habits,
    presence_penalty: 0.1,
    messages: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
      { role: 'system', content: 'Be brief.' },
    ],
  });
  const sent = sentOf(world);
  expect(sent).toMatchObject({ temperature: 1 });
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

test('a request costs the same as the equivalent message, streamed or not', async () => {
  const usage = { input_tokens: 25, cache_creation_input_tokens: 7, cache_read_input_tokens: 300, output_tokens: 12 };
  world.upstream.play(scripts.good({ usage, finalUsage: { output_tokens: 12 } }));
  const caller = await world.makeKey({}, { models: ['plain'] });
  for (const stream of [false, true]) {
    await (await world.post(caller.secret, bodyOf({ stream }))).text();
    await (await postChat(world, caller.secret, { stream })).text();
  }
  const records = await expectMoney(world, caller, Array(4).fill({ outcome: 'completed', usage_source: 'reported' }));
  const counted = records.map(({ cost, input_tokens, output_tokens, cache_read_tokens, model }) => ({
    cost,
    input_tokens,
    output_tokens,
    cache_read_tokens,
    model,
  }));
  expect(counted).toEqual(Array(4).fill(counted[0]));
  expect(counted[0]).not.toMatchObject({ cost: '0' });
});

test('without max_tokens the model’s default applies', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const { max_tokens: _, ...request } = chatOf();
  await postChat(world, caller.secret, {}, { body: JSON.stringify(request) });
  expect(sentOf(world)).toMatchObject({ max_tokens: 4096 });
});

test('every common form of the base URL works, with the key in either header', async () => {
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  for (const path of ['/v1/chat/completions', '/chat/completions', '/v1/v1/chat/completions/', '//chat//completions'])
    for (const key of [{ authorization: `Bearer ${secret}` }, { 'x-api-key': secret }]) {
      const headers = { 'content-type': 'application/json', ...key };
      const response = await fetch(world.url + path, { method: 'POST', headers, body: JSON.stringify(chatOf()) });
      expect(await response.json()).toMatchObject({ object: 'chat.completion' });
    }
  for (const path of ['/models', '/models/plain', '/v1/models/'])
    expect((await fetch(world.url + path, { headers: { authorization: `Bearer ${secret}` } })).status).toBe(200);
});

test('a request with an idempotency-key is answered and charged once, and retries get the same response', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  for (const stream of [false, true]) {
    const post = (members = {}) =>
      postChat(world, caller.secret, { stream, ...members }, { headers: { 'idempotency-key': `order-${stream}` } });
    const first = await post();
    const withoutTime = (text: string) => text.replaceAll(/"created":\d+/g, '');
    const answer = withoutTime(await first.text());
    const again = await post();
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(withoutTime(await again.text())).toBe(answer);
    const other = await post({ max_tokens: 63 });
    expect(other.status).toBe(422);
    expect(await other.json()).toMatchObject({ error: { code: 'idempotency_mismatch' } });
  }
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('digits of long numbers are preserved in both directions', async () => {
  const input = '{"id":123456789012345678901}';
  const text = JSON.stringify(upstreamMessage()).replace(
    /"content":\[.*?\]/,
    `"content":[{"type":"tool_use","id":"toolu_1","name":"f","input":${input}}]`,
  );
  world.upstream.play(scripts.json(text));
  const { secret } = await world.makeKey();
  const completion = (await (await postChat(world, secret)).json()) as { choices: { message: object }[] };
  expect(completion.choices[0]?.message).toMatchObject({ tool_calls: [{ function: { arguments: input } }] });
  const result = { role: 'tool', tool_call_id: 'toolu_1', content: 'ok' };
  await postChat(world, secret, {
    messages: [{ role: 'user', content: 'go' }, completion.choices[0]?.message, result],
  });
  expect(world.upstream.requests.at(-1)?.body).toContain(`"input":${input}`);
});
