// Values read from request headers: the key, the client's address, the preflight of a browser.

import { expect, test } from 'bun:test';
import { parseRange } from '../../../src/base/addresses.ts';
import {
  allowOrigin,
  clientAddress,
  corsHeaders,
  isOverTls,
  preflightResponse,
  readApiKey,
  readBearer,
} from '../../../src/http/http.ts';

test.each<[Record<string, string>, apiKey: string | null, bearer: string | null]>([
  [{}, null, null],
  [{ 'x-api-key': 'a' }, 'a', null],
  [{ 'x-api-key': ' a ' }, 'a', null],
  [{ authorization: 'Bearer b' }, null, 'b'],
  [{ authorization: 'bEARER   b  ' }, null, 'b'],
  [{ 'x-api-key': 'a', authorization: 'Bearer b' }, 'a', 'b'],
  [{ 'x-api-key': '', authorization: 'Bearer b' }, null, 'b'],
  [{ 'x-api-key': '  ' }, null, null],
  [{ authorization: 'Bearer' }, null, null],
  [{ authorization: 'Bearer  ' }, null, null],
  [{ authorization: 'Basic b' }, null, null],
  [{ authorization: 'Bearerb' }, null, null],
  [{ 'x-api-key': 'a, a' }, 'a, a', null],
])('the headers %j have the key %p and the bearer token %p', (headers, apiKey, bearer) => {
  expect(readApiKey(new Headers(headers))).toBe(apiKey);
  expect(readBearer(new Headers(headers))).toBe(bearer);
});

const trusted = ['10.0.0.0/8', '::1'].map((text) => parseRange(text)).filter((range) => range !== null);

test.each<[string, string, string | null, string]>([
  ['nothing is forwarded', '10.0.0.1', null, '10.0.0.1'],
  ['the peer is not trusted', '203.0.113.1', '1.2.3.4', '203.0.113.1'],
  ['one trusted proxy', '10.0.0.1', '1.2.3.4', '1.2.3.4'],
  ['the client’s own part on the left is not read', '10.0.0.1', '6.6.6.6, 1.2.3.4', '1.2.3.4'],
  ['two trusted proxies', '10.0.0.1', '6.6.6.6, 1.2.3.4, 10.0.0.2', '1.2.3.4'],
  ['all are trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['a port beside it', '10.0.0.1', '1.2.3.4:5678', '1.2.3.4'],
  ['IPv6 with a port', '::1', '[2001:db8::1]:56', '2001:db8::1'],
  ['IPv6', '::1', '2001:db8::1', '2001:db8::1'],
  ['garbage', '10.0.0.1', '1.2.3.4, unknown', '10.0.0.1'],
  ['a name instead of an address', '10.0.0.1', '1.2.3.4, _hidden', '10.0.0.1'],
  ['garbage left of the client', '10.0.0.1', "'; drop table, 1.2.3.4", '1.2.3.4'],
  ['a comma at the end', '10.0.0.1', '1.2.3.4,', '10.0.0.1'],
  ['spaces and tabs', '10.0.0.1', ' 6.6.6.6 ,\t1.2.3.4 ', '1.2.3.4'],
  ['a trusted proxy with a port', '10.0.0.1', '1.2.3.4, 10.0.0.2:8080', '1.2.3.4'],
  ['a trusted IPv6 proxy with a port', '10.0.0.1', '1.2.3.4, [::1]:8080', '1.2.3.4'],
  ['a trusted address mapped into IPv6', '::ffff:10.0.0.1', '1.2.3.4', '1.2.3.4'],
  ['IPv6 in brackets without a port', '::1', '[2001:db8::1]', '2001:db8::1'],
  ['an unclosed bracket', '::1', '[2001:db8::1', '::1'],
  ['a client that claims to be a proxy', '203.0.113.1', '1.2.3.4, 10.0.0.2', '203.0.113.1'],
  ['a leading zero', '10.0.0.1', '010.0.0.2', '10.0.0.1'],
  ['more hops than are followed', '10.0.0.1', ['1.2.3.4', ...Array(40).fill('10.0.0.2')].join(', '), '10.0.0.2'],
  ['empty', '10.0.0.1', '', '10.0.0.1'],
])('the client behind proxies is found: %s', (_, peer, forwarded, expected) => {
  const headers = new Headers(forwarded === null ? {} : { 'x-forwarded-for': forwarded });
  expect(clientAddress(peer, headers, trusted)).toBe(expected);
});

test.each<[string, string, boolean, string | null, boolean]>([
  ['over TLS', '203.0.113.1', true, null, true],
  ['over TLS, whatever the header says', '203.0.113.1', true, 'http', true],
  ['over nothing', '10.0.0.1', false, null, false],
  ['a trusted proxy', '10.0.0.1', false, 'https', true],
  ['a trusted proxy without TLS to its client', '10.0.0.1', false, 'http', false],
  ['the client’s own part on the left is not read', '10.0.0.1', false, 'https, http', false],
  ['a peer that is not trusted', '203.0.113.1', false, 'https', false],
  ['a disconnected peer', '', false, 'https', false],
])('TLS at the proxy is detected: %s', (_, address, isTls, forwarded, expected) => {
  const headers = new Headers(forwarded === null ? {} : { 'x-forwarded-proto': forwarded });
  expect(isOverTls({ address, isTls, setIdleSeconds() {} }, headers, trusted)).toBe(expected);
});

test('without a trusted proxy no client can claim another address', () => {
  expect(clientAddress('10.0.0.1', new Headers({ 'x-forwarded-for': '1.2.3.4' }), [])).toBe('10.0.0.1');
});

test('a preflight gets its origin and the headers it asked for, "authorization" by name', () => {
  const response = preflightResponse(
    new Headers({
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
      'access-control-request-private-network': 'true',
    }),
    'req_1',
  );
  expect(response.status).toBe(204);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'access-control-allow-origin': 'https://app.example',
    'access-control-allow-headers': 'authorization,content-type,x-stainless-lang',
    'access-control-allow-methods': expect.stringContaining('POST'),
    'access-control-max-age': '86400',
    'access-control-allow-private-network': 'true',
    'request-id': 'req_1',
  });
  expect(response.headers.has('access-control-allow-credentials')).toBe(false);
});

test('a response exposes the headers that clients need, under the prefix that they use', () => {
  const headers = corsHeaders('vendor');
  expect(headers['access-control-allow-origin']).toBe('*');
  const exposed = headers['access-control-expose-headers']?.split(', ');
  expect(exposed).toContain('request-id');
  expect(exposed).toContain('retry-after');
  expect(exposed).toContain('x-should-retry');
  expect(exposed).toContain('x-request-id');
  expect(exposed).toContain('vendor-ratelimit-output-tokens-remaining');
  expect(exposed).toHaveLength(18);
  const response = new Headers(headers);
  allowOrigin(response, 'https://app.example');
  expect(response.get('access-control-allow-origin')).toBe('https://app.example');
  expect(response.get('vary')).toBe('origin');
});
