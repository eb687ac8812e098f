// The charge of a failed attempt under an idempotency key is reversed only when a later attempt is answered. A client
// cannot make the first attempt free by disturbing the later one.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { paused, postKeyed } from '../idempotency/post-keyed.ts';
import { type Caller, eventsOf, expectMoney, GOOD, sharedWorld } from '../post-messages/world.ts';
import { blockedFor, readSlowly } from './slow-client.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const CUT = { outcome: 'upstream_cut', usage_source: 'estimated' };
const RICH = '100000.00'; // enough for streams that fill every buffer on their way
const PAID = /^0\.0*[1-9]/; // not zero

/** Sends a stream that its provider interrupts halfway, and returns its cost. */
async function interruptOnce(caller: Caller): Promise<string> {
  world.upstream.play(scripts.halfStream({ text: 'x'.repeat(400), pieces: 10 }));
  await (await postKeyed(world, caller.secret, 'order-17', { stream: true })).text();
  const [record] = await expectMoney(world, caller, [CUT]);
  const cost = String(record?.['cost']);
  expect(cost).toMatch(PAID);
  return cost;
}

test('if the client disconnects from a retry before its first byte, the first attempt remains charged', async () => {
  const caller = await world.makeKey();
  const cost = await interruptOnce(caller);
  const { script, asked, goOn } = paused(scripts.resetBeforeHead());
  world.upstream.play(script);
  const leaving = new AbortController();
  const second = postKeyed(world, caller.secret, 'order-17', { stream: true }, { signal: leaving.signal });
  await asked;
  leaving.abort();
  await second.then(
    (answer) => answer.body?.cancel(),
    () => {},
  );
  goOn();
  await expectMoney(world, caller, [{ cost: '0' }, { ...CUT, cost }]);
});

test('if the provider rejects a retry, the first attempt remains charged, whichever header caused the rejection', async () => {
  const caller = await world.makeKey();
  const cost = await interruptOnce(caller);
  world.upstream.play(scripts.refusedContent('anthropic-beta: no-such-beta'));
  const second = await world.post(
    caller.secret,
    { model: 'plain', max_tokens: 64, messages: [{ role: 'user', content: 'Good morning!' }], stream: true },
    { headers: { 'idempotency-key': 'order-17', 'anthropic-beta': 'no-such-beta' } },
  );
  expect(second.status).toBe(400);
  await expectMoney(world, caller, [
    { outcome: 'failed', cost: '0' },
    { ...CUT, cost },
  ]);
});

test('a client that pays for the response to a retry does not pay for the failed attempts', async () => {
  const caller = await world.makeKey();
  await interruptOnce(caller);
  await (await postKeyed(world, caller.secret, 'order-17', { stream: true })).text();
  world.upstream.play(scripts.good());
  const third = await postKeyed(world, caller.secret, 'order-17', { stream: true });
  expect(await third.text()).toContain('message_stop');
  await expectMoney(world, caller, [GOOD, { ...CUT, cost: '0' }, { ...CUT, cost: '0' }]);
});

test('a stream that its provider gave up because the client did not read is charged, and its error says why', async () => {
  const caller = await world.makeKey({ credit: RICH });
  const blocked = blockedFor(1_500);
  world.upstream.play(blocked.script);
  const text = await readSlowly(
    world.url,
    caller.secret,
    { stream: true },
    { 'idempotency-key': 'order-17' },
    blocked.gaveUp,
  );
  const last = eventsOf(text).at(-1);
  expect(last).toMatchObject({ name: 'error', json: { error: { code: 'client_too_slow' } } });
  const [record] = await expectMoney(world, caller, [{ outcome: 'client_gone', status: 200 }], RICH);
  world.upstream.play(scripts.good());
  const again = await postKeyed(world, caller.secret, 'order-17', { stream: true });
  expect(await again.text()).toContain('message_stop');
  await expectMoney(world, caller, [GOOD, { outcome: 'client_gone', cost: record?.['cost'] }], RICH);
});
