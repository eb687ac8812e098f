// A body that stops arriving is abandoned. The tests of the body reader cover the time limit; here clients disconnect
// during their upload, and nothing is left behind.

import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { bodyOf, expectMoney, expectNoTrace, GOOD, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

test('clients that disconnect during their upload leave nothing behind, and the service continues', async () => {
  const caller = await world.makeKey();
  const text = JSON.stringify(bodyOf());
  for (const framing of [`content-length: ${text.length}`, 'content-length: 1000000', 'transfer-encoding: chunked']) {
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      `POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: ${caller.secret}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`,
    );
    socket.write(framing.endsWith('chunked') ? `${text.length.toString(16)}\r\n${text}\r\n` : text.slice(0, -5));
    await Bun.sleep(30);
    socket.destroy();
  }
  await Bun.sleep(50);
  expect(world.upstream.requests).toHaveLength(0);
  await expectNoTrace(world, caller);
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD]);
});
