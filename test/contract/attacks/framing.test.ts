// Requests with unusual framing, or interrupted midway: however they end, no slot or memory remains taken.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { exchange } from '../../unit/http/raw-socket.ts';
import { heldBy } from './gauges.ts';

const message = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] };
const BODY = JSON.stringify(message);
const LONG = JSON.stringify({ ...message, messages: [{ role: 'user', content: 'x'.repeat(300_000) }] });
const CHUNKED = 'transfer-encoding: chunked';
const PATHS = ['/v1/messages', '/v1/messages/count_tokens', '/v1/chat/completions'];

let turnpike: Turnpike;
beforeAll(async () => {
  turnpike = await startOwnTurnpike('it reads what the whole service holds for requests');
});
afterAll(() => turnpike.stop());

const chunk = (text: string, size = text.length.toString(16)) => `${size}\r\n${text}\r\n`;
const half = (text: string) => text.slice(0, text.length / 2);

/** The parts that are sent in order, and whether the response is read before the socket is closed. */
const FRAMES: [string, string[], string[], 'answered' | 'left'][] = [
  ['an interrupted body', [`content-length: ${BODY.length}`], [half(BODY)], 'left'],
  ['a long interrupted body', [`content-length: ${LONG.length}`], [half(LONG)], 'left'],
  ['headers only', [`content-length: ${LONG.length}`], [], 'left'],
  ['chunks without an end', [CHUNKED], [chunk(half(BODY))], 'left'],
  ['half a chunk', [CHUNKED], ['fff\r\n', half(BODY)], 'left'],
  ['an unused wait for 100 Continue', ['expect: 100-continue', `content-length: ${BODY.length}`], [], 'left'],
  ['a wait for 100 Continue', ['expect: 100-continue', `content-length: ${BODY.length}`], [BODY], 'answered'],
  ['an unknown expectation', ['expect: more', `content-length: ${BODY.length}`], [BODY], 'answered'],
  ['chunks of one byte', [CHUNKED], [...[...BODY].map((byte) => chunk(byte)), '0\r\n\r\n'], 'answered'],
  ['chunks with extensions', [CHUNKED], [chunk(BODY, `${BODY.length.toString(16)};a=b`), '0\r\n\r\n'], 'answered'],
  ['trailers', [CHUNKED, 'trailer: x'], [chunk(BODY), '0\r\ncontent-length: 7\r\nx: y\r\n\r\n'], 'answered'],
  [
    'a chunk size that is not a number',
    [CHUNKED],
    [chunk(BODY, `0x${BODY.length.toString(16)}`), '0\r\n\r\n'],
    'answered',
  ],
  ['a negative chunk size', [CHUNKED], [chunk(BODY, '-5'), '0\r\n\r\n'], 'answered'],
  ['a chunk size beyond any number', [CHUNKED], [chunk(BODY, 'f'.repeat(17)), '0\r\n\r\n'], 'answered'],
  ['a missing chunk size', [CHUNKED], [chunk(BODY, ''), '0\r\n\r\n'], 'answered'],
  ['a chunk longer than its size', [CHUNKED], [chunk(BODY, '5'), '0\r\n\r\n'], 'answered'],
  ['an empty body', ['content-length: 0'], [], 'answered'],
  ['no body at all', [], [], 'answered'],
  ['more than the declared length', [`content-length: ${BODY.length}`], [BODY + BODY], 'answered'],
];

test.each(FRAMES)(
  'after %s no slot or memory remains taken, and other requests are served',
  async (_, lines, parts, end) => {
    for (const path of PATHS) {
      const head = [`POST ${path} HTTP/1.1`, 'host: a', `x-api-key: ${turnpike.key}`, 'content-type: application/json'];
      const sent = [`${[...head, ...lines].join('\r\n')}\r\n\r\n`, ...parts];
      const isAnswered = (received: string) => /^HTTP\/1\.1 [2-5]\d\d[\s\S]*\r\n\r\n/m.test(received);
      if (end === 'answered') expect(await exchange(portOf(turnpike), sent, isAnswered)).toMatch(/^HTTP\/1\.1 /);
      else await disconnect(sent);
    }
    expect((await turnpike.post(turnpike.key, message)).status).toBe(200);
    expect(await heldBy(turnpike)).toEqual([]);
  },
);

test('a stream whose client disconnects at its first byte leaves no slot or memory taken', async () => {
  const stream = JSON.stringify({ ...message, stream: true });
  for (const path of ['/v1/messages', '/v1/chat/completions']) {
    const lines = [`POST ${path} HTTP/1.1`, 'host: a', `x-api-key: ${turnpike.key}`, 'content-type: application/json'];
    const head = `${[...lines, `content-length: ${stream.length}`].join('\r\n')}\r\n\r\n`;
    for (let times = 0; times < 5; times++) await exchange(portOf(turnpike), [head + stream], () => true);
  }
  expect(await heldBy(turnpike)).toEqual([]);
});

function portOf({ url }: Turnpike): number {
  return Number(new URL(url).port);
}

/** Sends the parts, and closes the socket as soon as the service holds something for the request. */
async function disconnect(parts: readonly string[]): Promise<void> {
  const socket = connect(portOf(turnpike), '127.0.0.1');
  socket.on('error', () => {}); // the service may close it first
  for (const part of parts) socket.write(part);
  while (!/^turnpike_slots_in_flight [1-9]/m.test(await (await turnpike.scrape()).text())) await Bun.sleep(5);
  socket.destroy();
  expect(await heldBy(turnpike)).toEqual([]);
}
