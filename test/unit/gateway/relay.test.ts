// Backpressure: events that arrive from the provider while the client does not read still count as received.

import { expect, test } from 'bun:test';
import { type Reply, submitMessage } from '../../../src/gateway/gateway.ts';
import { encodeReply } from '../../../src/public-api/encode-reply.ts';
import { makeEvent, type StreamEvent } from '../../../src/wire/wire.ts';
import {
  type ControlledService,
  EVENTS,
  type Parts,
  startControlled,
  streamOf,
} from '../../contract/post-messages/controlled-service.ts';
import type { Json } from '../../contract/post-messages/world.ts';
import { clientRequestOf } from './client-request-of.ts';

const PAUSE_INDEX = 3; // index of the event before which the provider pauses

/** Opens a stream and reads it up to its first ping; then `goOn` lets the provider send the rest. */
async function openPaused(settings: Json) {
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  const events = EVENTS.toSpliced(PAUSE_INDEX, 0, EVENTS[2] as (typeof EVENTS)[number]);
  const answer: Parts['answer'] = async (_model, signal) => streamOf(events, { [PAUSE_INDEX]: promise }, signal);
  const service = await startControlled({ settings, answer });
  const left = new AbortController();
  const reply = await submit(service, left.signal);
  const reader = (encodeReply(reply, null).body as AsyncIterable<string>)[Symbol.asyncIterator]();
  const read = async () => ((await reader.next()).value as string | undefined) ?? null;
  while (!(await read())?.startsWith('event: ping'));
  return { service, goOn, read, left, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

async function submit(service: ControlledService, signal: AbortSignal): Promise<Reply> {
  return (await submitMessage(service.gateway, clientRequestOf(service, await service.makeKey(), signal))) as Reply;
}

test('a client that pauses at a ping does not cause a silence timeout of its provider', async () => {
  await using stream = await openPaused({ upstream_silence_seconds: 1 });
  stream.goOn();
  await Bun.sleep(1_400);
  let text = '';
  for (let piece = await stream.read(); piece !== null; piece = await stream.read()) text += piece;
  expect(text).toContain('event: message_stop');
  expect(text).not.toContain('event: error');
  expect(await stream.service.records()).toMatchObject([{ outcome: 'completed', usageSource: 'reported' }]);
});

test('a client that pauses at a ping while its message is ended gets the error', async () => {
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  const pieces = [EVENTS.slice(0, PAUSE_INDEX), EVENTS.slice(PAUSE_INDEX)];
  const next = async () => {
    if (pieces.length === 1) await promise;
    return [...(pieces.shift() ?? [])];
  };
  const answer = async () => ({ form: 'stream' as const, events: { next }, upstreamRequestId: null });
  await using service = await startControlled({ answer });
  const reply = await submit(service, new AbortController().signal);
  const reader = (encodeReply(reply, null).body as AsyncIterable<string>)[Symbol.asyncIterator]();
  for (let text = ''; !text.startsWith('event: ping'); text = (await reader.next()).value as string);
  goOn();
  await Bun.sleep(20);
  service.gateway.running.cutAll();
  let rest = '';
  for (let piece = await reader.next(); piece.done !== true; piece = await reader.next()) rest += piece.value;
  expect(rest).toContain('content_block_stop');
  expect(rest).toContain('"code":"draining"');
  expect(rest).not.toContain('event: message_stop');
  expect(await service.records()).toMatchObject([{ outcome: 'service_cut', usageSource: 'reported' }]);
});

async function disconnect({ service, left }: Awaited<ReturnType<typeof openPaused>>) {
  left.abort();
  for (let tries = 0; tries < 200 && service.gateway.running.count > 0; tries++) await Bun.sleep(5);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
  return service.records();
}

test('a client that disconnects at a ping pays for the output so far', async () => {
  await using stream = await openPaused({});
  stream.goOn();
  await Bun.sleep(20);
  // "Hello" twice: one was read, the other had arrived.
  const expected = { outcome: 'client_gone', usageSource: 'estimated', outputTokens: 3 };
  expect(await disconnect(stream)).toMatchObject([expected]);
});

test('a client and an upstream that both disconnect at a ping leave no unhandled rejection', async () => {
  await using stream = await openPaused({});
  const unhandled: unknown[] = [];
  const record = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', record);
  try {
    expect(await disconnect(stream)).toMatchObject([{ outcome: 'client_gone', outputTokens: 2 }]);
    await Bun.sleep(20);
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', record);
  }
});

test('deltas after an early stop reason come after it, also where the stop reason is held back', async () => {
  const begun = makeEvent({
    type: 'message_start',
    message: { type: 'message', role: 'assistant', content: [], usage: { input_tokens: 25, output_tokens: 1 } },
  });
  const stop = makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } });
  const batches = [
    [begun, ...EVENTS.slice(1, 3)],
    [EVENTS[3], stop],
    [EVENTS[1]],
    [EVENTS[2]],
    [EVENTS[3]],
    [EVENTS[5]],
  ];
  const events = { next: async () => (batches.shift() as StreamEvent[] | undefined) ?? null };
  await using service = await startControlled({
    answer: async () => ({ form: 'stream', events, upstreamRequestId: null }),
  });
  const members = { max_tokens: 8_000, thinking: { type: 'enabled', budget_tokens: 1_024 } };
  const secret = await service.makeKey({ quota: 8_000_000 }); // pays for less than max_tokens
  const request = clientRequestOf(service, secret, new AbortController().signal, members);
  const reply = (await submitMessage(service.gateway, request)) as Reply;
  let text = '';
  for await (const piece of encodeReply(reply, null).body as AsyncIterable<string>) text += piece;
  const names = [...text.matchAll(/event: (\w+)/g)].map(([, name]) => name).filter((name) => name !== 'ping'); // a slow settlement has one
  const block = ['content_block_start', 'content_block_delta', 'content_block_stop'];
  expect(names).toEqual(['message_start', ...block, 'message_delta', ...block, 'message_stop']);
});
