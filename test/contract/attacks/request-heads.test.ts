// Heads of requests that HTTP does not allow are refused, on every path, with an error in the format of its clients. What the
// runtime refuses before has an empty 400: docs/decisions/0001-bun.md.

import { expect, test } from 'bun:test';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import { exchange } from '../../unit/http/raw-socket.ts';

const turnpike = await sharedTurnpike();
const { port } = new URL(turnpike.url);
const HOST_FAULT = 'host: must be one host name, with an optional port';

const answerTo = (...lines: string[]) => exchange(Number(port), [`${lines.join('\r\n')}\r\n\r\n`]);
const statusOf = (answer: string) => Number(answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3));

const PATHS = [
  '/healthz',
  '/v1/models',
  '/v1/chat/completions',
  '/v1beta/models',
  '/v1/nothing',
  '/metrics',
  '/',
  '/api/v1/accounts',
  '/console/',
];
const REFUSED: [string, string[]][] = [
  ['two hosts', ['host: a', 'host: b']],
  ['the same host twice', ['host: a', 'x: y', 'Host: a']],
  ['a space', ['host: a b']],
  ['a path', ['host: a/b']],
  ['a query', ['host: a?b']],
  ['a user', ['host: user:word@a']],
  ['a port that is not a number', ['host: a:b']],
  ['an address without its end', ['host: [::1']],
  ['letters of another script', ['host: ü']],
];

test.each(REFUSED)('%s', async (_, lines) => {
  for (const path of PATHS)
    for (const method of ['GET', 'OPTIONS']) {
      const answer = await answerTo(`${method} ${path} HTTP/1.1`, 'accept: text/html', ...lines);
      expect([path, method, statusOf(answer)]).toEqual([path, method, 400]);
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ error: { message: HOST_FAULT } });
    }
});

test.each([
  ['a'],
  ['a.example:8080'],
  ['a:'],
  ['127.0.0.1:80'],
  ['[::1]:80'],
  ['[fe80::1%25eth0]'],
  ['a_b-c.d~e'],
  [''],
])('the host "%s" is served', async (host) => {
  expect(statusOf(await answerTo('GET /healthz HTTP/1.1', `host: ${host}`))).toBe(200);
});

test('HTTP/1.0 needs no host', async () => {
  expect(statusOf(await answerTo('GET /healthz HTTP/1.0'))).toBe(200);
});

test('a trailer that is declared is refused, and one without chunks is ignored', async () => {
  const declared = await answerTo(
    'POST /v1/chat/completions HTTP/1.1',
    'host: a',
    'trailer: x',
    'transfer-encoding: chunked',
  );
  expect(JSON.parse(declared.slice(declared.indexOf('\r\n\r\n')))).toMatchObject({
    error: { code: 'invalid_request', message: 'trailer: trailer fields are not supported' },
  });
  expect(statusOf(await answerTo('GET /healthz HTTP/1.1', 'host: a', 'trailer: x'))).toBe(200);
});

test.each([
  ['no host', ['GET /healthz HTTP/1.1']],
  ['OPTIONS *', ['OPTIONS * HTTP/1.1', 'host: a']],
])('the runtime refuses %s with an empty 400, and closes the connection', async (_, lines) => {
  expect(await answerTo(...lines)).toBe('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
});
