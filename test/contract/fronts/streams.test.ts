// A stream of every front: its text, its keep-alives, and its end, which is sent once the message is billed and never after an
// error.

import { describe, expect, test } from 'bun:test';
import { TurnpikeError } from '../../../src/errors.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { EVENTS, startControlled, streamOf } from '../post-messages/controlled-service.ts';
import { expectMoney } from '../post-messages/world.ts';
import { fronts } from './drivers/drivers.ts';
import { answerOf, expectLastError, post, sharedFronts, startSettling, withoutTimes } from './front-world.ts';

const world = await sharedFronts();

describe.each(fronts)('%s', (_, front) => {
  test('a stream has its text in order, piece by piece', async () => {
    world.upstream.play(scripts.good());
    const { secret } = await world.makeKey();
    const streamed = front.readStream(await (await post(front, world, secret, { stream: true })).text());
    expect(streamed).toMatchObject({ pieces: ['Hello t', 'here, w', 'orld!'], error: null });
  });

  test('a stream is the same however the bytes of the provider’s stream are split', async () => {
    const { secret } = await world.makeKey();
    const texts: string[] = [];
    for (const bytes of [3, 64, 100_000]) {
      world.upstream.play(scripts.splitStream(bytes, { text: 'Grüße, 世界 🌍!' }));
      const text = await (await post(front, world, secret, { stream: true })).text();
      texts.push(withoutTimes(text).replaceAll(/: ping\n\n|^\n+/gm, ''));
    }
    expect(texts[0]).toContain('🌍');
    expect(new Set(texts).size).toBe(1);
  });

  test.each([
    ['errorEvent', scripts.errorEvent(), 'upstream_overloaded'],
    ['dropMidStream', scripts.dropMidStream(), 'upstream_failed'],
    ['halfStream', scripts.halfStream(), 'upstream_failed'],
  ] as const)(
    'a stream that breaks off midway (%s) ends with an error and without an end',
    async (__, script, code) => {
      world.upstream.play(script);
      const caller = await world.makeKey();
      const response = await post(front, world, caller.secret, { stream: true });
      expect((await expectLastError(front, response, code)).pieces).not.toBeEmpty();
      await expectMoney(world, caller, [{ outcome: 'upstream_cut' }]);
    },
  );

  test('the end is sent only once the message is billed, and keep-alives are sent meanwhile', async () => {
    const { promise: mayBill, resolve: bill } = Promise.withResolvers<void>();
    await using service = await startSettling(() => mayBill);
    const response = await post(front, service, await service.makeKey(), { model: 'm', stream: true });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    for (let reads = 0; !text.endsWith(front.pings) && reads < 100; reads++)
      text += Buffer.from((await reader.read()).value ?? []).toString();
    expect(text).toEndWith(front.pings);
    expect(front.readStream(text)).toEqual({ pieces: ['Hello'], answer: null, error: null });
    bill();
    for (let read = await reader.read(); !read.done; read = await reader.read())
      text += Buffer.from(read.value).toString();
    const { answer } = front.readStream(text);
    expect(answer).toMatchObject({ text: 'Hello', stop: front.stops.end_turn, usage: { output: 12 } });
  });

  test('a stream that can no longer be billed ends with an error and without an end', async () => {
    const full = () => Promise.reject(new TurnpikeError('store_unavailable', 'The disk is full.'));
    await using service = await startSettling(full, { settle_wait_seconds: 1 });
    const response = await post(front, service, await service.makeKey(), { model: 'm', stream: true });
    await expectLastError(front, response, 'store_unavailable');
  });

  test('the memory of a body is freed when its stream begins, and the in-flight slot when the stream ends', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using service = await startControlled({
      bodiesBytesMax: 1_000,
      answer: async () => streamOf(EVENTS, { 3: promise }),
    });
    const secret = await service.makeKey();
    const prompt = { model: 'm', stream: true, turns: [{ user: 'x'.repeat(500) }] };
    const streams: Response[] = [];
    for (let turn = 0; turn < 5; turn++) streams.push(await post(front, service, secret, prompt));
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    resolve();
    for (const stream of streams) expect((await answerOf(front, stream, true)).text).toBe('Hello');
    for (let tries = 0; tries < 200 && service.gateway.slots.taken > 0; tries++) await Bun.sleep(5);
    expect({ slots: service.gateway.slots.taken, bytes: service.bodies.bytes }).toEqual({ slots: 0, bytes: 0 });
    expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
});
