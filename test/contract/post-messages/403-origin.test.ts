// A key may be restricted to the origins of web pages. Requests without an origin do not come from a page.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, sharedWorld } from './world.ts';

const world = await sharedWorld();
beforeEach(() => world.reset());
afterAll(() => world.stop());

const ORIGINS = ['https://app.example.com', 'http://localhost:3000'];

test('an origin that the key does not allow gets origin_not_allowed, readable by the page', async () => {
  const caller = await world.makeKey({}, { origins: ORIGINS });
  for (const origin of [
    'https://evil.example',
    'https://app.example.com.evil.example',
    'http://app.example.com',
    'null',
  ]) {
    const response = await world.post(caller.secret, bodyOf(), { headers: { origin } });
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    await expectError(response, 403, 'permission_error', 'origin_not_allowed');
  }
  expect(world.upstream.requests).toHaveLength(0);
  await expectNoTrace(world, caller);
});

test('allowed origins, and clients without an origin, are accepted', async () => {
  const caller = await world.makeKey({}, { origins: ORIGINS });
  for (const origin of ORIGINS)
    expect((await world.post(caller.secret, bodyOf(), { headers: { origin } })).status).toBe(200);
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD, GOOD, GOOD]);
});

test('a key without allowed origins can be used from any origin', async () => {
  const caller = await world.makeKey();
  expect((await world.post(caller.secret, bodyOf(), { headers: { origin: 'https://a.example' } })).status).toBe(200);
  await expectMoney(world, caller, [GOOD]);
});
