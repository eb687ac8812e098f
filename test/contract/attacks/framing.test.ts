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

/** In the order of PATHS; an empty 400 is the runtime's, which closes the connection (docs/decisions/0001-bun.md). */
type Answers = readonly [string, string, string];

const all = (answer: string): Answers => [answer, answer, answer];
const EMPTY = '400, empty';
const SERVED = all('200');
const NO_JSON = all('400 invalid_json');
/** Bytes after the body are taken for another request, before this one is answered. A count is answered at once. */
const LOST: Answers = [EMPTY, '200', EMPTY];

/** The parts that are sent, and the answers; null: the socket is closed before. */
const FRAMES: [string, string[], string[], Answers | null][] = [
  ['an interrupted body', [`content-length: ${BODY.length}`], [half(BODY)], null],
  ['a long interrupted body', [`content-length: ${LONG.length}`], [half(LONG)], null],
  ['headers only', [`content-length: ${LONG.length}`], [], null],
  ['chunks without an end', [CHUNKED], [chunk(half(BODY))], null],
  ['half a chunk', [CHUNKED], ['fff\r\n', half(BODY)], null],
  ['an unused wait for 100 Continue', ['expect: 100-continue', `content-length: ${BODY.length}`], [], null],
  ['a wait for 100 Continue', ['expect: 100-continue', `content-length: ${BODY.length}`], [BODY], all('100 200')],
  ['an unknown expectation', ['expect: more', `content-length: ${BODY.length}`], [BODY], SERVED],
  ['chunks of one byte', [CHUNKED], [...[...BODY].map((byte) => chunk(byte)), '0\r\n\r\n'], SERVED],
  ['chunks with extensions', [CHUNKED], [chunk(BODY, `${BODY.length.toString(16)};a=b`), '0\r\n\r\n'], SERVED],
  [
    'a declared trailer',
    [CHUNKED, 'trailer: x'],
    [chunk(BODY), '0\r\ncontent-length: 7\r\nx: y\r\n\r\n'],
    all('400 invalid_request trailer: trailer fields are not supported'),
  ],
  ['a trailer that was not declared', [CHUNKED], [chunk(BODY), '0\r\nx: y\r\n\r\n'], LOST],
  [
    'a chunk size that is not a number',
    [CHUNKED],
    [chunk(BODY, `0x${BODY.length.toString(16)}`), '0\r\n\r\n'],
    all(EMPTY),
  ],
  ['a negative chunk size', [CHUNKED], [chunk(BODY, '-5'), '0\r\n\r\n'], all(EMPTY)],
  ['a chunk size beyond any number', [CHUNKED], [chunk(BODY, 'f'.repeat(17)), '0\r\n\r\n'], all(EMPTY)],
  ['a missing chunk size', [CHUNKED], [chunk(BODY, ''), '0\r\n\r\n'], all(EMPTY)],
  ['a chunk longer than its size', [CHUNKED], [chunk(BODY, '5'), '0\r\n\r\n'], all(EMPTY)],
  ['an empty body', ['content-length: 0'], [], NO_JSON],
  ['no body at all', [], [], NO_JSON],
  ['more than the declared length', [`content-length: ${BODY.length}`], [BODY + BODY], LOST],
];

test.each(FRAMES)(
  'after %s no slot or memory remains taken, and other requests are served',
  async (_, lines, parts, answers) => {
    const received: string[] = [];
    for (const path of PATHS) {
      const head = [`POST ${path} HTTP/1.1`, 'host: a', `x-api-key: ${turnpike.key}`, 'content-type: application/json'];
      const sent = [`${[...head, ...lines].join('\r\n')}\r\n\r\n`, ...parts];
      if (answers === null) await disconnect(sent);
      else received.push(shown(await exchange(portOf(turnpike), [sent.join('')], isAnswered)));
    }
    if (answers !== null) expect(received).toEqual([...answers]);
    expect((await turnpike.post(turnpike.key, message)).status).toBe(200);
    expect(await heldBy(turnpike)).toEqual([]);
  },
);

function isAnswered(received: string): boolean {
  return /^HTTP\/1\.1 [2-5]\d\d[\s\S]*\r\n\r\n/m.test(received);
}

/** The statuses up to the first final one; the code of an error, and its message if it is about a header. */
function shown(received: string): string {
  const statuses = [...received.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
  const until = statuses.slice(0, statuses.findIndex((status) => status >= 200) + 1).join(' ');
  if (!until.startsWith('400')) return until;
  const body = received.slice(received.indexOf('\r\n\r\n') + 4);
  if (body === '') return EMPTY;
  const code = /"error_code":"(\w+)"|"code":"(\w+)"/
    .exec(body)
    ?.slice(1)
    .find((one) => one !== undefined);
  const about = /"message":"(trailer: [^"]*)"/.exec(body)?.[1];
  return [until, code, about].filter((word) => word !== undefined).join(' ');
}

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
