// A stream of chunks: its beginning, its pings, and its end, which is sent once the message is billed and never after
// an error.

import { afterAll, expect, test } from 'bun:test';
import { TurnpikeError } from '../../../src/errors.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { chunksOf, foldChunks } from '../../unit/fronts/chat-completions/chunks.ts';
import { EVENTS, startControlled, streamOf } from '../post-messages/controlled-service.ts';
import { expectMoney, GOOD, sharedWorld } from '../post-messages/world.ts';
import { postChat } from './chat-world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

test('a stream has its deltas in order, its finish reason, its usage and [DONE]', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const response = await postChat(world, caller.secret, { stream: true, stream_options: { include_usage: true } });
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(response.headers.get('x-request-id')).toMatch(/^req_\w+$/);
  const text = await response.text();
  expect(text).toEndWith('data: [DONE]\n\n');
  expect(text).not.toMatch(/^event:/m);
  const chunks = chunksOf(text);
  expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
    { role: 'assistant', content: '' },
    { content: 'Hello t' },
    { content: 'here, w' },
    { content: 'orld!' },
    {},
    undefined,
  ]);
  expect(foldChunks(chunks)).toMatchObject({ message: { content: 'Hello there, world!' }, finish_reason: 'stop' });
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 25, completion_tokens: 12 } });
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed', stream: true }]);
});

test('the chunks are the same however the bytes of the provider’s stream are split', async () => {
  const { secret } = await world.makeKey();
  const texts: string[] = [];
  for (const bytes of [1, 7, 64, 100_000]) {
    world.upstream.play(scripts.splitStream(bytes, { text: 'Grüße, 世界 🌍!' }));
    const response = await postChat(world, secret, { stream: true });
    texts.push((await response.text()).replaceAll(/"created":\d+/g, '').replaceAll(': ping\n\n', ''));
  }
  expect(new Set(texts).size).toBe(1);
});

test.each([
  ['errorEvent', scripts.errorEvent()],
  ['dropMidStream', scripts.dropMidStream()],
  ['halfStream', scripts.halfStream()],
])(
  'a stream that breaks off midway (%s) ends with an error in the format of its clients, and without [DONE]',
  async (_name, script) => {
    world.upstream.play(script);
    const caller = await world.makeKey();
    const text = await (await postChat(world, caller.secret, { stream: true })).text();
    const last = JSON.parse(text.trimEnd().split('\n\n').at(-1)?.replace('data: ', '') ?? '');
    expect(Object.keys(last)).toEqual(['error']);
    expect(Object.keys(last.error)).toEqual(['message', 'type', 'param', 'code']);
    expect(last.error.code).toMatch(/^upstream_/);
    expect(text).not.toContain('DONE');
    expect(text).not.toContain('"finish_reason":"');
    await expectMoney(world, caller, [{ outcome: 'upstream_cut' }]);
  },
);

test('the end is sent only once the message is billed, and pings are sent as comments meanwhile', async () => {
  const { promise: mayBill, resolve: bill } = Promise.withResolvers<void>();
  await using service = await startControlled({
    answer: async () => streamOf(EVENTS),
    gateOver: (gate) => ({
      batches: () => gate.batches(),
      submit: async (bundle) => {
        if (bundle.operations[0]?.kind === 'settle') await mayBill;
        return gate.submit(bundle);
      },
    }),
  });
  const secret = await service.makeKey();
  const response = await postChat(service, secret, {
    model: 'm',
    stream: true,
    stream_options: { include_usage: true },
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (text.split(': ping\n\n').length < 3) text += Buffer.from((await reader.read()).value ?? []).toString();
  expect(text).toContain('"content":"Hello"');
  expect(text).not.toMatch(/DONE|"finish_reason":"|prompt_tokens/);
  bill();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    text += Buffer.from(read.value).toString();
  expect(text).toMatch(/"finish_reason":"stop".*\n\n.*prompt_tokens.*\n\ndata: \[DONE\]\n\n$/);
});

test('a stream that can no longer be billed ends without [DONE]', async () => {
  await using service = await startControlled({
    answer: async () => streamOf(EVENTS),
    gateOver: (gate) => ({
      batches: () => gate.batches(),
      submit: async (bundle) => {
        if (bundle.operations[0]?.kind === 'settle') throw new TurnpikeError('store_unavailable', 'The disk is full.');
        return gate.submit(bundle);
      },
    }),
    settings: { settle_wait_seconds: 1 },
  });
  const secret = await service.makeKey();
  const text = await (await postChat(service, secret, { model: 'm', stream: true })).text();
  expect(text).toContain('"code":"store_unavailable"');
  expect(text).not.toContain('DONE');
});

test('the memory of a body is freed when its stream begins, and the in-flight slot when the stream ends', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using service = await startControlled({
    bodiesBytesMax: 1_000,
    answer: async () => streamOf(EVENTS, { 3: promise }),
  });
  const secret = await service.makeKey();
  const messages = [{ role: 'user', content: 'x'.repeat(500) }];
  const streams: Response[] = [];
  for (let turn = 0; turn < 5; turn++)
    streams.push(await postChat(service, secret, { model: 'm', stream: true, messages }));
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  resolve();
  for (const stream of streams) expect(await stream.text()).toEndWith('[DONE]\n\n');
  for (let tries = 0; tries < 200 && service.gateway.slots.taken > 0; tries++) await Bun.sleep(5);
  expect({ slots: service.gateway.slots.taken, bytes: service.bodies.bytes }).toEqual({ slots: 0, bytes: 0 });
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});
