// Classification of error responses: the fault of the client, of the operator, or of the provider.

import { expect, test } from 'bun:test';
import { mapErrorEvent, mapFault } from '../../../src/providers/map-fault.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 10, 0, 0);

function fault(status: number, body: unknown = {}, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return mapFault(status, new Headers(headers), text, NOW_MS);
}

function refused(message: string, type = 'invalid_request_error', status = 400) {
  return fault(status, { type: 'error', error: { type, message } });
}

test('a status without a readable body determines whose fault it was', () => {
  const kinds = {
    401: 'credentials',
    402: 'credentials',
    403: 'credentials',
    404: 'not_found',
    400: 'rejected',
    413: 'rejected',
    422: 'rejected',
    429: 'rate_limited',
    503: 'overloaded',
    529: 'overloaded',
    408: 'timeout',
    504: 'timeout',
    409: 'failed',
    500: 'failed',
    501: 'failed',
    502: 'failed',
  };
  for (const [status, kind] of Object.entries(kinds))
    for (const body of ['', '<html>', '[1]', '{"error":"x"}', '{"error":{"type":1}}'])
      expect(fault(Number(status), body)).toMatchObject({ kind, status: Number(status) });
});

test('a 400 about the operator’s credit, key or access is never attributed to the client', () => {
  for (const message of [
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    'This organization has been disabled.',
    'Your organization is currently on hold',
    'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
    'This credential is only authorized for use with Claude Code and cannot be used for other API requests.',
    'Invalid API key',
    'Your API key has been disabled',
    'Insufficient balance',
  ])
    expect(`${refused(message).kind}: ${message}`).toBe(`credentials: ${message}`);
  for (const type of ['authentication_error', 'billing_error', 'permission_error', 'not_found_error'])
    expect(refused('anything', type).kind).toBe('credentials');
});

test('a 400 about the content is attributed to the client, even if it mentions keys and credit', () => {
  for (const message of [
    'prompt is too long: 200251 tokens > 200000 maximum',
    "messages.0.content.0: text 'your credit balance is too low' is refused",
    'tools.0.custom.input_schema.properties.api_key: Invalid API key',
    'tools: Tool names must be unique: purchase_credits',
    'Tool name billing is invalid',
    'stop_sequences: each stop sequence must contain non-whitespace',
    'The document mentions an organization, which is disabled',
    'Could not process image',
    '`temperature` may only be set to 1 when thinking is enabled',
  ]) {
    const { kind, message: kept, errorType } = refused(message);
    expect({ kind, kept, errorType }).toEqual({ kind: 'rejected', kept: message, errorType: 'invalid_request_error' });
  }
  expect(refused('too big', 'request_too_large', 413)).toMatchObject({
    kind: 'rejected',
    status: 413,
    errorType: 'request_too_large',
  });
  expect(fault(413, '').errorType).toBe('request_too_large');
});

test('identifiers of the operator’s account are removed, those of messages and tools stay', () => {
  const { message } = refused(
    'bad: org_01AbCdEfGhIjKl2345, organization 123e4567-e89b-12d3-a456-426614174000, req_011CSHoEeqs5C35K2UUqR7Fy, ' +
      'apikey_01AbCdEfGhIjKl2345, sk-ant-api03-abc_DEF-123, wrkspc_01AbCdEfGhIjKl2345; toolu_01T1xAbCdEfGhIjKl, ' +
      'user 123e4567-e89b-12d3-a456-426614174001',
  );
  for (const secret of ['org_01', '426614174000', 'req_011', 'apikey_01', 'sk-ant', 'api03', 'wrkspc_01'])
    expect(message).not.toContain(secret);
  expect(message).toContain('toolu_01T1xAbCdEfGhIjKl');
  expect(message).toContain('426614174001');
});

test('retry-after is read in milliseconds, seconds and as a date, and nonsense is ignored', () => {
  const after = (headers: Record<string, string>) => fault(429, {}, headers).retryAfterMs;
  expect(after({ 'retry-after': '7' })).toBe(7_000);
  expect(after({ 'retry-after': '0.5' })).toBe(500);
  expect(after({ 'retry-after-ms': '1200.5', 'retry-after': '7' })).toBe(1_201);
  expect(after({ 'retry-after': 'Fri, 20 Nov 2026 10:00:30 GMT' })).toBe(30_000);
  expect(after({ 'retry-after': 'Fri, 20 Nov 2020 10:00:30 GMT' })).toBe(0);
  expect(after({ 'retry-after': '1e30' })).toBeNull();
  expect(after({ 'retry-after': '99999999999999999999' })).toBe(86_400_000);
  expect(after({ 'retry-after': 'soon' })).toBeNull();
  expect(after({ 'retry-after': '-5' })).toBeNull();
  expect(after({})).toBeNull();
  expect(fault(529, {}, { 'retry-after': '3', 'request-id': 'req_x' })).toMatchObject({
    retryAfterMs: 3_000,
    upstreamRequestId: 'req_x',
  });
});

test('an error event is classified as precisely as a status', () => {
  const kindOf = (type: string, message = 'm') => mapErrorEvent({ type: 'error', error: { type, message } }, 'r').kind;
  expect(kindOf('overloaded_error')).toBe('overloaded');
  expect(kindOf('rate_limit_error')).toBe('rate_limited');
  expect(kindOf('timeout_error')).toBe('timeout');
  expect(kindOf('invalid_request_error')).toBe('rejected');
  expect(kindOf('invalid_request_error', 'Your credit balance is too low')).toBe('credentials');
  expect(kindOf('api_error')).toBe('failed');
  expect(mapErrorEvent({ type: 'error' }, null)).toMatchObject({ kind: 'failed', status: null });
});

test.each(['-1', '+5', '0x10', '1e3', 'NaN', 'Infinity', '', ' ', '5, 5', '1.'])(
  'a retry-after of "%s" is ignored',
  (text) => {
    expect(fault(429, {}, { 'retry-after': text }).retryAfterMs).toBeNull();
    expect(fault(429, {}, { 'retry-after-ms': text }).retryAfterMs).toBeNull();
  },
);

test('a retry-after is limited to a day', () => {
  expect(fault(429, {}, { 'retry-after': '9'.repeat(400) }).retryAfterMs).toBe(86_400_000);
});
