// Circuit breakers: a route that fails several times in a row is tried after all others for a while; then one message
// probes it. A route carries at most as many concurrent messages as its limit, and operators see the health of each
// route.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { ProviderFault } from '../../../src/providers/providers.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { EVENTS, startControlled, streamOf } from '../post-messages/controlled-service.ts';
import { bodyOf, expectError, type Json, startWorld } from '../post-messages/world.ts';

const FAILURES = 3;
const price = { input: '3', output: '15' };
const world = await startWorld({
  models: {
    bounded: {
      price,
      routes: [
        { provider: 'first', model: 'bounded', concurrency: 1 },
        { provider: 'second', model: 'bounded', priority: 1, concurrency: 1 },
      ],
    },
  },
  settings: { circuit_failures: FAILURES },
});
afterAll(() => world.stop());
const { secret } = await world.makeKey();

beforeEach(() => {
  for (const upstream of [world.upstream, world.second]) {
    upstream.requests.length = 0;
    upstream.play(scripts.good());
  }
});

const ask = (model: string, members: Json = {}) => world.post(secret, bodyOf({ model, ...members }));

async function seriesOf(name: string): Promise<string[]> {
  const text = await (await world.scrape()).text();
  return text.split('\n').filter((line) => line.startsWith(name) && line.includes('provider="first"'));
}

test('a route with consecutive failures is tried last, and is listed as open', async () => {
  world.upstream.play(scripts.error(500, 'api_error', 'Internal server error'));
  for (let time = 0; time < FAILURES + 5; time++) expect((await ask('paired')).status).toBe(200);
  expect(world.upstream.requests).toHaveLength(FAILURES);
  const shown = await world.admin('GET', '/providers/first');
  expect(shown['routes']).toMatchObject([
    {
      model: 'upstream-model',
      credential: 'default',
      state: 'open',
      failures_in_a_row: FAILURES,
      in_flight: 0,
      last_failure: { fault: 'failed' },
    },
  ]);
  expect(await seriesOf('turnpike_upstream_routes')).toContain(
    'turnpike_upstream_routes{provider="first",state="open"} 1',
  );
  await expectError(await ask('plain'), 502, 'api_error', 'upstream_failed');
  expect(world.upstream.requests).toHaveLength(FAILURES + 1);
  world.upstream.play(scripts.good());
  expect((await ask('plain')).status).toBe(200); // the probe succeeded: the circuit is closed
  expect((await ask('paired')).status).toBe(200);
  expect(world.upstream.requests).toHaveLength(FAILURES + 3);
});

test('a target removed from the catalog is not listed', async () => {
  const left = { provider: 'first', model: 'left' };
  const priced = (routes: Json[]) => ({ document: { models: { shrinking: { price, routes } } } });
  await world.admin('POST', '/apply', priced([left, { provider: 'second', model: 'left', priority: 1 }]));
  world.upstream.play(scripts.error(500, 'api_error', 'Internal server error'));
  for (let time = 0; time < FAILURES; time++) expect((await ask('shrinking')).status).toBe(200);
  const modelsShown = async () =>
    ((await world.admin('GET', '/providers/first'))['routes'] as Json[]).map(({ model }) => model);
  expect(await modelsShown()).toContain('left');
  await world.admin('POST', '/apply', priced([{ provider: 'second', model: 'left' }]));
  expect(await modelsShown()).not.toContain('left');
});

test('invalid requests of clients do not open a circuit', async () => {
  world.upstream.play(scripts.refusedContent());
  for (let time = 0; time < 2 * FAILURES; time++)
    await expectError(await ask('paired'), 400, 'invalid_request_error', 'upstream_rejected');
  world.upstream.play(scripts.good());
  expect((await ask('paired')).status).toBe(200);
  expect(world.second.requests).toHaveLength(0);
});

test('responses that break off midway open the circuit, too', async () => {
  world.upstream.play(scripts.dropMidStream());
  for (let time = 0; time < FAILURES; time++)
    expect(await (await ask('paired', { stream: true })).text()).toContain('event: error');
  expect(await (await ask('paired', { stream: true })).text()).toContain('event: message_stop');
  expect(world.upstream.requests).toHaveLength(FAILURES);
  world.upstream.play(scripts.good());
  expect((await ask('plain')).status).toBe(200);
});

test('when half open, one message at a time probes the route, and other messages use another route', async () => {
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  const tried: string[] = [];
  let isBroken = true;
  await using service = await startControlled({
    settings: { circuit_failures: FAILURES },
    answer: async (upstreamModel) => {
      tried.push(upstreamModel);
      if (upstreamModel !== 'first') return streamOf(EVENTS);
      if (isBroken) throw new ProviderFault('overloaded', 'Overloaded', { status: 529 });
      return streamOf(EVENTS, { 0: promise });
    },
  });
  const key = await service.makeKey();
  const stream = async () => (await service.post(key, { stream: true })).text();
  for (let time = 0; time < FAILURES; time++) await stream();
  tried.length = 0;
  await stream();
  expect(tried).toEqual(['second']);
  service.advance(5_000);
  isBroken = false;
  const probe = stream();
  while (!tried.includes('first')) await Bun.sleep(2);
  expect(service.gateway.health.list()).toMatchObject([{ model: 'first', state: 'half_open', inFlight: 1 }, {}]);
  await stream();
  expect(tried).toEqual(['second', 'first', 'second']);
  goOn();
  expect(await probe).toContain('message_stop');
  await stream();
  expect(tried.at(-1)).toBe('first');
  expect((await service.check()).ok).toBe(true);
});

test('a route carries up to its concurrency limit; further messages use another route or get an error', async () => {
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  for (const upstream of [world.upstream, world.second])
    upstream.play(async (answer, request) => {
      await promise;
      await scripts.good()(answer, request);
    });
  const running = [ask('bounded'), ask('bounded', { stream: true })];
  while (world.upstream.requests.length + world.second.requests.length < 2) await Bun.sleep(2);
  expect([world.upstream.requests.length, world.second.requests.length]).toEqual([1, 1]);
  expect(await seriesOf('turnpike_upstream_in_flight')).toEqual(['turnpike_upstream_in_flight{provider="first"} 1']);
  await expectError(await ask('bounded'), 529, 'overloaded_error', 'upstream_overloaded');
  goOn();
  for (const response of await Promise.all(running)) {
    expect(response.status).toBe(200);
    await response.text();
  }
  expect((await ask('bounded')).status).toBe(200);
  expect(await world.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a client that disconnects frees its slot on the route when its provider is done', async () => {
  world.upstream.play(scripts.hangMidStream()); // the upstream waits until its client disconnects
  world.second.play(scripts.hangMidStream());
  const client = new AbortController();
  const response = await world.post(secret, bodyOf({ model: 'bounded', stream: true }), { signal: client.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  client.abort();
  await world.upstream.aborted();
  for (;;) {
    const { routes } = (await world.admin('GET', '/providers/first')) as {
      routes: { model: string; in_flight: number }[];
    };
    if (routes.find(({ model }) => model === 'bounded')?.in_flight === 0) break;
    await Bun.sleep(5);
  }
  world.upstream.play(scripts.good());
  world.upstream.requests.length = 0;
  expect((await ask('bounded')).status).toBe(200);
  expect(world.upstream.requests).toHaveLength(1);
});
