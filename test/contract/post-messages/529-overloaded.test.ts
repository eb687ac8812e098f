// Load shedding: a body is read only if there is memory for it, and a slot for its message. A refused request leaves
// nothing behind, and a flood of one account does not block others.

import { expect, test } from 'bun:test';
import { untilHoldsEnd } from '../../support/test-store.ts';
import { type ControlledService, EVENTS, startControlled, streamOf } from './controlled-service.ts';
import { expectError } from './world.ts';

/** Expects this service's own refusal: in the standard format, with a retry time. */
async function expectShed(response: Response, message?: RegExp): Promise<void> {
  expect(Number(response.headers.get('retry-after'))).toBeWithin(1, 6);
  await expectError(response, 529, 'overloaded_error', 'overloaded', message);
}

/** A service whose streams end when `end` is called. */
async function startWithOpenStreams(settings: Record<string, number>) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const service = await startControlled({ settings, answer: async () => streamOf(EVENTS, { 3: promise }) });
  return { service, end, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

/** Opens a number of streams of the key, and waits until all have begun. */
async function openStreams(service: ControlledService, secret: string, count: number): Promise<Response[]> {
  const streams = await Promise.all(Array.from({ length: count }, () => service.post(secret, { stream: true })));
  expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => 200));
  return streams;
}

async function expectNothingLeft(service: ControlledService): Promise<void> {
  for (let tries = 0; tries < 200 && service.gateway.slots.taken > 0; tries++) await Bun.sleep(5);
  expect({ slots: service.gateway.slots.taken, bytes: service.bodies.bytes }).toEqual({ slots: 0, bytes: 0 });
  await untilHoldsEnd(service); // the client may disconnect before the hold exists
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
}

test('a body that exceeds the free memory for bodies gets overloaded, and nothing of it remains', async () => {
  await using service = await startControlled({ bodiesBytesMax: 1_000 });
  const secret = await service.makeKey();
  const system = 'x'.repeat(1_000);
  for (let turn = 0; turn < 3; turn++) await expectShed(await service.post(secret, { system }));
  expect(await service.records()).toEqual([]);
  expect((await service.post(secret, { stream: true })).status).toBe(200);
});

test('the memory of a body is freed when its stream begins, not when it ends', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using service = await startControlled({
    bodiesBytesMax: 1_000,
    answer: async () => streamOf(EVENTS, { 3: promise }),
  });
  const secret = await service.makeKey();
  const streams: Response[] = [];
  for (let turn = 0; turn < 5; turn++)
    streams.push(await service.post(secret, { stream: true, system: 'x'.repeat(500) }));
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  resolve();
  for (const stream of streams) expect(await stream.text()).toContain('message_stop');
  await expectNothingLeft(service);
});

test('while the event loop is late everything is shed, before the key is checked', async () => {
  let loopDelayMs = 501;
  await using service = await startControlled({ loopDelayMs: () => loopDelayMs });
  const secret = await service.makeKey();
  await expectShed(await service.post(secret, { stream: true }));
  await expectShed(await service.post('sk-tp-unknown', {}));
  await expectShed(await service.get('/v1/models', secret));
  expect((await service.get('/healthz', secret)).status).toBe(200);
  loopDelayMs = 500;
  expect((await service.post(secret, { stream: true })).status).toBe(200);
});

test('a message beyond the maximum of open messages is shed, until one of them ends', async () => {
  await using held = await startWithOpenStreams({ shed_open_messages: 4 });
  const { service } = held;
  const secrets = await Promise.all([1, 2, 3].map(() => service.makeKey()));
  const [first = '', second = '', third = ''] = secrets;
  const streams = [...(await openStreams(service, first, 2)), ...(await openStreams(service, second, 1))];
  streams.push(...(await openStreams(service, third, 1)));
  await expectShed(await service.post('sk-tp-unknown', {}), /too many messages/i);
  expect((await service.get('/v1/models', first)).status).toBe(200); // this request has no hold
  await streams.pop()?.body?.cancel();
  for (let tries = 0; tries < 200 && service.gateway.slots.taken > 3; tries++) await Bun.sleep(5);
  await openStreams(service, third, 1).then((begun) => streams.push(...begun));
  held.end();
  for (const stream of streams) expect(await stream.text()).toContain('message_stop');
  expect(await service.records()).toHaveLength(5);
  await expectNothingLeft(service);
});

test('a flood of one account is shed at its share, and other accounts are served', async () => {
  await using held = await startWithOpenStreams({ shed_open_messages: 12 });
  const { service } = held;
  const [loud, quiet] = [await service.makeKey(), await service.makeKey()];
  const flood = await Promise.all(Array.from({ length: 40 }, () => service.post(loud, { stream: true })));
  const refused = flood.filter(({ status }) => status !== 200);
  expect(flood.length - refused.length).toBe(6);
  for (const response of refused) await expectShed(response, /this account is using its full share/i);
  const streams = await openStreams(service, quiet, 3);
  await expectShed(await service.post(loud, { stream: true }));
  held.end();
  for (const stream of [...streams, ...flood.filter(({ status }) => status === 200)])
    expect(await stream.text()).toContain('message_stop');
  expect(await service.records()).toHaveLength(9);
  await expectNothingLeft(service);
});

test('one account gets no more than its share of the memory for bodies', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using service = await startControlled({
    bodiesBytesMax: 10_000,
    answer: async () => {
      await promise;
      return streamOf(EVENTS);
    },
  });
  const [loud, quiet] = [await service.makeKey(), await service.makeKey()];
  const post = (secret: string) => service.post(secret, { stream: false, system: 'x'.repeat(2_000) });
  const waiting = [post(loud), post(loud)];
  while (service.gateway.running.count < 2) await Bun.sleep(1);
  await expectShed(await post(loud), /bodies of this account exceed/i);
  const other = post(quiet);
  while (service.gateway.running.count < 3) await Bun.sleep(1);
  resolve();
  await Promise.all([...waiting, other]);
  await expectNothingLeft(service);
});

test('however a message ends, its in-flight slot is freed', async () => {
  await using service = await startControlled({
    answer: async (upstreamModel) => {
      if (upstreamModel === 'first') throw new Error('a bug');
      return streamOf(EVENTS);
    },
  });
  const secret = await service.makeKey();
  for (const members of [{ model: 'unknown' }, { stream: true }, { stream: false }, { messages: 'none' }])
    await (await service.post(secret, members)).text();
  await service.post('sk-tp-unknown', {});
  const disconnect = new AbortController();
  const leaving = service.post(secret, { stream: true }, disconnect.signal).then((response) => response.text());
  disconnect.abort();
  await leaving.catch(() => {});
  await expectNothingLeft(service);
});
