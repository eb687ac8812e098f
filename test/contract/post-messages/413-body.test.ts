// Bodies may have exactly the maximum size, 32 MB by default. A larger body is refused before the excess is read.

import { afterAll, expect, test } from 'bun:test';
import { exchange } from '../../unit/http/raw-socket.ts';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, sharedWorld, startWorld } from './world.ts';

const world = await sharedWorld({
  models: {
    // The context window bounds the hold of a long prompt: 32 MB of text would otherwise cost more than the balance.
    windowed: { price: { input: '3', output: '15' }, max_input_tokens: 200_000, routes: [{ provider: 'first' }] },
  },
});
afterAll(() => world.stop());
const BYTES_MAX = 32 * 1024 * 1024;
const port = Number(new URL(world.url).port);

/** A request of exactly this size. */
function bodyOfBytes(bytes: number): string {
  const around = JSON.stringify(bodyOf({ model: 'windowed', messages: [{ role: 'user', content: '@' }] }));
  return around.replace('@', 'x'.repeat(bytes - around.length + 1));
}

const head = (secret: string, framing: string) =>
  `POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`;

/** Converts a raw response to a Response, so that both are checked in the same way. */
function responseOf(text: string): Response {
  const [headText = '', body = ''] = text.split('\r\n\r\n');
  const [first = '', ...lines] = headText.split('\r\n');
  const headers = lines.map((line): [string, string] => [line.split(': ')[0] ?? '', line.split(': ')[1] ?? '']);
  return new Response(body, { status: Number(first.split(' ')[1]), headers });
}

test('a body of exactly 32 MB is accepted and forwarded in full', async () => {
  const caller = await world.makeKey();
  const body = bodyOfBytes(BYTES_MAX);
  expect(Buffer.byteLength(body)).toBe(BYTES_MAX);
  expect((await world.post(caller.secret, body)).status).toBe(200);
  const sent = world.upstream.requests.at(-1)?.body ?? '';
  expect(sent).toBe(body);
  world.upstream.requests.length = 0;
  await expectMoney(world, caller, [GOOD]);
});

test('a declared length of one byte more is body_too_large before the client sends any of it', async () => {
  const caller = await world.makeKey();
  const answer = await exchange(port, [head(caller.secret, `content-length: ${BYTES_MAX + 1}`)], (all) =>
    all.endsWith('}'),
  );
  await expectError(responseOf(answer), 413, 'request_too_large', 'body_too_large', /maximum size/);
  await expectNoTrace(world, caller);
});

test('a body of undeclared length is refused at the first excess byte, without waiting for its end', async () => {
  const caller = await world.makeKey();
  const chunk = Buffer.concat([Buffer.from('400000\r\n'), Buffer.alloc(0x400000, 'x'), Buffer.from('\r\n')]);
  const parts = [head(caller.secret, 'transfer-encoding: chunked'), ...Array(8).fill(chunk), '1\r\nx\r\n'];
  const answer = await exchange(port, parts, (all) => all.endsWith('}'));
  await expectError(responseOf(answer), 413, 'request_too_large', 'body_too_large');
  await expectNoTrace(world, caller);
});

test('an unknown key is refused first, without reading a large body', async () => {
  const framing = `content-length: ${BYTES_MAX + 1}`;
  const answer = await exchange(port, [head('sk-tp-wrong', framing)], (all) => all.endsWith('}'));
  await expectError(responseOf(answer), 401, 'authentication_error', 'key_invalid');
});

test('the maximum size is a setting', async () => {
  await using strict = await startWorld({ settings: { body_bytes_max: 2_048 } });
  const caller = await strict.makeKey();
  const padded = (bytes: number) => JSON.stringify(bodyOf()).padEnd(bytes, ' ');
  await expectError(
    await strict.post(caller.secret, padded(2_049)),
    413,
    'request_too_large',
    'body_too_large',
    /2048/,
  );
  expect((await strict.post(caller.secret, padded(2_048))).status).toBe(200);
  await expectMoney(strict, caller, [GOOD]);
});
