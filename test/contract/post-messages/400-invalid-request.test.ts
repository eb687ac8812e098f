// JSON that is not a message request: the error begins with the path of the invalid field.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, sharedWorld } from './world.ts';

const world = await sharedWorld();
beforeEach(() => world.reset());
afterAll(() => world.stop());
const caller = await world.makeKey();

const user = (content: unknown) => [{ role: 'user', content }];
const withResult = (content: unknown) =>
  bodyOf({
    messages: user([
      { type: 'text', text: 'a' },
      { type: 'tool_result', tool_use_id: 't', content },
    ]),
  });

test.each<[string, unknown]>([
  ['body: ', []],
  ['body: ', 'text'],
  ['body: ', 12],
  ['model: Field required', bodyOf({ model: undefined })],
  ['model: ', bodyOf({ model: null })],
  ['model: ', bodyOf({ model: 12 })],
  ['model: ', bodyOf({ model: '' })],
  ['model: ', bodyOf({ model: 'x'.repeat(257) })],
  ['messages: Field required', bodyOf({ messages: undefined })],
  ['messages: ', bodyOf({ messages: [] })],
  ['messages: ', bodyOf({ messages: 'hi' })],
  ['messages.0: ', bodyOf({ messages: ['hi'] })],
  ['messages.0.role: Field required', bodyOf({ messages: [{ content: 'hi' }] })],
  ['messages.1.role: ', bodyOf({ messages: [...user('hi'), { role: 'robot', content: 'hi' }] })],
  ['messages.0.content: Field required', bodyOf({ messages: [{ role: 'user' }] })],
  ['messages.0.content: ', bodyOf({ messages: user(12) })],
  ['messages.0.content.1: ', bodyOf({ messages: user([{ type: 'text', text: 'hi' }, 'hi']) })],
  ['messages.0.content.0.type: Field required', bodyOf({ messages: user([{ text: 'hi' }]) })],
  ['max_tokens: ', bodyOf({ max_tokens: 'many' })],
  ['max_tokens: ', bodyOf({ max_tokens: -1 })],
  ['max_tokens: ', bodyOf({ max_tokens: 1.5 })],
  ['max_tokens: ', bodyOf({ max_tokens: 1e300 })],
  ['stream: ', bodyOf({ stream: 'yes' })],
  ['system: ', bodyOf({ system: 12 })],
  ['system.0: ', bodyOf({ system: ['text'] })],
  ['system.1.text: Field required', bodyOf({ system: [{ type: 'text', text: 'a' }, { type: 'text' }] })],
  ['tools: ', bodyOf({ tools: {} })],
  ['tools.1: Input should be a valid dictionary', bodyOf({ tools: [{ name: 'a' }, 5] })],
  ['tool_choice: Input should be a valid dictionary', bodyOf({ tool_choice: 'x' })],
  ['tool_choice: ', bodyOf({ tool_choice: ['auto'] })],
  ['tool_choice.type: Field required', bodyOf({ tool_choice: { name: 'a' } })],
  ['tool_choice.type: Input should be a valid string', bodyOf({ tool_choice: { type: null } })],
  ['stop_sequences: Input should be a valid list', bodyOf({ stop_sequences: 'l' })],
  ['stop_sequences.1: Input should be a valid string', bodyOf({ stop_sequences: ['a', 5] })],
  ['messages.0.content.0.text.text: Field required', bodyOf({ messages: user([{ type: 'text' }]) })],
  ['messages.0.content.0.text.text: Input should be', bodyOf({ messages: user([{ type: 'text', text: null }]) })],
  ['messages.0.content.1.tool_result.content.0.text.text: Field required', withResult([{ type: 'text' }])],
  ['messages.0.content.1.tool_result.content.1: ', withResult([{ type: 'text', text: 'a' }, 'b'])],
  ['temperature: Input should be a valid number', bodyOf({ temperature: '1' })],
  ['temperature: Input should be less than or equal to 1', bodyOf({ temperature: 1.01 })],
  ['temperature: Input should be greater than or equal to 0', bodyOf({ temperature: -0.01 })],
  ['top_p: ', bodyOf({ top_p: true })],
  ['top_k: ', bodyOf({ top_k: [5] })],
  ['metadata: Input should be a valid dictionary', bodyOf({ metadata: 'user' })],
  ['thinking: ', bodyOf({ thinking: true })],
  ['output_config: ', bodyOf({ output_config: [] })],
])('"%s…" is the error for an invalid field', async (start, body) => {
  const response = await world.post(caller.secret, JSON.stringify(body));
  expect(await expectError(response, 400, 'invalid_request_error', 'invalid_request')).toStartWith(start);
  expect(world.upstream.requests).toHaveLength(0);
});

test('a duplicate key is refused, at any depth and with any escaping', async () => {
  const text = JSON.stringify(bodyOf());
  for (const body of [
    text.replace('{', '{"model":"other",'),
    text.replace('{', '{"mod\\u0065l":"other",'),
    text.replace('"role"', '"role":"assistant","role"'),
  ]) {
    await expectError(await world.post(caller.secret, body), 400, 'invalid_request_error', 'invalid_request');
  }
});

test('nesting beyond 128 levels is refused, however deep it is', async () => {
  const nested = (depth: number) =>
    JSON.stringify(bodyOf()).replace('{', `{"x":${'['.repeat(depth)}${']'.repeat(depth)},`);
  for (const depth of [128, 1_000, 1_000_000]) {
    const response = await world.post(caller.secret, nested(depth));
    await expectError(response, 400, 'invalid_request_error', 'invalid_request', /128/);
  }
  await expectNoTrace(world, caller);
  expect(world.upstream.requests).toHaveLength(0);
  const other = await world.makeKey();
  expect((await world.post(other.secret, nested(127))).status).toBe(200);
  await expectMoney(world, other, [GOOD]);
});

test('a name such as __proto__ is an ordinary field', async () => {
  const other = await world.makeKey();
  const text = JSON.stringify(bodyOf()).replace('{', '{"__proto__":{"model":"other","stream":true},');
  expect(await (await world.post(other.secret, text)).json()).toMatchObject({ type: 'message' });
  expect(world.upstream.requests.at(-1)?.body).toContain('"__proto__":{"model":"other","stream":true}');
  await expectMoney(world, other, [{ ...GOOD, stream: false, model: 'plain' }]);
});

test('unknown fields are accepted', async () => {
  const other = await world.makeKey();
  const members = { field_of_the_future: { a: [1] }, metadata: { user_id: 'u' }, temperature: 0.5, top_k: 5 };
  expect((await world.post(other.secret, bodyOf(members))).status).toBe(200);
  await expectMoney(world, other, [GOOD]);
});

test('unusual values of the right type, and null for optional fields, are left to the provider to validate', async () => {
  const other = await world.makeKey();
  const absent = ['tools', 'tool_choice', 'stop_sequences', 'temperature', 'top_p', 'top_k', 'metadata', 'thinking'];
  const bodies = [
    bodyOf(Object.fromEntries([...absent, 'output_config', 'system'].map((name) => [name, null]))),
    bodyOf({ tools: [{}], tool_choice: { type: 'of_the_future' }, stop_sequences: [''], temperature: 0.7, top_k: 0.5 }),
    bodyOf({ tools: [{ name: 'a', input_schema: { type: 'object', properties: { location: 'bar' } } }], thinking: {} }),
    bodyOf({ system: [{ type: 'text', text: '', citations: null }], metadata: { user_id: null }, output_config: {} }),
    bodyOf({ messages: user([{ type: 'block_of_the_future', text: 5, content: ['a'] }]) }),
    withResult('text'),
    withResult(undefined),
  ];
  for (const body of bodies) expect((await world.post(other.secret, body)).status).toBe(200);
  await expectMoney(world, other, Array(bodies.length).fill(GOOD));
});
