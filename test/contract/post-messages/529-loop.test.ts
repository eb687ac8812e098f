// A service whose event loop cannot keep up sheds new messages, and accepts them again once it recovers. The test
// itself blocks the event loop of this process.

import { afterAll, expect, test } from 'bun:test';
import { bodyOf, expectError, expectMoney, GOOD, startWorld } from './world.ts';

const SHED_MS = 100;
const STALL_MS = 300;
const world = await startWorld({ settings: { shed_loop_delay_ms: SHED_MS } });
afterAll(() => world.stop());

/** Blocks the event loop repeatedly until the returned function is called. */
function keepBusy(): () => void {
  let isBusy = true;
  const stall = () => {
    const endMs = performance.now() + STALL_MS;
    while (performance.now() < endMs);
    if (isBusy) setTimeout(stall, 0);
  };
  stall();
  return () => {
    isBusy = false;
  };
}

/** The first response with this status, within a bounded number of attempts. */
async function answerOf(status: number, secret: string): Promise<Response> {
  for (let tries = 0; tries < 200; tries++) {
    const response = await world.post(secret, bodyOf());
    if (response.status === status) return response;
    await response.text();
    await Bun.sleep(5);
  }
  throw new Error(`no response had status ${status}`);
}

test('messages are shed while the event loop is repeatedly late, and accepted afterwards', async () => {
  const [known, caller] = [await world.makeKey(), await world.makeKey()];
  const stop = keepBusy();
  try {
    const refused = await answerOf(529, known.secret);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-5]$/);
    await expectError(refused, 529, 'overloaded_error', 'overloaded', /service is overloaded/);
  } finally {
    stop();
  }
  await (await answerOf(200, caller.secret)).text();
  await expectMoney(world, caller, [GOOD]);
});
