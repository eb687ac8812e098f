// Effects of time: a quota refills at the start of its period, a rate refills continuously, a key expires. The test
// moves the clock and does not wait.

import { expect, test } from 'bun:test';
import type { Period } from '../../../src/base/clock.ts';
import { messageReply, startControlled } from './controlled-service.ts';
import { expectError } from './world.ts';

const DAY_MS = 86_400_000;
const QUOTA = 2_000_000; // the worst case of one message, but not of two
const WORST = { max_tokens: 100 };

test.each<[Period, number]>([
  ['day', DAY_MS],
  ['week', 7 * DAY_MS],
  ['month', 31 * DAY_MS],
])('a quota of a %s is full again when the next one begins', async (quotaPeriod, periodMs) => {
  await using service = await startControlled({ answer: async () => messageReply() });
  const secret = await service.makeKey({ quota: QUOTA, quotaPeriod });
  for (let period = 0; period < 2; period++) {
    expect((await service.post(secret, WORST)).status).toBe(200);
    const refused = await service.post(secret, WORST);
    await expectError(refused, 400, 'billing_error', 'insufficient_user_quota', /quota of this key/);
    service.advance(periodMs);
  }
  expect(await service.records()).toHaveLength(2);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a total quota never refills', async () => {
  await using service = await startControlled({ answer: async () => messageReply() });
  const secret = await service.makeKey({ quota: QUOTA });
  expect((await service.post(secret, WORST)).status).toBe(200);
  service.advance(400 * DAY_MS);
  await expectError(await service.post(secret, WORST), 400, 'billing_error', 'insufficient_user_quota');
});

test('the next request is accepted after the seconds of retry-after, and not before', async () => {
  await using service = await startControlled({ answer: async () => messageReply() });
  for (const [terms, code] of [
    [{ requestsPerMinute: 1 }, 'requests_rate_exceeded'],
    [{ inputTokensPerMinute: 20 }, 'input_tokens_rate_exceeded'],
    [{ outputTokensPerMinute: 10 }, 'output_tokens_rate_exceeded'],
  ] as const) {
    const secret = await service.makeKey(terms);
    expect((await service.post(secret)).status).toBe(200);
    const refused = await service.post(secret);
    const seconds = Number(refused.headers.get('retry-after'));
    await expectError(refused, 429, 'rate_limit_error', code);
    service.advance((seconds - 2) * 1_000);
    expect((await service.post(secret)).status).toBe(429);
    service.advance(2_000);
    expect((await service.post(secret)).status).toBe(200);
  }
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a limit of a group refills for the account', async () => {
  await using service = await startControlled({ limits: { rpm: 1 }, answer: async () => messageReply() });
  const secret = await service.makeKey();
  expect((await service.post(secret)).status).toBe(200);
  expect((await service.post(secret)).status).toBe(429);
  service.advance(60_000);
  expect((await service.post(secret)).status).toBe(200);
});

test('a key is valid up to the moment of its expiry and not after', async () => {
  await using service = await startControlled({ answer: async () => messageReply() });
  const secret = await service.makeKey({ expiresAtMs: service.gateway.clock.nowMs() + 60_000 });
  service.advance(50_000);
  expect((await service.post(secret)).status).toBe(200);
  service.advance(10_000);
  await expectError(await service.post(secret), 401, 'authentication_error', 'key_expired');
});
