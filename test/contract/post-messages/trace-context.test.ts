// The trace context of a client if this service exports no traces itself: every provider that is tried receives it
// unchanged. test/unit/observability/telemetry.test.ts covers a service that exports traces.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());
beforeEach(() => world.reset());

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

test('a client’s trace context is forwarded to the provider unchanged', async () => {
  const sent = { traceparent: TRACEPARENT, tracestate: 'congo=t61rcWkgMzE' };
  expect(await send(sent, bodyOf({ stream: true }))).toEqual([sent]);
});

test('every route that is tried receives it', async () => {
  world.upstream.play(scripts.overloaded());
  const forwarded = { traceparent: TRACEPARENT, tracestate: undefined };
  expect(await send({ traceparent: TRACEPARENT }, bodyOf({ model: 'paired' }))).toEqual([forwarded, forwarded]);
});

test('an invalid trace context is not forwarded, and the request is accepted nevertheless', async () => {
  const nothing = { traceparent: undefined, tracestate: undefined };
  expect(await send({ traceparent: 'yes', tracestate: 'congo=t61rcWkgMzE' })).toEqual([nothing]);
});

test('a trace state that is too long is left out, and the trace parent is forwarded', async () => {
  const forwarded = { traceparent: TRACEPARENT, tracestate: undefined };
  expect(await send({ traceparent: TRACEPARENT, tracestate: `congo=${'x'.repeat(600)}` })).toEqual([forwarded]);
});

test('without a trace context the provider gets none', async () => {
  expect(await send({})).toEqual([{ traceparent: undefined, tracestate: undefined }]);
});
