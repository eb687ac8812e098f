// While the beginning of an answer is held back much may happen to its message: that it ends, that a tracer fails,
// that its host does not let itself be connected to any more. However it ends, nothing of it stays anywhere.

import { expect, test } from 'bun:test';
import { makeEvent } from '../../src/wire/wire.ts';
import { EVENTS, type HandMade, messageReply, startHandMade, streamOf } from '../post-messages/hand-made-service.ts';
import { expectError, expectErrorEvent } from '../post-messages/world.ts';

const never = new Promise<never>(() => {});
const FIRST_CONTENT = 2; // of EVENTS

async function expectNothingLeft({ gateway, check }: HandMade): Promise<void> {
  for (let tries = 0; tries < 500 && gateway.running.count > 0; tries++) await Bun.sleep(2);
  expect([gateway.running.count, gateway.seats.taken]).toEqual([0, 0]);
  expect(gateway.health.list().map(({ inFlight }) => inFlight)).toEqual(gateway.health.list().map(() => 0));
  expect(await check()).toMatchObject({ ok: true, open_holds: 0 });
}

/** Waits until a route has begun to answer. */
function begun(): { signal: Promise<void>; note: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { signal: promise, note: resolve };
}

for (const hasStatus of [false, true])
  test(`what a drain ends in it has the record of what its caller was told (200 sent: ${hasStatus})`, async () => {
    const { signal: isBegun, note } = begun();
    await using service = await startHandMade({
      answer: async (_, signal) => {
        note();
        return streamOf(EVENTS, { [FIRST_CONTENT]: never }, signal);
      },
    });
    if (!hasStatus) service.gateway.waits = { firstEventWaitMs: 60_000, pingIntervalMs: 20 };
    const posting = service.post(await service.makeKey(), { stream: true });
    await isBegun;
    const response = hasStatus ? await posting : null;
    await Bun.sleep(20); // its beginning was read
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

test('money that ends while nothing is seen stops the one route, asks no other, and bills what was paid for', async () => {
  const asked: string[] = [];
  const { signal: isBegun, note } = begun();
  await using service = await startHandMade({
    answer: async (model, signal) => {
      asked.push(model);
      note();
      return streamOf(EVENTS, { [FIRST_CONTENT]: never }, signal);
    },
  });
  const running: { stopForMoney?(): void }[] = [];
  const add = service.gateway.running.add.bind(service.gateway.running);
  service.gateway.running.add = (message) => {
    running.push(message as never);
    add(message);
  };
  const posting = service.post(await service.makeKey(), { stream: true });
  await isBegun;
  await Bun.sleep(5);
  running[0]?.stopForMoney?.();
  const response = await posting;
  if (response.status === 200) await expectErrorEvent(response, 'billing_error', 'insufficient_user_quota');
  else await expectError(response, 400, 'billing_error', 'insufficient_user_quota');
  await expectNothingLeft(service);
  expect(asked).toEqual(['first']);
  expect(await service.records()).toMatchObject([{ outcome: 'quota_cut', inputTokens: 25 }]);
});

test('a route that is cut by its time and by the drain at once ends once, and no other is asked', async () => {
  const asked: string[] = [];
  await using service = await startHandMade({
    answer: async (model, signal) => {
      asked.push(model);
      return streamOf(EVENTS, { [FIRST_CONTENT]: never }, signal);
    },
  });
  const running: { stop?(reason: 'timeout'): void }[] = [];
  const add = service.gateway.running.add.bind(service.gateway.running);
  service.gateway.running.add = (message) => {
    running.push(message as never);
    add(message);
  };
  const posting = service.post(await service.makeKey(), { stream: true });
  while (asked.length === 0) await Bun.sleep(2);
  await Bun.sleep(5);
  running[0]?.stop?.('timeout');
  service.gateway.running.cutAll();
  const response = await posting;
  expect(await response.text()).toContain('draining');
  await expectNothingLeft(service);
  expect(asked).toEqual(['first']);
  expect(await service.records()).toMatchObject([{ outcome: 'service_cut', attempts: [{}] }]);
});

test('a tracer that fails at any moment changes nothing for the message', async () => {
  const fail = () => {
    throw new RangeError('secret of the machine');
  };
  for (const stream of [false, true]) {
    const signals: AbortSignal[] = [];
    await using service = await startHandMade({
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

test('a mistake about the health of routes leaves no hold and no seat, and charges nothing', async () => {
  await using service = await startHandMade();
  const enter = service.gateway.health.enter.bind(service.gateway.health);
  service.gateway.health.enter = (candidate) => {
    const passage = enter(candidate);
    if (passage === null) return null;
    return {
      answered: (isWhole) => passage.answered(isWhole),
      failed: (kind, retryAfterMs) => passage.failed(kind, retryAfterMs),
      finish: () => {
        passage.finish();
        throw new RangeError('secret of the machine');
      },
    };
  };
  const text = await (await service.post(await service.makeKey(), { stream: true })).text();
  expect(text).not.toContain('secret');
  await expectNothingLeft(service);
  expect(await service.records()).toMatchObject([{ outcome: 'failed', cost: 0 }]);
});

test('that it cannot be found out whether a host is there ends no attempt', async () => {
  await using service = await startHandMade({
    settings: { upstream_connect_seconds: 1 },
    answer: async () => streamOf(EVENTS, { 0: Bun.sleep(1_500) }),
  });
  let asked = 0;
  service.gateway.canConnect = () => {
    asked++;
    return Promise.reject(new RangeError('too many open files'));
  };
  expect(await (await service.post(await service.makeKey(), { stream: true })).text()).toContain('message_stop');
  expect(asked).toBe(1);
  expect(await service.records()).toMatchObject([{ outcome: 'completed', attempts: [{ result: 'answered' }] }]);
});

test('a host that lets nobody in any more does not end the attempt that it answers', async () => {
  const begins = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  await using service = await startHandMade({
    settings: { upstream_connect_seconds: 1 },
    answer: async (_, signal) => streamOf(EVENTS, { 0: begins.promise, [FIRST_CONTENT]: goesOn.promise }, signal),
  });
  const isAsked = Promise.withResolvers<void>();
  const isThere = Promise.withResolvers<boolean>();
  service.gateway.canConnect = () => {
    isAsked.resolve();
    return isThere.promise;
  };
  const posting = service.post(await service.makeKey(), { stream: true });
  await isAsked.promise;
  begins.resolve();
  await Bun.sleep(20); // its beginning was read, and is held back
  isThere.resolve(false);
  await Bun.sleep(20);
  goesOn.resolve();
  expect(await (await posting).text()).toContain('message_stop');
  expect(await service.records()).toMatchObject([{ upstreamModel: 'first', attempts: [{ result: 'answered' }] }]);
});

test('one that thinks unseen while its beginning is held back gets its 200 and pings, and then all of it', async () => {
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
  await using service = await startHandMade({ answer: async () => streamOf(events, { [FIRST_CONTENT]: thinks }) });
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
