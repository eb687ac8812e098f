// Invalid content-length headers. The runtime joins equal ones ("98, 98"), so the service itself refuses those that
// the runtime accepts, before it relies on them.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { exchange } from '../../unit/http/raw-socket.ts';
import { heldBy } from './gauges.ts';

const message = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] };
const MESSAGE = JSON.stringify(message);
const LONG = 'x'.repeat(200_000); // more than the buffers of a socket hold

let turnpike: Turnpike;
let operator = '';
beforeAll(async () => {
  turnpike = await startOwnTurnpike('it reads what the whole service holds for requests');
  operator = JSON.parse(readFileSync(join(turnpike.dataDirectory, 'operator.json'), 'utf8')).token;
});
afterAll(() => turnpike.stop());

/** Sends a body with header lines, each written unchanged. */
async function send(path: string, body: string, lines: readonly string[]): Promise<string> {
  const token = path.startsWith('/api/') ? operator : turnpike.key;
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: turnpike',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    ...lines,
  ];
  const isWhole = (received: string) => received.includes('\r\n\r\n') && /\}\s*$|\r\n\r\n$/.test(received);
  return exchange(Number(new URL(turnpike.url).port), [`${head.join('\r\n')}\r\n\r\n${body}`], isWhole);
}

async function expectUnharmed(): Promise<void> {
  const other = await turnpike.makeKey();
  const answers = await Promise.all([turnpike.key, other.secret].map((key) => turnpike.post(key, message)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(await heldBy(turnpike)).toEqual([]);
}

test.each([
  ['/v1/messages', MESSAGE],
  ['/v1/messages', JSON.stringify({ ...message, stream: true })],
  ['/v1/messages/count_tokens', MESSAGE],
  ['/v1/chat/completions', MESSAGE],
  ['/api/v1/accounts', JSON.stringify({ name: 'two lengths' })],
  ['/v1/messages', LONG],
  ['/api/v1/accounts', LONG],
])('two different content-length headers harm no other client: %s', async (path, body) => {
  const line = `content-length: ${body.length}`;
  for (const lines of [
    [line, line],
    [line, line, line],
  ]) {
    const answer = await send(path, body, lines);
    expect(answer).toStartWith('HTTP/1.1 400 ');
    expect(answer).toMatch(/connection: close/i);
    expect(answer).toContain('"message":"content-length: ');
  }
  await expectUnharmed();
});

test.each([
  '0, 0',
  '+5',
  '-5',
  '-0',
  '0x5',
  '5e0',
  '5.0',
  '',
  '5 5',
  '5;5',
  '9007199254740993',
  '99999999999999999999',
])('a content-length of "%s" is refused, and harms no other client', async (length) => {
  for (const path of ['/v1/messages', '/v1/messages/count_tokens', '/v1/chat/completions', '/api/v1/accounts'])
    expect(await send(path, MESSAGE, [`content-length: ${length}`])).toMatch(/^HTTP\/1\.1 4(?:00|13) /);
  await expectUnharmed();
});

test('two zero content-length headers harm no other client', async () => {
  const lines = ['content-length: 0', 'content-length: 0'];
  for (const path of ['/v1/messages', '/v1/messages/count_tokens', '/v1/chat/completions', '/api/v1/accounts'])
    expect(await send(path, '', lines)).toStartWith('HTTP/1.1 400 ');
  await expectUnharmed();
});

test('a content-length with leading zeros is accepted', async () => {
  expect(await send('/v1/messages', MESSAGE, [`content-length: 000${MESSAGE.length}`])).toStartWith('HTTP/1.1 200 ');
  await expectUnharmed();
});

test('a client with two content-length headers gets a 400 in its own protocol', async () => {
  const line = `content-length: ${MESSAGE.length}`;
  const answer = await send('/v1/chat/completions', MESSAGE, [line, line]);
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).error).toMatchObject({
    type: 'invalid_request_error',
    code: 'invalid_request',
  });
});
