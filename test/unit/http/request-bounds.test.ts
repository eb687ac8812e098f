// Request heads that the runtime refuses before the service sees them: heads that are too large, and those that two
// servers in a row could read differently. Tested here because a later version of the runtime might accept them.

import { afterAll, expect, test } from 'bun:test';
import { serveHttp } from '../../../src/http/http.ts';
import { exchange } from './raw-socket.ts';

let handled = 0;
const server = serveHttp({
  hostname: '127.0.0.1',
  port: 0,
  handle(request) {
    handled++;
    return Response.json({ url: request.url });
  },
});
afterAll(() => server.stop(false));

const HOST = 'Host: a\r\n';
const many = (count: number) => Array.from({ length: count }, (_, place) => `x-${place}: v\r\n`).join('');

/** The status of the response; 0 if the connection was closed without one. */
async function statusOf(head: string): Promise<number> {
  const answer = await exchange(server.port, [head]);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}

test.each<[string, string, number]>([
  ['a URL of 15 KB', `GET /${'x'.repeat(15_000)} HTTP/1.1\r\n${HOST}\r\n`, 200],
  ['a URL of 17 KB', `GET /${'x'.repeat(17_000)} HTTP/1.1\r\n${HOST}\r\n`, 431],
  ['a header of 15 KB', `GET / HTTP/1.1\r\n${HOST}x-api-key: ${'x'.repeat(15_000)}\r\n\r\n`, 200],
  ['a header of 17 KB', `GET / HTTP/1.1\r\n${HOST}x-api-key: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ['two headers of 9 KB', `GET / HTTP/1.1\r\n${HOST}a: ${'x'.repeat(9_000)}\r\nb: ${'x'.repeat(9_000)}\r\n\r\n`, 431],
  ['an endless head', `GET / HTTP/1.1\r\n${HOST}a: ${'x'.repeat(100_000)}`, 431],
  ['190 headers', `GET / HTTP/1.1\r\n${HOST}${many(190)}\r\n`, 200],
  ['200 headers', `GET / HTTP/1.1\r\n${HOST}${many(200)}\r\n`, 431],
])('%s gets the expected status', async (_, head, status) => {
  expect(await statusOf(head)).toBe(status);
});

test.each<[string, string]>([
  ['no host', 'GET / HTTP/1.1\r\n\r\n'],
  ['a line break within a host', 'GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n'],
  [
    'a length together with chunks',
    `POST / HTTP/1.1\r\n${HOST}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['two lengths', `POST / HTTP/1.1\r\n${HOST}content-length: 3\r\ncontent-length: 4\r\n\r\nabc`],
  ['a negative length', `POST / HTTP/1.1\r\n${HOST}content-length: -3\r\n\r\nabc`],
  ['a length with a sign', `POST / HTTP/1.1\r\n${HOST}content-length: +3\r\n\r\nabc`],
  ['a length beyond any number', `POST / HTTP/1.1\r\n${HOST}content-length: 99999999999999999999999\r\n\r\nabc`],
  ['another transfer encoding', `POST / HTTP/1.1\r\n${HOST}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['a folded header', `GET / HTTP/1.1\r\n${HOST}x: a\r\n b\r\n\r\n`],
  ['a space before a colon', `GET / HTTP/1.1\r\n${HOST}x : a\r\n\r\n`],
  ['a zero byte', `GET / HTTP/1.1\r\n${HOST}x: a\0b\r\n\r\n`],
  ['the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['an asterisk for a path', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`],
])('%s is refused before the service sees it', async (_, head) => {
  const before = handled;
  expect(await statusOf(head)).toBe(400);
  expect(handled).toBe(before);
});
