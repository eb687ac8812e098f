// With `require_browser_header` a web page must declare that it holds a key in a browser; other clients need not.

import { afterAll, expect, test } from 'bun:test';
import { bodyOf, expectError, expectMoney, GOOD, sharedWorld, startWorld } from './world.ts';

const world = await startWorld({ settings: { require_browser_header: true } });
afterAll(() => world.stop());
const origin = 'https://app.example.com';

test('a page without the declaration gets browser_access_not_declared', async () => {
  const caller = await world.makeKey();
  for (const headers of [{ origin }, { origin, 'anthropic-dangerous-direct-browser-access': 'false' }]) {
    const response = await world.post(caller.secret, bodyOf(), { headers: headers as Record<string, string> });
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    await expectError(response, 403, 'permission_error', 'browser_access_not_declared', /CORS requests must set/);
  }
  await expectMoney(world, caller, []);
});

test('an invalid key is reported first, and so is a key that may not be used from that origin', async () => {
  const response = await world.post('sk-tp-wrong', bodyOf(), { headers: { origin } });
  await expectError(response, 401, 'authentication_error', 'key_invalid');
  const bound = await world.makeKey({}, { origins: ['https://other.example.com'] });
  const elsewhere = await world.post(bound.secret, bodyOf(), { headers: { origin } });
  await expectError(elsewhere, 403, 'permission_error', 'origin_not_allowed');
});

test('the refusal comes before the body is checked', async () => {
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, 'no JSON', { headers: { origin } });
  await expectError(response, 403, 'permission_error', 'browser_access_not_declared');
});

test('requests other than messages need no declaration', async () => {
  const { secret } = await world.makeKey();
  const headers = { origin, 'x-api-key': secret, 'content-type': 'application/json' };
  for (const path of ['/v1/models', '/v1/models/plain'])
    expect((await fetch(`${world.url}${path}`, { headers })).status).toBe(200);
  const body = JSON.stringify(bodyOf());
  const counted = await fetch(`${world.url}/v1/messages/count_tokens`, { method: 'POST', headers, body });
  expect(counted.status).toBe(200);
});

test('either header prefix is accepted, and without an origin no declaration is required', async () => {
  const caller = await world.makeKey();
  for (const prefix of ['anthropic', 'vendor']) {
    const headers = { origin, [`${prefix}-dangerous-direct-browser-access`]: 'true' };
    expect((await world.post(caller.secret, bodyOf(), { headers })).status).toBe(200);
  }
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD, GOOD, GOOD]);
});

test('the setting is off by default', async () => {
  await using usual = await sharedWorld();
  const caller = await usual.makeKey();
  expect((await usual.post(caller.secret, bodyOf(), { headers: { origin } })).status).toBe(200);
  await expectMoney(usual, caller, [GOOD]);
});
