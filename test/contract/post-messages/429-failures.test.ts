// Guessing keys is slow: after many failures from one address the response is 429. A valid key is always accepted.

import { afterAll, expect, test } from 'bun:test';
import { bodyOf, expectError, expectMoney, GOOD, startOwnWorld } from './world.ts';

const world = await startOwnWorld('its invalid keys exhaust what an address may fail');
afterAll(() => world.stop());

const guess = (address: string, secret = 'sk-tp-wrong') =>
  world.post(secret, bodyOf(), { headers: { 'x-forwarded-for': address } });

test('after sixty failures within a minute an address gets too_many_failures', async () => {
  for (let turn = 0; turn < 60; turn++) expect((await guess('198.51.100.1')).status).toBe(401);
  for (let turn = 0; turn < 3; turn++) {
    const refused = await guess('198.51.100.1');
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61);
    await expectError(refused, 429, 'rate_limit_error', 'too_many_failures');
  }
});

test('from that address a valid key is accepted, and other addresses get the usual errors', async () => {
  const caller = await world.makeKey();
  expect((await guess('198.51.100.1', caller.secret)).status).toBe(200);
  await expectError(await guess('198.51.100.2'), 401, 'authentication_error', 'key_invalid');
  await expectMoney(world, caller, [GOOD]);
});
