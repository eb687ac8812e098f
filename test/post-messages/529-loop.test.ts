// A service whose event loop cannot keep up sheds what comes, and takes messages again when it can. The loop
// is the one of this process: the test keeps it busy itself.

import { afterAll, expect, test } from 'bun:test';
import { bodyOf, expectError, expectMoney, GOOD, startWorld } from './world.ts';

const SHED_MS = 100;
const STALL_MS = 300;
const world = await startWorld({ settings: { shed_loop_delay_ms: SHED_MS } });
afterAll(() => world.stop());

/** Has the event loop stand still again and again, until it is told to stop. */
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

/** The first answer of the status, of so many tries. */
async function answerOf(status: number, secret: string): Promise<Response> {
  for (let tries = 0; tries < 200; tries++) {
    const response = await world.post(secret, bodyOf());
    if (response.status === status) return response;
    await response.text();
    await Bun.sleep(5);
  }
  throw new Error(`no answer was ${status}`);
}

test('while the loop is late again and again messages are shed, and afterwards they are taken', async () => {
  const [known, caller] = [await world.makeKey(), await world.makeKey()];
  const stop = keepBusy();
  try {
    const refused = await answerOf(529, known.secret);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-5]$/);
    await expectError(refused, 529, 'overloaded_error', 'overloaded', /more to do than it can keep up with/);
  } finally {
    stop();
  }
  await (await answerOf(200, caller.secret)).text();
  await expectMoney(world, caller, [GOOD]);
});
