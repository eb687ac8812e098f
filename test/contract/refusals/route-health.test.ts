// The health of routes through the whole service: each route has its own, whatever others of its provider do.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

interface Health {
  model: string;
  state: string;
  attempts: number;
  success_rate: number | null;
  faults: { fault: string; count: number }[];
  rejected: number;
  p50_ms: number | null;
}

let turnpike: Turnpike;
let secret: string;
beforeAll(async () => {
  turnpike = await startOwnTurnpike('it counts the attempts of every route');
  secret = (await turnpike.makeKey()).secret;
});
afterAll(() => turnpike.stop());

async function send(model: string, more: object = {}): Promise<number> {
  const messages = [{ role: 'user', content: 'Hello' }];
  const answer = await turnpike.post(secret, { model, max_tokens: 50, messages, ...more });
  await answer.text().catch(() => '');
  return answer.status;
}

async function healthOf(model: string): Promise<Health> {
  const { data } = (await turnpike.admin('GET', `/routes/health?model=${model}`)) as { data: Health[] };
  expect(data).toHaveLength(1);
  return data[0] as Health;
}

test('a route that fails 2 of 2 is degraded, one that was never called is not used, and one that answers is healthy', async () => {
  for (let at = 0; at < 2; at++) expect(await send('sandbox-error-529')).toBe(529);
  expect(await send('sandbox-echo')).toBe(200);
  expect(await send('sandbox-lorem', { stream: true })).toBe(200);
  expect(await healthOf('sandbox-error-529')).toMatchObject({
    state: 'degraded',
    attempts: 2,
    success_rate: 0,
    faults: [{ fault: 'overloaded', count: 2 }],
    p50_ms: null,
  });
  expect(await healthOf('sandbox-thinking')).toMatchObject({ state: 'not_used', attempts: 0, success_rate: null });
  for (const model of ['sandbox-echo', 'sandbox-lorem'])
    expect(await healthOf(model)).toMatchObject({ state: 'healthy', attempts: 1, success_rate: 1, faults: [] });
  expect((await healthOf('sandbox-lorem')).p50_ms).toBeGreaterThan(0);
});

test('a stream that breaks off is a failure of its route', async () => {
  await send('sandbox-cut', { stream: true });
  expect(await healthOf('sandbox-cut')).toMatchObject({
    state: 'degraded',
    success_rate: 0,
    faults: [{ fault: 'cut', count: 1 }],
  });
});

test('content that the provider rejects is no failure of the route', async () => {
  expect(await send('sandbox-error-400')).toBe(400);
  expect(await healthOf('sandbox-error-400')).toMatchObject({ state: 'not_used', attempts: 0, rejected: 1 });
});
