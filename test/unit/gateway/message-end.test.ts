// The end of a message: the amount billed when the money runs out, and that it is billed and reported once.

import { expect, test } from 'bun:test';
import type { ProviderReply } from '../../../src/providers/providers.ts';
import { makeEvent, type StreamEvent } from '../../../src/wire/wire.ts';
import { EVENTS, startControlled, streamOf } from '../../contract/post-messages/controlled-service.ts';
import { eventsOf, expectErrorEvent } from '../../contract/post-messages/world.ts';

const PROMPT_NANO = 25 * 3_000;
const TOKEN_NANO = 15_000;

/** A whole response of the given number of tokens, both sent and reported. */
function answerOf(tokens: number): StreamEvent[] {
  const delta = { type: 'text_delta', text: 'x'.repeat(tokens * 4) };
  const usage = { output_tokens: tokens };
  return [
    ...EVENTS.slice(0, 2),
    makeEvent({ type: 'content_block_delta', index: 0, delta }),
    makeEvent({ type: 'content_block_stop', index: 0 }),
    makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }),
    makeEvent({ type: 'message_stop' }),
  ];
}

/**
 * A reply that begins with the first event and yields the others in chunks of the given size, optionally waiting for
 * a promise before the second.
 */
function pieces(events: readonly StreamEvent[], size: number, wait: Promise<void>, signal: AbortSignal): ProviderReply {
  let place = 0;
  const next = async () => {
    if (place > 0) await wait;
    signal.throwIfAborted();
    const piece = events.slice(place, place === 0 ? 1 : place + size);
    place += piece.length;
    return piece.length === 0 ? null : piece;
  };
  return { form: 'stream', upstreamRequestId: null, events: { next } };
}

test('a response that arrives at once and exceeds the money is billed only as far as it is covered', async () => {
  await using service = await startControlled({
    answer: async (_, signal) => pieces(answerOf(1_000), 10, Promise.resolve(), signal),
  });
  const quota = PROMPT_NANO + 500 * TOKEN_NANO;
  const response = await service.post(await service.makeKey({ quota }), { stream: true, max_tokens: 2_000 });
  await expectErrorEvent(response, 'billing_error', 'insufficient_user_quota');
  const bill = { outcome: 'quota_cut', usageSource: 'estimated', outputTokens: 500, cost: quota, writtenOff: 0 };
  expect(await service.records()).toMatchObject([bill]);
});

test('a response that arrives whole with its first events is billed by the prompt count that they report', async () => {
  const events = { next: async () => answerOf(1_000) };
  await using service = await startControlled({
    answer: async () => ({ form: 'stream', upstreamRequestId: null, events }),
  });
  const prompt = [{ role: 'user', content: 'x'.repeat(1_000) }]; // of which the provider reports 25 tokens
  const quota = PROMPT_NANO + 600 * TOKEN_NANO;
  const body = { stream: true, max_tokens: 2_000, messages: prompt };
  const response = await service.post(await service.makeKey({ quota }), body);
  await expectErrorEvent(response, 'billing_error', 'insufficient_user_quota');
  expect(await service.records()).toMatchObject([{ outcome: 'quota_cut', outputTokens: 600, cost: quota }]);
});

test('a stream read after a disconnect also ends when the money is used up', async () => {
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  const hundred = { type: 'text_delta', text: 'x'.repeat(400) };
  const delta = makeEvent({ type: 'content_block_delta', index: 0, delta: hundred });
  const events = [...EVENTS.slice(0, 2), ...Array.from({ length: 30 }, () => delta), ...EVENTS.slice(3)];
  let isStopped = false;
  await using service = await startControlled({
    settings: { finish_streams_without_caller_max: 1 },
    answer: async (_, signal) => {
      signal.addEventListener('abort', () => (isStopped = true));
      return pieces(events, 1, promise, signal);
    },
  });
  const caller = new AbortController();
  const key = await service.makeKey({ quota: PROMPT_NANO + 500 * TOKEN_NANO });
  const response = await service.post(key, { stream: true, max_tokens: 4_000 }, caller.signal);
  await (response.body as ReadableStream<Uint8Array>).getReader().read();
  caller.abort();
  await Bun.sleep(50); // time for the service to notice the disconnect
  goOn();
  for (let tries = 0; tries < 500 && service.gateway.running.count > 0; tries++) await Bun.sleep(10);
  expect(isStopped).toBe(true);
  const [record] = await service.records();
  expect(record).toMatchObject({ outcome: 'quota_cut', usageSource: 'estimated', outputTokens: 500, writtenOff: 0 });
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a response that exactly uses up the money is complete', async () => {
  await using service = await startControlled({ answer: async () => streamOf(answerOf(500)) });
  const quota = PROMPT_NANO + 500 * TOKEN_NANO;
  const response = await service.post(await service.makeKey({ quota }), { stream: true, max_tokens: 2_000 });
  expect(eventsOf(await response.text()).at(-1)).toMatchObject({ name: 'message_stop' });
  const bill = { outcome: 'completed', usageSource: 'reported', outputTokens: 500, cost: quota, writtenOff: 0 };
  expect(await service.records()).toMatchObject([bill]);
});

test('output that still waits for its hold when the service ends the message is not billed, because it was not relayed', async () => {
  const { promise, resolve: recover } = Promise.withResolvers<void>();
  await using service = await startControlled({
    answer: async (_, signal) => pieces(answerOf(3_000).slice(0, 3), 10, Promise.resolve(), signal),
    gateOver: (gate) => ({
      batches: () => gate.batches(),
      submit: async (bundle) => {
        if (bundle.operations[0]?.kind === 'extend') await promise;
        return gate.submit(bundle);
      },
    }),
  });
  const response = await service.post(await service.makeKey(), { stream: true, max_tokens: 4_000 });
  for (let tries = 0; tries < 500 && service.gateway.running.count === 0; tries++) await Bun.sleep(2);
  await Bun.sleep(50); // all output has arrived, and waits for its hold
  service.gateway.running.cutAll();
  for (let tries = 0; tries < 500 && (await service.records()).length === 0; tries++) await Bun.sleep(5);
  recover();
  expect(await response.text()).toContain('event: error');
  const [record] = await service.records();
  expect(record).toMatchObject({ outcome: 'service_cut', usageSource: 'estimated', writtenOff: 0 });
  expect(record?.outputTokens).toBeLessThan(2_100); // the first tranche, plus what the prompt did not need
});

for (const hasLeft of [false, true])
  test(`invisible output is billed as reported (disconnected: ${hasLeft})`, async () => {
    const { promise, resolve: goOn } = Promise.withResolvers<void>();
    const usage = { output_tokens: 200 };
    const end = makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
    const events = [...EVENTS.slice(0, 4), end, ...EVENTS.slice(5)];
    await using service = await startControlled({
      settings: { finish_streams_without_caller_max: 1 },
      answer: async (_, signal) => pieces(events, 10, promise, signal),
    });
    const caller = new AbortController();
    const quota = 110 * 3_000 + 64 * TOKEN_NANO; // the maximum cost of its prompt and of max_tokens
    const response = await service.post(await service.makeKey({ quota }), { stream: true }, caller.signal);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    if (hasLeft) caller.abort();
    await Bun.sleep(50); // time for the service to notice the disconnect
    goOn();
    while (!hasLeft && !(await reader.read()).done);
    for (let tries = 0; tries < 500 && service.gateway.running.count > 0; tries++) await Bun.sleep(5);
    const cost = PROMPT_NANO + 200 * TOKEN_NANO;
    const bill = { usageSource: 'reported', outputTokens: 200, cost, writtenOff: cost - quota };
    expect(await service.records()).toMatchObject([{ outcome: hasLeft ? 'client_gone' : 'completed', ...bill }]);
  });

test('a message that several events end at once ends once and is reported once', async () => {
  const never = new Promise<never>(() => {});
  await using service = await startControlled({ answer: async (_, signal) => streamOf(EVENTS, { 3: never }, signal) });
  const response = await service.post(await service.makeKey(), { stream: true });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (!text.includes('Hello')) text += new TextDecoder().decode((await reader.read()).value);
  service.gateway.running.cutAll();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read())
    text += new TextDecoder().decode(piece.value);
  expect(text).toContain('event: error');
  expect(service.reports).toMatchObject([{ record: { outcome: 'service_cut', usageSource: 'estimated' } }]);
  expect(service.gateway.slots.taken).toBe(0);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('an error in tracing affects no message', async () => {
  const fail = () => {
    throw new Error('no trace');
  };
  await using service = await startControlled();
  for (const trace of [fail, () => ({ beginAttempt: fail, endAttempt: fail, end: fail })]) {
    service.gateway.trace = trace;
    const response = await service.post(await service.makeKey(), { stream: true });
    expect(await response.text()).toContain('event: message_stop');
  }
  expect(await service.records()).toMatchObject([{ outcome: 'completed' }, { outcome: 'completed' }]);
});
