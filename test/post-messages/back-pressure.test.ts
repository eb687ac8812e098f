// A reader that is slow, or does not read at all, slows its own upstream down: nothing is piled up.

import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { scripts } from '../support/scripted-upstream.ts';
import { bodyOf, expectMoney, type Json, startWorld } from './world.ts';

const world = await startWorld();
afterAll(() => world.stop());
// What the kernel may keep of two connections (Linux: 32 MB where they are read and 4 MB where they are written,
// each), and a little between them. A service that piled up would go on beyond any bound.
const IN_FLIGHT_BYTES_MAX = 80 * 1024 * 1024;

/** Opens a stream and never reads of it. It is left however the test ends. */
function openUnread(secret: string, body: Json) {
  const text = JSON.stringify(body);
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(
    `POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  );
  return { socket, [Symbol.dispose]: () => socket.destroy() };
}

/** Resolves when the upstream could write no more for a while; to how much it wrote. */
async function untilStill(): Promise<number> {
  for (;;) {
    const before = world.upstream.writtenBytes;
    await Bun.sleep(150);
    if (world.upstream.writtenBytes === before && before > 0) return before;
    if (before > 4 * IN_FLIGHT_BYTES_MAX) return before;
  }
}

test('a reader that does not read stops the upstream, and leaving then ends and bills the message', async () => {
  world.upstream.play(scripts.flood());
  const abortedBefore = world.upstream.abortedCount;
  const writtenBefore = world.upstream.writtenBytes;
  const caller = await world.makeKey();
  using reader = openUnread(caller.secret, bodyOf({ stream: true, max_tokens: 4_000 }));
  expect((await untilStill()) - writtenBefore).toBeLessThan(IN_FLIGHT_BYTES_MAX);
  reader.socket.destroy();
  await world.upstream.aborted(abortedBefore + 1);
  // More text came than was allowed; no more than twice 4,000 tokens and 1,024 are believed: 9,024 × 15 + 75.
  await expectMoney(world, caller, [
    { outcome: 'client_gone', usage_source: 'estimated', output_tokens: 9_024, cost: '0.135435' },
  ]);
});

test('a reader that begins to read again gets all of it', async () => {
  const text = 'x'.repeat(8 * 1024 * 1024);
  world.upstream.play(scripts.stream({ text, pieces: 512 }));
  const caller = await world.makeKey();
  using reader = openUnread(caller.secret, bodyOf({ stream: true, max_tokens: 1_000 }));
  const { socket } = reader;
  await Bun.sleep(200);
  let received = 0;
  let tail = '';
  const { promise: done, resolve } = Promise.withResolvers<void>();
  socket.on('data', (bytes) => {
    received += bytes.length;
    tail = (tail + bytes.toString()).slice(-200);
    if (tail.includes('event: message_stop')) resolve();
  });
  socket.resume();
  await done;
  socket.destroy();
  expect(received).toBeGreaterThan(text.length);
  await expectMoney(world, caller, [{ outcome: 'completed', input_tokens: 25, output_tokens: 12 }]);
});
