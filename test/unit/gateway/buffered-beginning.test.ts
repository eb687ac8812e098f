// Events while the beginning of a response is buffered: the message ends, a tracer fails, a host accepts no more
// connections. In every case nothing remains held.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import type { OpenMessage } from '../../../src/gateway/open-message.ts';
import { makeEvent } from '../../../src/wire/wire.ts';
import {
  type ControlledService,
  EVENTS,
  messageReply,
  startControlled,
  streamOf,
} from '../../contract/post-messages/controlled-service.ts';
import { expectError, expectErrorEvent } from '../../contract/post-messages/world.ts';

const never = new Promise<never>(() => {});
const FIRST_CONTENT = 2; // index in EVENTS

async function expectNothingLeft({ gateway, check }: ControlledService): Promise<void> {
  for (let tries = 0; tries < 500 && gateway.running.count > 0; tries++) await Bun.sleep(2);
  expect([gateway.running.count, gateway.slots.taken]).toEqual([0, 0]);
  expect(gateway.health.list().map(({ inFlight }) => inFlight)).toEqual(gateway.health.list().map(() => 0));
  expect(await check()).toMatchObject({ ok: true, open_holds: 0 });
}

/** Waits until a route has begun to respond. */
function begun(): { signal: Promise<void>; note: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { signal: promise, note: resolve };
}

for (const hasStatus of [false, true])
  test(`a message ended by a drain has a record that matches the response of its client (200 sent: ${hasStatus})`, async () => {
    const { signal: isBegun, note } = begun();
    await using service = await startControlled({
      answer: async (_, signal) => {
        note();
        return streamOf(EVENTS, { [FIRST_CONTENT]: never }, signal);
      },
    });
    if (!hasStatus) service.gateway.waits = { ...bounds, firstEventWaitMs: 60_000, pingIntervalMs: 20 };
    const posting = service.post(await service.makeKey(), { stream: true });
    await isBegun;
    const response = hasStatus ? await posting : null;
    await Bun.sleep(20); // the service has read its beginning
    service.gateway.running.cutAll();
    if (response === null) await expectError(await posting, 503, 'api_error', 'draining');
    else await expectErrorEvent(response, 'api_error', 'draining');
    await expectNothingLeft(service);
    expect(await service.records()).toMatchObject([
      {
        outcome: 'service_cut',
        status: hasStatus ? 200 : 503,
        inputTokens: 25,
        attempts: [{ model: 'first', result: 'aborted' }],
      },
    ]);
    expect(service.reports.map(({ code }) => code)).toEqual(['draining']);
  });

test('if the money runs out before any content, the route is stopped, no other is tried, and the paid part is billed', async () => {
  const admissionRequest: string[] = [];
  const { signal: isBegun, note } = begun();
  await using service = await startControlled({
    answer: async (model, signal) => {
      admissionRequest.push(model);
      note();
      return streamOf(EVENTS, { [FIRST_CONTENT]: never }, signal);
    },
  });
  const running: OpenMessage[] = [];
  const add = service.gateway.running.add.bind(service.gateway.running);
  service.gateway.running.add = (message) => {
    running.push(message);
    add(message);
  };
  const posting = service.post(await service.makeKey(), { stream: true });
  await isBegun;
  await Bun.sleep(5);
  running[0]?.stop('money');
  const response = await posting;
  if (response.status === 200) await expectErrorEvent(response, 'billing_error', 'insufficient_user_quota');
  else await expectError(response, 400, 'billing_error', 'insufficient_user_quota');
  await expectNothingLeft(service);
  expect(admissionRequest).toEqual(['first']);
  expect(await service.records()).toMatchObject([{ outcome: 'quota_cut', inputTokens: 25 }]);
});

test('a route ended by its timeout and by the drain at the same time ends once, and no other is tried', async () => {
  const admissionRequest: string[] = [];
  await using service = await startControlled({
    settings: { upstream_silence_seconds: 30 },
    answer: async (model, signal) => {
      admissionRequest.push(model);
      return streamOf(EVENTS, { [FIRST_CONTENT]: never }, signal);
    },
  });
  const running: OpenMessage[] = [];
  const add = service.gateway.running.add.bind(service.gateway.running);
  service.gateway.running.add = (message) => {
    running.push(message);
    add(message);
  };
  const posting = service.post(await service.makeKey(), { stream: true });
  while (admissionRequest.length === 0) await Bun.sleep(2);
  await Bun.sleep(5);
  running[0]?.watch.look(performance.now() + 31_000);
  service.gateway.running.cutAll();
  const response = await posting;
  expect(await response.text()).toContain('draining');
  await expectNothingLeft(service);
  expect(admissionRequest).toEqual(['first']);
  expect(await service.records()).toMatchObject([{ outcome: 'service_cut', attempts: [{}] }]);
});

test('a failing tracer does not affect the message', async () => {
  const fail = () => {
    throw new RangeError('secret of the machine');
  };
  for (const stream of [false, true]) {
    const signals: AbortSignal[] = [];
    await using service = await startControlled({
      answer: async (model, signal) => {
        signals.push(signal);
        if (model === 'first') throw new TypeError('it fails');
        return stream ? streamOf(EVENTS) : messageReply();
      },
    });
    service.gateway.trace = () => ({ beginAttempt: fail, endAttempt: fail, end: fail });
    const response = await service.post(await service.makeKey(), { stream });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(stream ? 'message_stop' : 'end_turn');
    await expectNothingLeft(service);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(await service.records()).toMatchObject([
      { outcome: 'completed', outputTokens: 12, attempts: [{ result: 'failed' }, { result: 'answered' }] },
    ]);
  }
});

test('an internal error in route health leaves no hold or slot and charges nothing', async () => {
  await using service = await startControlled();
  const enter = service.gateway.health.enter.bind(service.gateway.health);
  service.gateway.health.enter = (target) => {
    const permit = enter(target);
    const finish = permit?.finish.bind(permit);
    if (permit !== null)
      permit.finish = () => {
        finish?.();
        throw new RangeError('secret of the machine');
      };
    return permit;
  };
  const text = await (await service.post(await service.makeKey(), { stream: true })).text();
  expect(text).not.toContain('secret');
  await expectNothingLeft(service);
  expect(await service.records()).toMatchObject([{ outcome: 'failed', cost: 0 }]);
});

test('a failed connection check ends no attempt', async () => {
  await using service = await startControlled({
    settings: { upstream_connect_seconds: 1 },
    answer: async () => streamOf(EVENTS, { 0: Bun.sleep(1_500) }),
  });
  let admissionRequest = 0;
  service.gateway.canConnect = () => {
    admissionRequest++;
    return Promise.reject(new RangeError('too many open files'));
  };
  expect(await (await service.post(await service.makeKey(), { stream: true })).text()).toContain('message_stop');
  expect(admissionRequest).toBe(1);
  expect(await service.records()).toMatchObject([{ outcome: 'completed', attempts: [{ result: 'answered' }] }]);
});

test('a host that accepts no new connections still answers a running attempt', async () => {
  const begins = Promise.withResolvers<void>();
  const mayContinue = Promise.withResolvers<void>();
  await using service = await startControlled({
    settings: { upstream_connect_seconds: 1 },
    answer: async (_, signal) => streamOf(EVENTS, { 0: begins.promise, [FIRST_CONTENT]: mayContinue.promise }, signal),
  });
  const isRequested = Promise.withResolvers<void>();
  const isThere = Promise.withResolvers<boolean>();
  service.gateway.canConnect = () => {
    isRequested.resolve();
    return isThere.promise;
  };
  const posting = service.post(await service.makeKey(), { stream: true });
  await isRequested.promise;
  begins.resolve();
  await Bun.sleep(20); // the service has read and buffered its beginning
  isThere.resolve(false);
  await Bun.sleep(20);
  mayContinue.resolve();
  expect(await (await posting).text()).toContain('message_stop');
  expect(await service.records()).toMatchObject([{ upstreamModel: 'first', attempts: [{ result: 'answered' }] }]);
});

test('a stream with hidden thinking gets status 200 and pings, then all of its events', async () => {
  const { promise: thinks, resolve: speak } = Promise.withResolvers<void>();
  const thinking = makeEvent({
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'thinking', thinking: '', signature: '' },
  });
  const signed = makeEvent({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'signature_delta', signature: 'c2ln' },
  });
  const events = [EVENTS[0] as (typeof EVENTS)[0], thinking, signed, ...EVENTS.slice(3)];
  await using service = await startControlled({ answer: async () => streamOf(events, { [FIRST_CONTENT]: thinks }) });
  const response = await service.post(await service.makeKey(), { stream: true });
  expect(response.status).toBe(200);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  expect((await read()).replaceAll('event: ping\ndata: {"type":"ping"}\n\n', 'ping ')).toMatch(/^(?:ping )+$/);
  speak();
  let text = '';
  for (let piece = await read(); piece !== ''; piece = await read()) text += piece;
  expect(text.replaceAll('event: ping\ndata: {"type":"ping"}\n\n', '')).toStartWith('event: message_start');
  expect(text).toContain('message_stop');
});
