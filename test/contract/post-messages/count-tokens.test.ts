// POST /v1/messages/count_tokens: the provider's count, or an estimate; free, but counted as one of the requests per
// minute.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectHeadersOfAll, expectNoTrace, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const count = (secret: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${world.url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': secret, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

test('the provider counts, with its own model name, the operator’s credential, and the client’s betas', async () => {
  world.upstream.play(scripts.json('{"input_tokens":2095}'));
  const caller = await world.makeKey();
  const response = await count(caller.secret, bodyOf({ stream: true }), { 'anthropic-beta': 'a', cookie: 'b=c' });
  expectHeadersOfAll(response);
  expect(await response.json()).toEqual({ input_tokens: 2095 });
  const sent = world.upstream.requests.at(-1);
  expect(sent?.path).toBe('/v1/messages/count_tokens');
  expect(JSON.parse(sent?.body ?? '')).toEqual({
    model: 'upstream-model',
    messages: [{ role: 'user', content: 'Good morning!' }],
  });
  expect(sent?.headers).toMatchObject({ 'x-api-key': 'sk-upstream-credential-1', 'anthropic-beta': 'a' });
  expect(sent?.headers['cookie']).toBeUndefined();
  await expectNoTrace(world, caller);
});

test('a token count is free, so the account needs no balance and the model no price', async () => {
  world.upstream.play(scripts.json('{"input_tokens":12}'));
  const caller = await world.makeKey({ credit: '0' });
  expect((await count(caller.secret, bodyOf({ speed: 'fast' }))).status).toBe(200);
  await expectNoTrace(world, caller, '0');
});

test('a provider that cannot count now causes no error: an estimate is returned', async () => {
  for (const script of [
    scripts.overloaded(),
    scripts.unauthorized(),
    scripts.html(404),
    scripts.json('{"input_tokens":-1}'),
  ]) {
    world.upstream.play(script);
    const caller = await world.makeKey();
    const { input_tokens } = (await (await count(caller.secret, bodyOf())).json()) as { input_tokens: number };
    expect(input_tokens).toBeWithin(1, 60);
  }
});

test('content that the provider refuses is refused, with the rate headers', async () => {
  world.upstream.play(scripts.refusedContent('tools.0.name: bad'));
  const caller = await world.makeKey({}, { rpm: 9 });
  const response = await count(caller.secret, bodyOf());
  expect(response.headers.get('anthropic-ratelimit-requests-remaining')).toBe('8');
  await expectError(response, 400, 'invalid_request_error', 'upstream_rejected', /^tools.0.name: bad$/);
  await expectNoTrace(world, caller);
});

test('a token count is counted as one of the requests per minute, together with messages', async () => {
  world.upstream.play(scripts.json('{"input_tokens":12}'));
  const caller = await world.makeKey({}, { rpm: 2 });
  expect((await count(caller.secret, bodyOf())).headers.get('anthropic-ratelimit-requests-remaining')).toBe('1');
  expect((await count(caller.secret, bodyOf())).status).toBe(200);
  await expectError(await count(caller.secret, bodyOf()), 429, 'rate_limit_error', 'requests_rate_exceeded');
  await expectError(await world.post(caller.secret, bodyOf()), 429, 'rate_limit_error', 'requests_rate_exceeded');
  await expectNoTrace(world, caller);
});

test('a token count is refused for the same reasons as a message', async () => {
  const caller = await world.makeKey({}, { models: ['plain'] });
  await expectError(await count('sk-tp-wrong', bodyOf()), 401, 'authentication_error', 'key_invalid');
  await expectError(await count(caller.secret, '{'), 400, 'invalid_request_error', 'invalid_json');
  await expectError(await count(caller.secret, bodyOf({ model: 'paired' })), 400, 'not_found_error', 'model_not_found');
  await expectNoTrace(world, caller);
});

test('max_tokens and stream are not needed', async () => {
  world.upstream.play(scripts.json('{"input_tokens":12}'));
  const caller = await world.makeKey();
  const { model, messages } = bodyOf();
  expect((await count(caller.secret, { model, messages })).status).toBe(200);
});
