// Backpressure: a client that reads slowly, or not at all, slows down its own upstream, and nothing accumulates.

import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectMoney, type Json, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());
// The most that the kernel buffers for two connections (Linux: 32 MB received and 4 MB to send, each), plus a margin.
// A service that accumulated data would exceed any bound.
const IN_FLIGHT_BYTES_MAX = 80 * 1024 * 1024;

/** Opens a stream and never reads it. The connection is closed when the test ends, even if it fails. */
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

/** Resolves to the number of bytes that the upstream has written once it has been blocked for a while. */
async function untilBlocked(): Promise<number> {
  for (;;) {
    const before = world.upstream.writtenBytes;
    await Bun.sleep(150);
    if (world.upstream.writtenBytes === before && before > 0) return before;
    if (before > 4 * IN_FLIGHT_BYTES_MAX) return before;
  }
}

test('a client that does not read stops the upstream; when it disconnects, the message is ended and billed', async () => {
  world.upstream.play(scripts.flood());
  const abortedBefore = world.upstream.abortedCount;
  const writtenBefore = world.upstream.writtenBytes;
  const caller = await world.makeKey();
  using reader = openUnread(caller.secret, bodyOf({ stream: true, max_tokens: 4_000 }));
  expect((await untilBlocked()) - writtenBefore).toBeLessThan(IN_FLIGHT_BYTES_MAX);
  reader.socket.destroy();
  await world.upstream.aborted(abortedBefore + 1);
  // More text arrived than was allowed; at most twice 4,000 tokens plus 1,024 are believed: 9,024 × 15 + 75.
  await expectMoney(world, caller, [
    { outcome: 'client_gone', usage_source: 'estimated', output_tokens: 9_024, cost: '0.135435' },
  ]);
});

test('a client that resumes reading gets the whole stream', async () => {
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
