// The server shuts down: new messages are refused, running ones may finish, and those still running at the time limit
// are ended and billed for their output so far.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { EVENTS, startControlled, streamOf } from './controlled-service.ts';
import { afterReading, bodyOf, expectError, expectErrorEvent, GOOD, startOwnWorld } from './world.ts';

test('a new message gets draining and its connection is closed, while a running message completes and is billed', async () => {
  await using world = await startOwnWorld('it stops the service');
  const { promise: mayEnd, resolve: endNow } = Promise.withResolvers<void>();
  world.upstream.play(
    async (answer, request) => {
      await scripts.slowStream(15)(answer, request);
    },
    async (answer, request) => {
      await mayEnd;
      await scripts.good()(answer, request);
    },
  );
  const caller = await world.makeKey();
  const first = await world.post(caller.secret, bodyOf({ stream: true }));
  const second = world.post(caller.secret, bodyOf());
  while (world.upstream.requests.length < 2) await Bun.sleep(2);
  const stopped = world.stop();
  for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
    const refused = await fetch(`${world.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': caller.secret },
      body: JSON.stringify(bodyOf()),
    });
    expect(refused.headers.get('connection')).toBe('close');
    await expectError(refused, 503, 'api_error', 'draining');
  }
  expect((await fetch(`${world.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${world.url}/healthz`)).status).toBe(200);
  expect(await first.text()).toContain('event: message_stop');
  const record = await world.admin('GET', `/usage/${first.headers.get('request-id')}`);
  expect(record).toMatchObject({ ...GOOD, outcome: 'completed' });
  expect((await world.check()).ok).toBe(true);
  endNow();
  expect((await second).status).toBe(200);
  await stopped;
});

test('during the notice period for load balancers messages are accepted, although the service is not ready', async () => {
  await using world = await startOwnWorld('it stops the service');
  await world.admin('POST', '/apply', { document: { settings: { drain_notice_seconds: 2 } } });
  const { promise: mayEnd, resolve: endNow } = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    await mayEnd;
    await scripts.good()(answer, request);
  }, scripts.good());
  const caller = await world.makeKey();
  const running = world.post(caller.secret, bodyOf());
  while (world.upstream.requests.length < 1) await Bun.sleep(2);
  const stopped = world.stop();
  const ready = await fetch(`${world.url}/readyz`);
  await expectError(ready, 503, 'api_error', 'draining');
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  for (;;) {
    const answer = await world.post(caller.secret, bodyOf({ model: 'no-such-model' }));
    if (answer.status !== 400) {
      await expectError(answer, 503, 'api_error', 'draining');
      break;
    }
    await answer.body?.cancel();
    await Bun.sleep(20);
  }
  endNow();
  expect((await running).status).toBe(200);
  await stopped;
});

test('at the time limit a stream ends with an error event and is billed as produced, and a message without output is 503', async () => {
  await using service = await startControlled({
    answer: async (_, signal) => streamOf(EVENTS, { [isFirst() ? 3 : 0]: new Promise(() => {}) }, signal),
  });
  let count = 0;
  function isFirst(): boolean {
    return ++count === 1;
  }
  const secret = await service.makeKey();
  service.gateway.waits = { ...bounds, firstEventWaitMs: 5_000, pingIntervalMs: 20 };
  const begun = await afterReading(await service.post(secret, { stream: true }), (text) => text.includes('Hello'));
  const waiting = service.post(secret, { stream: true });
  while (service.gateway.running.count < 2) await Bun.sleep(2);
  service.gateway.running.cutAll();
  await expectErrorEvent(begun, 'api_error', 'draining');
  const refused = await waiting;
  expect(refused.headers.get('connection')).toBe('close');
  await expectError(refused, 503, 'api_error', 'draining');
  expect(await service.gateway.running.waitUntilEmpty(1_000)).toBe(true);
  // 25 × 3 + ⌈5 ÷ 4⌉ × 15 = 105
  expect(await service.records()).toMatchObject([
    { outcome: 'service_cut', status: 503, cost: 0, usageSource: 'none' },
    { outcome: 'service_cut', status: 200, cost: 105_000, usageSource: 'estimated', outputTokens: 2 },
  ]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});
