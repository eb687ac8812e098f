// A caller who leaves a stream of chunks, or does not read it: the provider is stopped, what was produced is billed,
// and nothing is held or kept.

import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { EVENTS, startHandMade, streamOf } from '../post-messages/hand-made-service.ts';
import { expectMoney, GOOD, startWorld } from '../post-messages/world.ts';
import { scripts } from '../support/scripted-upstream.ts';
import { chatOf, postChat } from './chat-world.ts';

const world = await startWorld();
afterAll(() => world.stop());
const IN_FLIGHT_BYTES_MAX = 80 * 1024 * 1024; // as test/post-messages/back-pressure.test.ts has it

test('who leaves midway pays the reported input and what was produced, and the provider is stopped', async () => {
  const abortedBefore = world.upstream.abortedCount;
  world.upstream.play(scripts.hangMidStream({ text: 'x'.repeat(400), pieces: 10 }));
  const caller = await world.makeKey();
  const response = await postChat(world, caller.secret, { stream: true, max_tokens: 1_000 });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let received = '';
  while (received.split('"content":"x').length - 1 < 5)
    received += Buffer.from((await reader.read()).value ?? []).toString();
  await reader.cancel();
  await world.upstream.aborted(abortedBefore + 1);
  // 25 × 3 + ⌈200 ÷ 4⌉ × 15 = 825
  await expectMoney(world, caller, [
    {
      outcome: 'client_gone',
      status: 499,
      usage_source: 'estimated',
      input_tokens: 25,
      output_tokens: 50,
      cost: '0.000825',
    },
  ]);
});

test('who leaves where nothing streams pays what the provider reports', async () => {
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    arrive();
    await promise;
    await scripts.message()(answer, request);
  });
  const caller = await world.makeKey();
  const leaving = new AbortController();
  const answer = postChat(world, caller.secret, {}, { signal: leaving.signal }).catch(() => null);
  await arrived;
  leaving.abort();
  await answer;
  await Bun.sleep(30);
  goOn();
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'client_gone', stream: false }]);
});

test('many who leave at any moment leave nothing held, and each message is billed once', async () => {
  world.upstream.play(scripts.slowStream(3));
  const caller = await world.makeKey();
  await Promise.all(
    Array.from({ length: 30 }, async (_, turn) => {
      const leaving = new AbortController();
      setTimeout(() => leaving.abort(), turn * 2);
      await postChat(world, caller.secret, { stream: true }, { signal: leaving.signal })
        .then((response) => response.text())
        .catch(() => '');
    }),
  );
  for (let tries = 0; tries < 200; tries++) {
    if ((await world.admin('GET', `/accounts/${caller.account}`))['held'] === '0') break;
    await Bun.sleep(10);
  }
  expect(await world.admin('GET', `/accounts/${caller.account}`)).toMatchObject({ held: '0' });
  expect(await world.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
});

test('a reader that does not read stops the upstream, and leaving then ends and bills the message', async () => {
  world.upstream.play(scripts.flood());
  const abortedBefore = world.upstream.abortedCount;
  const before = world.upstream.writtenBytes;
  const caller = await world.makeKey();
  const text = JSON.stringify(chatOf({ stream: true, max_tokens: 4_000 }));
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: ${caller.secret}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  );
  for (let last = -1; last !== world.upstream.writtenBytes || last === before; await Bun.sleep(150)) {
    last = world.upstream.writtenBytes;
    if (last - before > 2 * IN_FLIGHT_BYTES_MAX) break;
  }
  expect(world.upstream.writtenBytes - before).toBeLessThan(IN_FLIGHT_BYTES_MAX);
  socket.destroy();
  await world.upstream.aborted(abortedBefore + 1);
  await expectMoney(world, caller, [{ outcome: 'client_gone', output_tokens: 9_024, cost: '0.135435' }]);
});

test('the room of a body is given back when its stream begins, and its seat when that ends', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using service = await startHandMade({
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
  for (let tries = 0; tries < 200 && service.gateway.seats.taken > 0; tries++) await Bun.sleep(5);
  expect({ seats: service.gateway.seats.taken, bytes: service.bodies.bytes }).toEqual({ seats: 0, bytes: 0 });
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});
