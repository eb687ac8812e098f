// A message without streaming: the provider's own JSON, sent once it is billed.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, eventsOf, expectHeadersOfAll, expectMoney, GOOD, startWorld } from './world.ts';

const world = await startWorld({
  models: {
    brief: {
      price: { input: '3', output: '15' },
      max_output_tokens: 50,
      default_max_tokens: 20,
      routes: [{ provider: 'first' }],
    },
  },
});
afterAll(() => world.stop());

test('the response is the provider’s own text, and its record has the charge', async () => {
  const odd =
    '{ "type":"message","id":"msg_1","role":"assistant","model":"upstream-model","content":[{"type":"text","text":"caf\\u00e9 1.0"}],\n "stop_reason":"end_turn","stop_sequence":null,"new_field":{"a":1.50},"usage":{"input_tokens":25,"output_tokens":12} }';
  world.upstream.play(scripts.json(odd));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf());
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('x-should-retry')).toBeNull();
  expectHeadersOfAll(response);
  expect(await response.text()).toBe(odd);
  await expectMoney(world, caller, [
    {
      ...GOOD,
      request_id: response.headers.get('request-id'),
      account: caller.account,
      key: caller.key,
      group: 'default',
      model: 'plain',
      provider: 'first',
      upstream_model: 'upstream-model',
      stream: false,
      outcome: 'completed',
      status: 200,
      written_off: '0',
      attempts: [{ provider: 'first', model: 'upstream-model', result: 'answered', status: 200 }],
    },
  ]);
});

test('the record is durable before the response is sent', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  for (let turn = 0; turn < 20; turn++) {
    const response = await world.post(caller.secret, bodyOf());
    const record = await world.admin('GET', `/usage/${response.headers.get('request-id')}`);
    expect(record).toMatchObject({ ...GOOD, outcome: 'completed' });
  }
  await expectMoney(world, caller, Array(20).fill(GOOD));
});

test('without max_tokens the model’s default applies, and a value above the model’s limit is reduced to it', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const sent = async (members: object) => {
    expect((await world.post(caller.secret, bodyOf({ model: 'brief', ...members }))).status).toBe(200);
    return JSON.parse(world.upstream.requests.at(-1)?.body ?? '').max_tokens;
  };
  expect(await sent({ max_tokens: undefined })).toBe(20);
  expect(await sent({ max_tokens: 51 })).toBe(50);
  for (const tooMany of [128_000, 1_000_000_001, Number.MAX_SAFE_INTEGER])
    expect(await sent({ max_tokens: tooMany })).toBe(50);
  expect(await sent({ max_tokens: 49 })).toBe(49);
  await world.post(caller.secret, bodyOf({ max_tokens: undefined }));
  expect(JSON.parse(world.upstream.requests.at(-1)?.body ?? '').max_tokens).toBe(4_096);
  await expectMoney(world, caller, Array(7).fill(GOOD));
});

test.each([
  '/v1/messages',
  '/messages',
  '/v1/v1/messages',
  '/v1/messages/',
  '/v1/messages?beta=true',
  '/messages?a=b&c',
])('a message is answered at %s', async (path) => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const response = await fetch(`${world.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': caller.secret },
    body: JSON.stringify(bodyOf()),
  });
  expect(response.status).toBe(200);
  await expectMoney(world, caller, [GOOD]);
});

test.each(['application/json; charset=utf-8', 'Application/JSON', 'application/vnd.api+json'])(
  'a body declared as %s is JSON',
  async (type) => {
    world.upstream.play(scripts.good());
    const caller = await world.makeKey();
    expect((await world.post(caller.secret, bodyOf(), { headers: { 'content-type': type } })).status).toBe(200);
    await expectMoney(world, caller, [GOOD]);
  },
);

test('a request id sent by the client is ignored', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const ids = new Set<string | null>();
  for (let turn = 0; turn < 3; turn++) {
    const response = await world.post(caller.secret, bodyOf(), { headers: { 'request-id': 'req_mine' } });
    ids.add(response.headers.get('request-id'));
  }
  expect(ids.size).toBe(3);
  await expectMoney(world, caller, [GOOD, GOOD, GOOD]);
});

test('`stream: false` and `stream: null` get JSON', async () => {
  world.upstream.play(scripts.message());
  const caller = await world.makeKey();
  for (const stream of [false, null]) {
    const response = await world.post(caller.secret, bodyOf({ stream }));
    expect(await response.json()).toMatchObject({ type: 'message', role: 'assistant' });
  }
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('the sandbox is answered through the same route, with its own exact counts', async () => {
  const before = await world.admin('GET', '/accounts');
  const demo = (before['data'] as { id: string }[])[0]?.id as string;
  const request = { model: 'sandbox-echo', max_tokens: 64, messages: [{ role: 'user', content: 'Good morning!' }] };
  const answer = (await (await world.post(world.key, request)).json()) as { content: { text: string }[] };
  expect(answer.content[0]?.text).toBe('Good morning!');
  const streamed = eventsOf(await (await world.post(world.key, { ...request, stream: true })).text());
  expect(streamed.map(({ name }) => name)).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  // ⌈13 ÷ 4⌉ = 4 input tokens at 1, 4 output tokens at 5: 24 millionths, streamed or not.
  const record = { model: 'sandbox-echo', input_tokens: 4, output_tokens: 4, cost: '0.000024', outcome: 'completed' };
  await expectMoney(world, { account: demo, key: '', secret: '' }, [record, record], '5.00');
});
