// The same idempotency key and body within a day: the same response again, free of charge.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { readSamples } from '../../support/read-samples.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { isOverPostgres } from '../../support/test-store.ts';
import { startControlled } from '../post-messages/controlled-service.ts';
import {
  bodyOf,
  expectError,
  expectErrorEvent,
  expectMoney,
  GOOD,
  sharedWorld,
  startWorld,
} from '../post-messages/world.ts';
import { callsSince, expectReplay, postKeyed, requestIdOf } from './post-keyed.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

let calls = 0;
beforeEach(() => {
  world.upstream.play(scripts.good());
  calls = world.upstream.requests.length;
});

for (const stream of [false, true]) {
  const form = stream ? 'a stream' : 'a message';

  test(`a retry of ${form} gets the same bytes, with one provider call and one charge`, async () => {
    world.upstream.play(scripts.good({ text: 'Grüße, 世界 👋🏽 — “ok”\u2028', pieces: 4 }), scripts.overloaded());
    const caller = await world.makeKey();
    const first = await postKeyed(world, caller.secret, 'order-17', { stream });
    const requestId = requestIdOf(first);
    const text = await first.text();
    for (let turn = 0; turn < 3; turn++) {
      const again = await postKeyed(world, caller.secret, 'order-17', { stream });
      expectReplay(again, requestId);
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
      expect(again.headers.get('x-accel-buffering')).toBe(first.headers.get('x-accel-buffering'));
      expect(await again.text()).toBe(text);
    }
    expect(callsSince(world, calls)).toBe(1);
    await expectMoney(world, caller, [{ ...GOOD, request_id: requestId }]);
  });

  test(`${form} whose provider failed frees the idempotency key and is not charged`, async () => {
    world.upstream.play(scripts.overloaded(), scripts.good());
    const caller = await world.makeKey();
    const failed = await postKeyed(world, caller.secret, 'order-17', { stream });
    if (stream) await failed.text();
    else await expectError(failed, 529, 'overloaded_error', 'upstream_overloaded');
    const second = await postKeyed(world, caller.secret, 'order-17', { stream });
    const requestId = requestIdOf(second);
    const text = await second.text();
    const third = await postKeyed(world, caller.secret, 'order-17', { stream });
    expectReplay(third, requestId);
    expect(await third.text()).toBe(text);
    await expectMoney(world, caller, [
      { ...GOOD, request_id: requestId },
      { outcome: 'failed', cost: '0' },
    ]);
  });
}

test('a stream that its provider broke off frees the idempotency key, and its cost is reversed when a retry is answered', async () => {
  world.upstream.play(scripts.dropMidStream(), scripts.good());
  const caller = await world.makeKey();
  const cut = await postKeyed(world, caller.secret, 'order-17', { stream: true });
  await expectErrorEvent(cut, 'api_error', 'upstream_failed');
  const charged = await world.admin('GET', `/accounts/${caller.account}`);
  expect(Number(charged['balance'])).toBeLessThan(10);
  const second = await postKeyed(world, caller.secret, 'order-17', { stream: true });
  requestIdOf(second);
  expect(await second.text()).toContain('message_stop');
  await expectMoney(world, caller, [GOOD, { outcome: 'upstream_cut', cost: '0' }]);
});

test('what reversals return to an account in a day is bounded by a setting', async () => {
  await using strict = await startWorld({ settings: { reversals_per_account_day: '0.000001' } });
  strict.upstream.play(scripts.dropMidStream(), scripts.good());
  const caller = await strict.makeKey();
  const cut = await postKeyed(strict, caller.secret, 'order-17', { stream: true });
  await expectErrorEvent(cut, 'api_error', 'upstream_failed');
  const { balance } = await strict.admin('GET', `/accounts/${caller.account}`);
  const second = await postKeyed(strict, caller.secret, 'order-17', { stream: true });
  expect(await second.text()).toContain('message_stop');
  const cost = `${(10 - Number(balance)).toFixed(9)}`.replace(/0+$/, '');
  await expectMoney(strict, caller, [GOOD, { outcome: 'upstream_cut', cost }]);
});

test('the same key with another body is refused, whether the first is in progress or answered', async () => {
  const caller = await world.makeKey();
  const first = await postKeyed(world, caller.secret, 'order-17');
  const requestId = requestIdOf(first);
  for (const members of [{ max_tokens: 65 }, { stream: true }]) {
    const other = await postKeyed(world, caller.secret, 'order-17', members);
    const message = await expectError(other, 422, 'invalid_request_error', 'idempotency_mismatch');
    expect(message).toContain(requestId);
  }
  await expectMoney(world, caller, [GOOD]);
});

test('an idempotency key belongs to one API key: another key of the same account may use the same value', async () => {
  const caller = await world.makeKey();
  const { key: secret } = (await world.admin('POST', '/keys', { account: caller.account })) as { key: string };
  await postKeyed(world, caller.secret, 'order-17');
  const other = await postKeyed(world, secret, 'order-17', { max_tokens: 65 });
  requestIdOf(other);
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('an idempotency key survives rotation of its API key', async () => {
  const caller = await world.makeKey();
  const requestId = requestIdOf(await postKeyed(world, caller.secret, 'order-17'));
  const { key: secret } = (await world.admin('POST', `/keys/${caller.key}/rotate`, { grace: '0s' })) as { key: string };
  expectReplay(await postKeyed(world, secret, 'order-17'), requestId);
  await expectMoney(world, caller, [GOOD]);
});

test('without the header each message is independent', async () => {
  const caller = await world.makeKey();
  const answers = await Promise.all([1, 2].map(() => world.post(caller.secret, bodyOf())));
  expect(new Set(answers.map(requestIdOf)).size).toBe(2);
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('a key that is empty, too long or not visible ASCII is refused with an error that names the header', async () => {
  const caller = await world.makeKey();
  for (const name of ['', 'a b', 'x'.repeat(256), 'ä', 'one, two']) {
    const refused = await postKeyed(world, caller.secret, name);
    await expectError(refused, 400, 'invalid_request_error', 'invalid_request', /^idempotency-key: /);
  }
  requestIdOf(await postKeyed(world, caller.secret, '~'.repeat(255)));
  await expectMoney(world, caller, [GOOD]);
});

test('count_tokens ignores the header', async () => {
  const caller = await world.makeKey();
  world.upstream.play(scripts.json('{"input_tokens": 7}'));
  const { model, messages } = bodyOf();
  const response = await fetch(`${world.url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': caller.secret, 'idempotency-key': 'a b' },
    body: JSON.stringify({ model, messages }),
  });
  expect(await response.json()).toEqual({ input_tokens: 7 });
});

test('a replay needs no balance', async () => {
  const caller = await world.makeKey({ credit: '0.01' });
  const requestId = requestIdOf(await postKeyed(world, caller.secret, 'order-17', { stream: true }));
  await world.admin('POST', `/accounts/${caller.account}/credits`, { amount: '-0.009', kind: 'adjustment' });
  const refused = await world.post(caller.secret, bodyOf({ max_tokens: 10_000 }));
  expect(refused.status).toBe(400);
  for (let turn = 0; turn < 3; turn++) {
    const again = await postKeyed(world, caller.secret, 'order-17', { stream: true });
    expectReplay(again, requestId);
    expect(await again.text()).toContain('message_stop');
  }
});

test('a replay takes a request from the rates, and is refused when they are exhausted', async () => {
  const caller = await world.makeKey({}, { rpm: 3 });
  const requestId = requestIdOf(await postKeyed(world, caller.secret, 'order-17'));
  for (let turn = 0; turn < 2; turn++) {
    const again = await postKeyed(world, caller.secret, 'order-17');
    expectReplay(again, requestId);
    // A node that has not heard from PostgreSQL for a moment forgets the levels.
    expect(again.headers.get('anthropic-ratelimit-requests-limit')).toBeOneOf(isOverPostgres ? ['3', null] : ['3']);
  }
  for (const name of ['order-17', 'order-18']) {
    const refused = await postKeyed(world, caller.secret, name);
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 21);
    await expectError(refused, 429, 'rate_limit_error', 'requests_rate_exceeded');
  }
  await expectMoney(world, caller, [GOOD]);
});

test('a replay requires a valid API key with the model in its scope', async () => {
  const caller = await world.makeKey();
  const requestId = requestIdOf(await postKeyed(world, caller.secret, 'order-17'));
  await world.admin('PATCH', `/keys/${caller.key}`, { models: ['paired'] });
  await expectError(await postKeyed(world, caller.secret, 'order-17'), 400, 'not_found_error', 'model_not_found');
  await world.admin('PATCH', `/keys/${caller.key}`, { models: null });
  expectReplay(await postKeyed(world, caller.secret, 'order-17'), requestId);
  await world.admin('PATCH', `/keys/${caller.key}`, { status: 'disabled' });
  await expectError(await postKeyed(world, caller.secret, 'order-17'), 401, 'authentication_error', 'key_disabled');
});

test('a replay has no usage record and is counted as a replay', async () => {
  const caller = await world.makeKey();
  const replays = async () => readSamples(await (await world.scrape()).text())['turnpike_replays_total'] as number;
  const before = await replays();
  await postKeyed(world, caller.secret, 'order-17');
  const again = await postKeyed(world, caller.secret, 'order-17');
  expect(await replays()).toBe(before + 1);
  const usage = await fetch(`${world.url}/v1/usage/${again.headers.get('request-id')}`, {
    headers: { 'x-api-key': caller.secret },
  });
  expect(usage.status).toBe(404);
  const exposed = again.headers.get('access-control-expose-headers')?.split(', ');
  for (const name of ['idempotency-replayed', 'idempotency-original-request-id']) expect(exposed).toContain(name);
  await expectMoney(world, caller, [GOOD]);
});

test('an idempotency key is free again after 24 hours', async () => {
  await using service = await startControlled();
  const secret = await service.makeKey();
  const headers = { 'content-type': 'application/json', 'x-api-key': secret, 'idempotency-key': 'order-17' };
  const body = JSON.stringify({
    model: 'm',
    max_tokens: 64,
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
  });
  const post = async () => {
    const response = await fetch(`${service.url}/v1/messages`, { method: 'POST', headers, body });
    await response.text();
    return response;
  };
  const requestId = requestIdOf(await post());
  service.advance(24 * 60 * 60 * 1000 - 60_000);
  expectReplay(await post(), requestId);
  service.advance(60_000);
  requestIdOf(await post());
  expect(await service.records()).toHaveLength(2);
});
