// With `error_statuses: vendor` an unknown model is 404 and an empty balance 402, as the vendor of the API has them.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectNoTrace, type Json, sharedWorld } from './world.ts';

const world = await sharedWorld({ settings: { error_statuses: 'vendor' } });
afterAll(() => world.stop());

test('statuses are those of the vendor, also of a token count, with the same types, codes and headers', async () => {
  const caller = await world.makeKey();
  const unknown = bodyOf({ model: 'unknown' });
  for (const response of [
    await world.post(caller.secret, unknown),
    await fetch(`${world.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': caller.secret },
      body: JSON.stringify(unknown),
    }),
  ]) {
    expect(response.headers.get('x-should-retry')).toBe('false');
    await expectError(response, 404, 'not_found_error', 'model_not_found', /^model: unknown: /);
  }
  await expectNoTrace(world, caller);
  const poor = await world.makeKey({ credit: '0' });
  for (const stream of [false, true]) {
    const response = await world.post(poor.secret, bodyOf({ stream }));
    await expectError(response, 402, 'billing_error', 'insufficient_user_quota', /Add credit/);
  }
});

test('other statuses stay', async () => {
  const caller = await world.makeKey();
  await expectError(await world.post(caller.secret, '{}'), 400, 'invalid_request_error', 'invalid_request');
  await expectError(await world.post('sk-tp-wrong', bodyOf()), 401, 'authentication_error', 'key_invalid');
  world.upstream.play(scripts.error(404, 'not_found_error', 'model: upstream-model'));
  await expectError(await world.post(caller.secret, bodyOf()), 502, 'api_error', 'upstream_credentials');
});

test('they are the same for clients of Chat Completions', async () => {
  const caller = await world.makeKey();
  const response = await fetch(`${world.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${caller.secret}` },
    body: JSON.stringify({ model: 'unknown', messages: [{ role: 'user', content: 'hi' }] }),
  });
  expect(response.status).toBe(404);
  expect(((await response.json()) as { error: Json }).error['code']).toBe('model_not_found');
});
