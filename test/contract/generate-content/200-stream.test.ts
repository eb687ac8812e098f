// A stream of chunks: its beginning, its keep-alives, and its end, which is sent once the message is billed and never
// after an error.

import { afterAll, expect, test } from 'bun:test';
import { TurnpikeError } from '../../../src/errors.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { sayMessage } from '../../verify/clients/upstreams/speak-messages.ts';
import { EVENTS, startControlled, streamOf } from '../post-messages/controlled-service.ts';
import { expectMoney, GOOD, sharedWorld } from '../post-messages/world.ts';
import { candidateOf, chunksOf, postGemini, sentOf, textOf } from './gemini-world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const isEnd = /finishReason|usageMetadata/;

test('a stream has its text in order, then its finish reason with the usage', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const response = await postGemini(world, caller.secret, {}, { stream: true });
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const chunks = chunksOf(await response.text());
  expect(chunks.slice(0, -1).map((chunk) => candidateOf(chunk).content.parts)).toEqual([
    [{ text: 'Hello t' }],
    [{ text: 'here, w' }],
    [{ text: 'orld!' }],
  ]);
  expect(chunks.at(-1)).toEqual({
    candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 25, candidatesTokenCount: 12, totalTokenCount: 37 },
    modelVersion: 'upstream-model',
    responseId: 'upstream',
  });
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed', stream: true }]);
});

test('a client that returns the chunks as they came gives the provider its thinking and its text back as one block each', async () => {
  const thinking = { type: 'thinking', thinking: 'I see.', signature: 'c2ln' } as const;
  const said = { type: 'text', text: 'One line.\u2028\n\n\u2029Another — the last.' } as const;
  world.upstream.play(sayMessage({ content: [thinking, said] }), scripts.good());
  const { secret } = await world.makeKey();
  const text = await (await postGemini(world, secret, {}, { stream: true })).text();
  expect(text).not.toMatch(/[\u2028\u2029]/); // some clients end a line there
  const asked = [{ role: 'user', parts: [{ text: 'Look.' }] }];
  const contents = [...asked, ...chunksOf(text).map((chunk) => candidateOf(chunk).content), ...asked];
  await (await postGemini(world, secret, { contents })).text();
  expect(sentOf(world)['messages']).toMatchObject([{}, { role: 'assistant', content: [thinking, said] }, {}]);
});

test('the chunks are the same however the bytes of the provider’s stream are split', async () => {
  const { secret } = await world.makeKey();
  const texts: string[] = [];
  for (const bytes of [1, 7, 64, 100_000]) {
    world.upstream.play(scripts.splitStream(bytes, { text: 'Grüße, 世界 🌍!' }));
    texts.push(JSON.stringify(chunksOf(await (await postGemini(world, secret, {}, { stream: true })).text())));
  }
  expect(new Set(texts).size).toBe(1);
});

test.each([
  ['errorEvent', scripts.errorEvent()],
  ['dropMidStream', scripts.dropMidStream()],
  ['halfStream', scripts.halfStream()],
])('a stream that breaks off midway (%s) ends with an error and without an end', async (_, script) => {
  world.upstream.play(script);
  const caller = await world.makeKey();
  const text = await (await postGemini(world, caller.secret, {}, { stream: true })).text();
  const last = JSON.stringify(chunksOf(text).at(-1));
  expect(last).toMatch(/^\{"error":.*"metadata":\{"code":"upstream_/);
  expect(text).not.toMatch(isEnd);
  const path = '/v1beta/models/plain:streamGenerateContent';
  const list = JSON.parse(await (await postGemini(world, caller.secret, {}, { path })).text());
  expect(list.at(-1)).toMatchObject({ error: { details: [{ domain: 'turnpike' }] } });
  await expectMoney(world, caller, [{ outcome: 'upstream_cut' }, { outcome: 'upstream_cut' }]);
});

test('the end is sent only once the message is billed, and blank lines keep the connection alive meanwhile', async () => {
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
  const response = await postGemini(service, secret, {}, { model: 'm', stream: true });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (!text.endsWith('\n\n\n\n')) text += Buffer.from((await reader.read()).value ?? []).toString();
  expect(textOf(chunksOf(text))).toStartWith('Hello');
  expect(text).not.toMatch(isEnd);
  bill();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    text += Buffer.from(read.value).toString();
  expect(chunksOf(text).at(-1)).toMatchObject({ candidates: [{ finishReason: 'STOP' }], usageMetadata: {} });
});

test('a stream that can no longer be billed ends without an end', async () => {
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
  const text = await (await postGemini(service, secret, {}, { model: 'm', stream: true })).text();
  expect(chunksOf(text).at(-1)).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' } });
  expect(text).not.toMatch(isEnd);
});
