// A request with a thread gets the one error code on which clients retry without it.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, sharedWorld } from './world.ts';

const world = await sharedWorld();
beforeEach(() => world.reset());
afterAll(() => world.stop());

test('a request that continues a thread gets thread_unsupported_request, streamed or not', async () => {
  const caller = await world.makeKey();
  for (const thread of [{}, { id: 'thread_1' }, true, 'thread_1']) {
    for (const stream of [false, true]) {
      const response = await world.post(caller.secret, bodyOf({ thread, stream }));
      await expectError(response, 400, 'invalid_request_error', 'thread_unsupported_request', /thread/);
    }
  }
  expect(world.upstream.requests).toHaveLength(0);
  await expectNoTrace(world, caller);
});

test('a null thread counts as absent', async () => {
  const caller = await world.makeKey();
  expect((await world.post(caller.secret, bodyOf({ thread: null }))).status).toBe(200);
  await expectMoney(world, caller, [GOOD]);
});
