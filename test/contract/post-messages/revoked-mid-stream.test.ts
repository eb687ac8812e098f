// A key that is revoked while its messages run: with `now` its messages end and are billed for their output so far;
// without it they finish. New messages are refused in both cases.

import { afterAll, expect, test } from 'bun:test';
import { costOf, countText } from '../../support/count-text.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { paused } from '../idempotency/post-keyed.ts';
import { afterReading, bodyOf, expectError, expectErrorEvent, expectMoney, GOOD, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

/** Begins a stream. */
async function begin(secret: string): Promise<Response> {
  return world.post(secret, bodyOf({ stream: true, max_tokens: 1_000 }));
}

test('a stream of a key revoked with `now` ends with an error event, the upstream is stopped, and the output so far is billed', async () => {
  const abortedBefore = world.upstream.abortedCount;
  world.upstream.play(scripts.pingsOnly(10, { text: 'x'.repeat(160), pieces: 4 }));
  const caller = await world.makeKey();
  const hasHalf = (text: string) => text.split('x'.repeat(40)).length > 2;
  const response = await afterReading(await begin(caller.secret), hasHalf);
  await world.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
  await expectErrorEvent(response, 'authentication_error', 'key_disabled');
  await world.upstream.aborted(abortedBefore + 1);
  await expectError(await world.post(caller.secret, bodyOf()), 401, 'authentication_error', 'key_disabled');
  const tokens = countText('x'.repeat(80));
  const cost = costOf(25, 3, tokens, 15);
  await expectMoney(world, caller, [
    { outcome: 'service_cut', status: 200, usage_source: 'estimated', output_tokens: tokens, cost },
  ]);
});

test.each([false, true])(
  'a client whose key is revoked with `now` before the answer gets 401 at once, and the answer is billed as reported (stream: %p)',
  async (stream) => {
    const { script, asked, goOn } = paused(scripts.good());
    world.upstream.play(script);
    const caller = await world.makeKey();
    const running = world.post(caller.secret, bodyOf({ stream }));
    await asked;
    await world.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
    await expectError(await running, 401, 'authentication_error', 'key_disabled');
    goOn();
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'service_cut', status: 401, usage_source: 'reported' }]);
  },
);

test('after a revocation, a provider that fails is not paid', async () => {
  const { script, asked, goOn } = paused(scripts.overloaded());
  world.upstream.play(script);
  const caller = await world.makeKey();
  const running = world.post(caller.secret, bodyOf());
  await asked;
  await world.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
  await expectError(await running, 401, 'authentication_error', 'key_disabled');
  goOn();
  await expectMoney(world, caller, [{ outcome: 'failed', status: 401, cost: '0', usage_source: 'none' }]);
});

test('other keys of the account are unaffected', async () => {
  world.upstream.play(scripts.slowStream(15));
  const caller = await world.makeKey();
  const other = await world.admin('POST', '/keys', { account: caller.account });
  const response = await begin(other['key'] as string);
  await world.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
  expect(await response.text()).toContain('message_stop');
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed' }]);
});

test('running messages of a key revoked or disabled without `now` may finish', async () => {
  for (const end of [
    (key: string) => world.admin('POST', `/keys/${key}/revoke`, {}),
    (key: string) => world.admin('PATCH', `/keys/${key}`, { status: 'disabled' }),
  ]) {
    world.upstream.play(scripts.slowStream(10));
    const caller = await world.makeKey();
    const response = await begin(caller.secret);
    await end(caller.key);
    expect(await response.text()).toContain('message_stop');
    await expectError(await world.post(caller.secret, bodyOf()), 401, 'authentication_error', 'key_disabled');
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed' }]);
  }
});
