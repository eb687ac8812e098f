// Security headers of every response, from every part of the service: no content sniffing, no caching of private
// data, no frames, and HSTS over TLS.

import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import { startTurnpike } from '../../support/start-turnpike.ts';
import { exchange } from '../../unit/http/raw-socket.ts';

const turnpike = await sharedTurnpike();
const { token } = JSON.parse(readFileSync(join(turnpike.dataDirectory, 'operator.json'), 'utf8')) as { token: string };
afterAll(() => turnpike.stop());
const { secret } = await turnpike.makeKey();

const asClient = { 'x-api-key': secret, 'content-type': 'application/json' };
const asOperator = { authorization: `Bearer ${token}` };
const body = (members = {}) =>
  JSON.stringify({ model: 'sandbox-echo', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], ...members });

const ofClients: [string, string, RequestInit, number][] = [
  ['a message', '/v1/messages', { method: 'POST', headers: asClient, body: body() }, 200],
  ['a stream', '/v1/messages', { method: 'POST', headers: asClient, body: body({ stream: true }) }, 200],
  ['a refusal', '/v1/messages', { method: 'POST', headers: asClient, body: '{' }, 400],
  ['an unknown key', '/messages', { method: 'POST', headers: { ...asClient, 'x-api-key': 'x' }, body: body() }, 401],
  ['a listing', '/v1/models', { headers: asClient }, 200],
  ['the self-service reads of a key', '/v1/key', { headers: asClient }, 200],
  ['an unknown path of the API', '/v1/nothing', {}, 404],
];
const others: [string, string, RequestInit, number][] = [
  ['the root', '/', {}, 200],
  ['a probe', '/healthz', {}, 200],
  ['readiness', '/readyz', {}, 200],
  ['an unknown path', '/nothing', {}, 404],
  ['the admin API', '/api/v1/accounts', { headers: asOperator }, 200],
  ['a refusal of the admin API', '/api/v1/accounts', {}, 401],
  ['an unknown path of the admin API', '/api/v1/nothing', { headers: asOperator }, 404],
  ['the metrics', '/metrics', { headers: asOperator }, 200],
  ['the metrics, refused', '/metrics', {}, 401],
];

async function ask(path: string, init: RequestInit, status: number, url = turnpike.url): Promise<Headers> {
  const response = await fetch(url + path, init);
  await response.text();
  expect(response.status).toBe(status);
  return response.headers;
}

function expectGuarded(headers: Headers): void {
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('cache-control')).toContain('no-store');
  expect(headers.get('server')).toBeNull();
  expect(headers.get('strict-transport-security')).toBeNull();
}

test.each(ofClients)('%s is not sniffed and not cached', async (_, path, init, status) => {
  const headers = await ask(path, init, status);
  expectGuarded(headers);
  expect(headers.get('content-security-policy')).toBeNull();
});

test.each(others)('%s cannot be framed, and sends no referrer', async (_, path, init, status) => {
  const headers = await ask(path, init, status);
  expectGuarded(headers);
  expect(headers.get('x-frame-options')).toBe('DENY');
  expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
  expect(headers.get('referrer-policy')).toBe('no-referrer');
});

test('a preflight is not sniffed', async () => {
  const headers = await ask('/v1/messages', { method: 'OPTIONS', headers: { origin: 'https://app.example' } }, 204);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

test.each([...ofClients, ...others])(
  '%s behind a trusted proxy that ends TLS has an HSTS header',
  async (_, path, init, status) => {
    const headers = { ...(init.headers as Record<string, string>), 'x-forwarded-proto': 'http, HTTPS' };
    const answered = await ask(path, { ...init, headers }, status);
    expect(answered.get('strict-transport-security')).toBe('max-age=31536000');
    const plain = await ask(path, { ...init, headers: { ...headers, 'x-forwarded-proto': 'https, http' } }, status);
    expect(plain.get('strict-transport-security')).toBeNull();
  },
);

test('only a trusted proxy can report that the client used TLS', async () => {
  await using untrusting = await startTurnpike(undefined, { TURNPIKE_TRUSTED_PROXIES: '10.0.0.0/8' });
  const headers = { 'x-forwarded-proto': 'https' };
  for (const path of ['/healthz', '/v1/nothing', '/api/v1/accounts']) {
    const response = await fetch(untrusting.url + path, { headers });
    expect(response.headers.get('strict-transport-security')).toBeNull();
  }
});

test('an empty host header is ignored for messages, and refused by the admin API', async () => {
  const port = Number(new URL(turnpike.url).port);
  const answerTo = async (path: string, host: string) => {
    const answer = await exchange(port, [`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nx-api-key: ${secret}\r\n\r\n`]);
    return Number(answer.slice(9, 12));
  };
  expect(await answerTo('/v1/models', '')).toBe(200);
  expect(await answerTo('/api/v1/accounts', '')).toBe(400);
  expect(await answerTo('/x/api/v1/accounts', '')).toBe(404);
  expect(await answerTo('http://elsewhere/api/v1/accounts', 'a')).toBe(401); // only the path counts
});
