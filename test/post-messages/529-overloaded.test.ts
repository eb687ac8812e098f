// This service sheds load: before a body is read there must be room for it. What was held is given back.

import { expect, test } from 'bun:test';
import { EVENTS, startHandMade, streamOf } from './hand-made-service.ts';
import { expectError } from './world.ts';

test('a body for which there is no room is overloaded, and nothing is left of it', async () => {
  await using service = await startHandMade({ bodiesBytesMax: 1_000 });
  const secret = await service.makeKey();
  const system = 'x'.repeat(1_000);
  for (let turn = 0; turn < 3; turn++)
    await expectError(await service.post(secret, { system }), 529, 'overloaded_error', 'overloaded');
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
  expect(service.check()).toMatchObject({ ok: true, open_holds: 0 });
});
