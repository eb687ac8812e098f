// With `require_browser_header` a page must declare that it holds a key in a browser; nobody else must.

import { afterAll, expect, test } from 'bun:test';
import { bodyOf, expectError, expectMoney, GOOD, startWorld } from './world.ts';

const world = await startWorld({ settings: { require_browser_header: true } });
afterAll(() => world.stop());
const origin = 'https://app.example.com';

test('a page that does not declare it is browser_access_not_declared', async () => {
  const caller = await world.makeKey();
  for (const headers of [{ origin }, { origin, 'anthropic-dangerous-direct-browser-access': 'false' }]) {
    const response = await world.post(caller.secret, bodyOf(), { headers: headers as Record<string, string> });
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    await expectError(response, 403, 'permission_error', 'browser_access_not_declared', /CORS requests must set/);
  }
  await expectMoney(world, caller, []);
});

test('with either prefix it is declared, and without an origin nothing has to be', async () => {
  const caller = await world.makeKey();
  for (const prefix of ['anthropic', 'vendor']) {
    const headers = { origin, [`${prefix}-dangerous-direct-browser-access`]: 'true' };
    expect((await world.post(caller.secret, bodyOf(), { headers })).status).toBe(200);
  }
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD, GOOD, GOOD]);
});

test('the setting is off unless it is set', async () => {
  await using usual = await startWorld();
  const caller = await usual.makeKey();
  expect((await usual.post(caller.secret, bodyOf(), { headers: { origin } })).status).toBe(200);
  await expectMoney(usual, caller, [GOOD]);
});
