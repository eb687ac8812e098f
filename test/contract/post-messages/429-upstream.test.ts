// The provider limits the installation's rate, and no other route remains.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

test.each([
  ['7', '7'],
  ['0.2', '1'],
  ['0', '1'],
  [null, '1'],
  ['soon', '1'],
])('retry-after %s of the provider becomes %s, and nothing is charged', async (given, shown) => {
  for (const stream of [false, true]) {
    world.upstream.play(scripts.rateLimited(given));
    const caller = await world.makeKey();
    const response = await world.post(caller.secret, bodyOf({ stream }));
    expect(response.headers.get('retry-after')).toBe(shown);
    const message = await expectError(response, 429, 'rate_limit_error', 'upstream_rate_limited');
    expect(message).not.toContain('Too fast');
    await expectMoney(world, caller, [
      { outcome: 'failed', status: 429, cost: '0', usage_source: 'none', attempts: [{ result: 'rate_limited' }] },
    ]);
  }
});

test('the provider’s own rate headers are not forwarded: they describe the operator’s account', async () => {
  world.upstream.play(
    scripts.error(429, 'rate_limit_error', 'Too fast', {
      'retry-after': '2',
      'anthropic-ratelimit-requests-limit': '4000',
      'anthropic-organization-id': '0b1c2d3e-1111-4222-8333-444455556666',
    }),
  );
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf());
  expect(response.headers.get('anthropic-ratelimit-requests-limit')).toBeNull();
  expect(response.headers.get('anthropic-organization-id')).toBeNull();
  await expectError(response, 429, 'rate_limit_error', 'upstream_rate_limited');
  await expectMoney(world, caller, [{ cost: '0' }]);
});
