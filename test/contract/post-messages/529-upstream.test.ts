// The provider is overloaded, and no other route remains.

import { afterAll, expect, test } from 'bun:test';
import { eventText, type Script, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());
const overloadedEvent = eventText({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });

const error = { code: 'upstream_overloaded', message: 'The provider of this model is overloaded.' };

test.each<[string, Script, string | null]>([
  ['529', scripts.overloaded(), null],
  ['529 with retry-after', scripts.overloaded({ 'retry-after': '3' }), '3'],
  ['503', scripts.error(503, 'api_error', 'Unavailable'), null],
])('%s is upstream_overloaded, and nothing is charged', async (_words, script, retryAfter) => {
  for (const stream of [false, true]) {
    world.upstream.play(script);
    const caller = await world.makeKey();
    const response = await world.post(caller.secret, bodyOf({ stream }));
    expect(response.headers.get('retry-after')).toBe(retryAfter);
    await expectError(response, 529, 'overloaded_error', 'upstream_overloaded');
    await expectMoney(world, caller, [{ outcome: 'failed', status: 529, error, cost: '0', usage_source: 'none' }]);
  }
});

test('an overload in the first event of a stream is still sent as an error status', async () => {
  world.upstream.play(scripts.rawStream(overloadedEvent));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ stream: true }));
  await expectError(response, 529, 'overloaded_error', 'upstream_overloaded');
  await expectMoney(world, caller, [{ outcome: 'failed', status: 529, cost: '0' }]);
});
