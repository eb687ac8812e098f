// A key may be restricted to client addresses. The address is the one that a trusted proxy reports; forwarding
// headers of other clients are ignored.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, sharedWorld } from './world.ts';

const world = await sharedWorld();
beforeEach(() => world.reset());
afterAll(() => world.stop());

const from = (secret: string, address: string | null) =>
  world.post(secret, bodyOf(), address === null ? {} : { headers: { 'x-forwarded-for': address } });

test('an address outside the key’s ranges is address_not_allowed', async () => {
  const caller = await world.makeKey({}, { addresses: ['203.0.113.0/24', '2001:db8::/32'] });
  for (const address of ['198.51.100.1', '203.0.114.1', '2001:db9::1', null])
    await expectError(await from(caller.secret, address), 403, 'permission_error', 'address_not_allowed');
  expect(world.upstream.requests).toHaveLength(0);
  await expectNoTrace(world, caller);
});

test('an address inside the ranges is accepted, in every notation of IPv4', async () => {
  const caller = await world.makeKey({}, { addresses: ['203.0.113.0/24', '2001:db8::/32'] });
  for (const address of ['203.0.113.7', '203.0.113.7:5123', '::ffff:203.0.113.7', '2001:db8::1', '[2001:db8::1]:443'])
    expect((await from(caller.secret, address)).status).toBe(200);
  await expectMoney(world, caller, Array(5).fill(GOOD));
});

test('only the address that the trusted proxy itself saw counts, whatever the client put before it', async () => {
  const caller = await world.makeKey({}, { addresses: ['203.0.113.0/24'] });
  await expectError(
    await from(caller.secret, '203.0.113.7, 198.51.100.1'),
    403,
    'permission_error',
    'address_not_allowed',
  );
  expect((await from(caller.secret, '198.51.100.1, 203.0.113.7')).status).toBe(200);
  await expectMoney(world, caller, [GOOD]);
});
