// Pings fill the time in which nothing else is sent: before the first event, in the middle, and while the end waits
// for settlement. These tests use intervals of a few milliseconds.

import { expect, test } from 'bun:test';
import { ProviderFault } from '../../../src/providers/providers.ts';
import { type ControlledService, EVENTS, startControlled, streamOf } from './controlled-service.ts';
import { allEventsOf, expectErrorEvent, expectHeadersOfAll } from './world.ts';

const NAMES = EVENTS.map(({ name }) => name);
const namesOf = (text: string) => allEventsOf(text).map(({ name }) => name);
const withoutPings = (names: readonly string[]) => names.filter((name) => name !== 'ping');

/** Reads the text of a stream until `isEnough`, and later the rest of it. */
async function readUntil(response: Response, isEnough: (text: string) => boolean) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  const read = async () => {
    const { done, value } = await reader.read();
    text += Buffer.from(value ?? []).toString();
    return done;
  };
  while (!isEnough(text)) if (await read()) break;
  return {
    begun: text,
    async rest() {
      while (!(await read()));
      return text;
    },
    leave: () => reader.cancel(),
  };
}

async function expectBilled(service: ControlledService, record: object): Promise<void> {
  for (let tries = 0; tries < 200 && service.gateway.running.count > 0; tries++) await Bun.sleep(5);
  expect(await service.records()).toMatchObject([record]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
}

const BILLED = { outcome: 'completed', inputTokens: 25, outputTokens: 12, cost: 255_000, usageSource: 'reported' };

test('a stream with a slow first event gets its 200 and pings, then all of its events', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using service = await startControlled({ answer: async () => streamOf(EVENTS, { 0: promise }) });
  const response = await service.post(await service.makeKey(), { stream: true });
  expect(response.status).toBe(200);
  expectHeadersOfAll(response);
  const stream = await readUntil(response, (text) => text.split('event: ping').length > 3);
  expect(withoutPings(namesOf(stream.begun))).toEqual([]);
  resolve();
  expect(withoutPings(namesOf(await stream.rest()))).toEqual(NAMES);
  await expectBilled(service, BILLED);
});

test('after pings another route is still tried, and the client does not notice', async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  await using service = await startControlled({
    answer: (model) => (model === 'first' ? promise : Promise.resolve(streamOf(EVENTS))),
  });
  const response = await service.post(await service.makeKey(), { stream: true });
  const stream = await readUntil(response, (text) => text.includes('event: ping'));
  reject(new ProviderFault('overloaded', 'Overloaded', { status: 529 }));
  expect(withoutPings(namesOf(await stream.rest()))).toEqual(NAMES);
  await expectBilled(service, { ...BILLED, upstreamModel: 'second' });
});

test('after pings the last failure is an error event, and nothing is charged', async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  await using service = await startControlled({ answer: () => promise });
  const response = await service.post(await service.makeKey(), { stream: true });
  const stream = await readUntil(response.clone() as Response, (text) => text.includes('event: ping'));
  reject(new ProviderFault('overloaded', 'Overloaded', { status: 529 }));
  await stream.rest();
  const events = await expectErrorEvent(response, 'overloaded_error', 'upstream_overloaded');
  expect(withoutPings(events.map(({ name }) => name))).toEqual(['error']);
  await expectBilled(service, { outcome: 'failed', status: 529, cost: 0, usageSource: 'none' });
});

test('a pause in the middle is filled with whole ping events', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using service = await startControlled({ answer: async () => streamOf(EVENTS, { 3: promise }) });
  const response = await service.post(await service.makeKey(), { stream: true });
  const stream = await readUntil(response, (text) => text.split('event: ping').length > 2);
  resolve();
  const names = namesOf(await stream.rest());
  expect(withoutPings(names)).toEqual(NAMES);
  expect(names[3]).toBe('ping');
  await expectBilled(service, BILLED);
});

test('a client that disconnects after only pings pays what the provider reports', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using service = await startControlled({ answer: async () => streamOf(EVENTS, { 0: promise }) });
  const response = await service.post(await service.makeKey(), { stream: true });
  const stream = await readUntil(response, (text) => text.includes('event: ping'));
  await stream.leave();
  await Bun.sleep(30);
  resolve();
  await expectBilled(service, { ...BILLED, outcome: 'client_gone', status: 499 });
});
