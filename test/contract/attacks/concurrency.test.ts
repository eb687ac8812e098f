// A concurrency limit bounds the messages running at the provider, even if clients repeatedly begin a message,
// disconnect, and begin the next.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { paused, postKeyed, postUntilAnswered } from '../idempotency/post-keyed.ts';
import { expectError, expectMoney, GOOD, sharedWorld } from '../post-messages/world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

for (const stream of [true, false])
  test(`a ${stream ? 'stream' : 'message'} that continues for its idempotency key keeps its slot until its provider ends`, async () => {
    const caller = await world.makeKey({}, { concurrency: 1 });
    const { script, asked, goOn } = paused(scripts.good());
    world.upstream.play(script);
    const calls = world.upstream.requests.length;
    const leaving = new AbortController();
    const first = postKeyed(world, caller.secret, 'order-0', { stream }, { signal: leaving.signal });
    await asked;
    leaving.abort();
    await first.then(
      (answer) => answer.body?.cancel(),
      () => {},
    );
    for (let order = 1; order <= 5; order++)
      await expectError(
        await postKeyed(world, caller.secret, `order-${order}`),
        429,
        'rate_limit_error',
        'concurrency_exceeded',
      );
    expect(world.upstream.requests.length - calls).toBe(1);
    goOn();
    const replay = await postUntilAnswered(() => postKeyed(world, caller.secret, 'order-0', { stream }));
    expect(replay.status).toBe(200);
    expect(replay.headers.get('idempotency-replayed')).toBe('true');
    await replay.text();
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'client_gone' }]);
    expect((await postKeyed(world, caller.secret, 'order-9')).status).toBe(200);
  });
