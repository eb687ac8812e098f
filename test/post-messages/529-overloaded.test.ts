// This service sheds load: before a body is read there must be room for it, and for its message. Nothing is
// left of what was refused, and one account's flood does not shut out the others.

import { expect, test } from 'bun:test';
import { untilHoldsEnd } from '../support/test-store.ts';
import { EVENTS, type HandMade, startHandMade, streamOf } from './hand-made-service.ts';
import { expectError } from './world.ts';

/** That it is this service's own refusal: of the one shape, with a time to come back at. */
async function expectShed(response: Response, message?: RegExp): Promise<void> {
  expect(Number(response.headers.get('retry-after'))).toBeWithin(1, 6);
  await expectError(response, 529, 'overloaded_error', 'overloaded', message);
}

/** A service whose streams end when `end` is called. */
async function startHeld(settings: Record<string, number>) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const service = await startHandMade({ settings, answer: async () => streamOf(EVENTS, { 3: promise }) });
  return { service, end, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

/** So many streams of the key, all begun. */
async function openStreams(service: HandMade, secret: string, count: number): Promise<Response[]> {
  const streams = await Promise.all(Array.from({ length: count }, () => service.post(secret, { stream: true })));
  expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => 200));
  return streams;
}

async function expectNothingLeft(service: HandMade): Promise<void> {
  for (let tries = 0; tries < 200 && service.gateway.seats.taken > 0; tries++) await Bun.sleep(5);
  expect({ seats: service.gateway.seats.taken, bytes: service.bodies.bytes }).toEqual({ seats: 0, bytes: 0 });
  await untilHoldsEnd(service); // a caller who left may be ahead of the message
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
}

test('a body for which there is no room is overloaded, and nothing is left of it', async () => {
  await using service = await startHandMade({ bodiesBytesMax: 1_000 });
  const secret = await service.makeKey();
  const system = 'x'.repeat(1_000);
  for (let turn = 0; turn < 3; turn++) await expectShed(await service.post(secret, { system }));
  expect(await service.records()).toEqual([]);
  expect((await service.post(secret, { stream: true })).status).toBe(200);
});

test('the room of a body is given back when its stream begins, not when it ends', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using service = await startHandMade({
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

test('while the event loop is late everything is shed, before anybody is asked who it is', async () => {
  let loopDelayMs = 501;
  await using service = await startHandMade({ loopDelayMs: () => loopDelayMs });
  const secret = await service.makeKey();
  await expectShed(await service.post(secret, { stream: true }));
  await expectShed(await service.post('sk-tp-unknown', {}));
  await expectShed(await service.get('/v1/models', secret));
  expect((await service.get('/healthz', secret)).status).toBe(200);
  loopDelayMs = 500;
  expect((await service.post(secret, { stream: true })).status).toBe(200);
});

test('beyond the open messages that are allowed the next is shed, until one has ended', async () => {
  await using held = await startHeld({ shed_open_messages: 4 });
  const { service } = held;
  const secrets = await Promise.all([1, 2, 3].map(() => service.makeKey()));
  const [first = '', second = '', third = ''] = secrets;
  const streams = [...(await openStreams(service, first, 2)), ...(await openStreams(service, second, 1))];
  streams.push(...(await openStreams(service, third, 1)));
  await expectShed(await service.post('sk-tp-unknown', {}), /too many messages/i);
  expect((await service.get('/v1/models', first)).status).toBe(200); // holds nothing
  await streams.pop()?.body?.cancel();
  for (let tries = 0; tries < 200 && service.gateway.seats.taken > 3; tries++) await Bun.sleep(5);
  await openStreams(service, third, 1).then((begun) => streams.push(...begun));
  held.end();
  for (const stream of streams) expect(await stream.text()).toContain('message_stop');
  expect(await service.records()).toHaveLength(5);
  await expectNothingLeft(service);
});

test('the flood of one account is shed at its share, and other accounts are served', async () => {
  await using held = await startHeld({ shed_open_messages: 12 });
  const { service } = held;
  const [loud, quiet] = [await service.makeKey(), await service.makeKey()];
  const flood = await Promise.all(Array.from({ length: 40 }, () => service.post(loud, { stream: true })));
  const refused = flood.filter(({ status }) => status !== 200);
  expect(flood.length - refused.length).toBe(6);
  for (const response of refused) await expectShed(response, /this account has its share/i);
  const streams = await openStreams(service, quiet, 3);
  await expectShed(await service.post(loud, { stream: true }));
  held.end();
  for (const stream of [...streams, ...flood.filter(({ status }) => status === 200)])
    expect(await stream.text()).toContain('message_stop');
  expect(await service.records()).toHaveLength(9);
  await expectNothingLeft(service);
});

test('of the room for bodies, too, one account has no more than its share', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using service = await startHandMade({
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
  await expectShed(await post(loud), /this account is sending more/i);
  const other = post(quiet);
  while (service.gateway.running.count < 3) await Bun.sleep(1);
  resolve();
  await Promise.all([...waiting, other]);
  await expectNothingLeft(service);
});

test('whatever becomes of a message, its seat is free again', async () => {
  await using service = await startHandMade({
    answer: async (upstreamModel) => {
      if (upstreamModel === 'first') throw new Error('a bug');
      return streamOf(EVENTS);
    },
  });
  const secret = await service.makeKey();
  for (const members of [{ model: 'unknown' }, { stream: true }, { stream: false }, { messages: 'none' }])
    await (await service.post(secret, members)).text();
  await service.post('sk-tp-unknown', {});
  const gone = new AbortController();
  const leaving = service.post(secret, { stream: true }, gone.signal).then((response) => response.text());
  gone.abort();
  await leaving.catch(() => {});
  await expectNothingLeft(service);
});
