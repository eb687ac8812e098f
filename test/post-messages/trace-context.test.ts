// The trace that a caller names, while this service traces nothing itself: every provider that is asked
// is told of it as it came. With tracing on, see test/observability/traces.test.ts.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { scripts } from '../support/scripted-upstream.ts';
import { bodyOf, startWorld } from './world.ts';

const world = await startWorld();
afterAll(() => world.stop());
beforeEach(() => {
  world.upstream.play(scripts.good());
  world.upstream.requests.length = 0;
  world.second.requests.length = 0;
});

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';

async function send(headers: Record<string, string>, body = bodyOf()) {
  const { secret } = await world.makeKey();
  const response = await world.post(secret, body, { headers });
  expect(response.status).toBe(200);
  await response.text();
  return [...world.upstream.requests, ...world.second.requests].map(({ headers: { traceparent, tracestate } }) => ({
    traceparent,
    tracestate,
  }));
}

test('a caller’s trace is told to the provider as it came', async () => {
  const sent = { traceparent: TRACEPARENT, tracestate: 'congo=t61rcWkgMzE' };
  expect(await send(sent, bodyOf({ stream: true }))).toEqual([sent]);
});

test('every route that is tried is told', async () => {
  world.upstream.play(scripts.overloaded());
  const told = { traceparent: TRACEPARENT, tracestate: undefined };
  expect(await send({ traceparent: TRACEPARENT }, bodyOf({ model: 'paired' }))).toEqual([told, told]);
});

test('a trace that is none is not told, and refuses nothing', async () => {
  const nothing = { traceparent: undefined, tracestate: undefined };
  expect(await send({ traceparent: 'yes', tracestate: 'congo=t61rcWkgMzE' })).toEqual([nothing]);
});

test('a state too long to send on is left out, and the trace goes on', async () => {
  const told = { traceparent: TRACEPARENT, tracestate: undefined };
  expect(await send({ traceparent: TRACEPARENT, tracestate: `congo=${'x'.repeat(600)}` })).toEqual([told]);
});

test('without a trace nothing is invented', async () => {
  expect(await send({})).toEqual([{ traceparent: undefined, tracestate: undefined }]);
});
