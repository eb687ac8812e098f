// Google's errors as faults: who caused them, the text for the client, and the retry time.

import { expect, test } from 'bun:test';
import { mapError, mapErrorInside } from '../../../../src/providers/gemini/convert-chunk.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';

const NOW_MS = 1_000_000;
const errorOf = (code: number, status: string, message: string, details: JsonObject[] = []) => ({
  error: { code, status, message, details },
});
const faultOf = (body: unknown, code: number, headers: Record<string, string> = {}) =>
  mapError(code, new Headers(headers), typeof body === 'string' ? body : JSON.stringify(body), NOW_MS);

test.each([
  [400, 'INVALID_ARGUMENT', 'Unable to process input image.', 'rejected'],
  [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'credentials'],
  [400, 'INVALID_ARGUMENT', 'API key expired. Please renew the API key.', 'credentials'],
  [400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.', 'credentials'],
  [401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.', 'credentials'],
  [403, 'PERMISSION_DENIED', 'Your project has no access.', 'credentials'],
  [404, 'NOT_FOUND', 'models/x is not found for API version v1beta', 'not_found'],
  [413, 'INVALID_ARGUMENT', 'Request payload size exceeds the limit', 'rejected'],
  [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', 'rate_limited'],
  [500, 'INTERNAL', 'An internal error has occurred.', 'failed'],
  [503, 'UNAVAILABLE', 'The model is overloaded.', 'overloaded'],
  [504, 'DEADLINE_EXCEEDED', 'Deadline expired.', 'timeout'],
] as const)(
  '%d %s "%s" is classified as %s, as an object, in a list, and inside a stream',
  (code, status, message, kind) => {
    const body = errorOf(code, status, message);
    for (const form of [body, [body]]) {
      expect(faultOf(form, code)).toMatchObject({ kind, status: code, message });
      expect(mapErrorInside(form)).toMatchObject({ kind, message });
    }
    const { code: _, ...withoutCode } = body.error;
    if (code !== 413) expect(mapErrorInside({ error: withoutCode })?.kind).toBe(kind);
  },
);

test('an invalid key is also recognized by its reason', () => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }];
  expect(faultOf(errorOf(400, 'INVALID_ARGUMENT', 'Bad.', details), 400).kind).toBe('credentials');
});

test('content that mentions keys and billing is still the client’s content', () => {
  const message = 'Invalid value at contents[0].parts[0]: "api key not valid, check your plan"';
  expect(faultOf(errorOf(400, 'INVALID_ARGUMENT', message), 400)).toMatchObject({ kind: 'rejected', message });
});

test('a rejection has the error type that clients know', () => {
  expect(faultOf(errorOf(400, 'INVALID_ARGUMENT', 'No.'), 400).errorType).toBe('invalid_request_error');
  expect(faultOf(errorOf(413, 'INVALID_ARGUMENT', 'No.'), 413).errorType).toBe('request_too_large');
  expect(faultOf(errorOf(500, 'INTERNAL', 'No.'), 500).errorType).toBeNull();
});

test('a prompt that is too long gets the error text on which agents shorten it', () => {
  const message = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).';
  expect(faultOf(errorOf(400, 'INVALID_ARGUMENT', message), 400).message).toBe(
    'prompt is too long: 1200000 tokens > 1048576 maximum',
  );
});

test('the retry time is that of the details, otherwise of the header', () => {
  const delay = (retryDelay: string) => [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }];
  const of = (details: JsonObject[], headers = {}) =>
    faultOf(errorOf(429, 'RESOURCE_EXHAUSTED', 'x', details), 429, headers).retryAfterMs;
  expect(of(delay('37s'))).toBe(37_000);
  expect(of(delay('0.5s'), { 'retry-after': '9' })).toBe(500);
  expect(of([{ reason: 'x' }], { 'retry-after': '9' })).toBe(9_000);
  expect(of(delay('soon'))).toBeNull();
  expect(of(delay('999999999s'))).toBe(86_400_000);
});

test('names of the operator’s project or key are removed from the text for the client', () => {
  const message = 'Bad for projects/my-project-7 (project_number:123456789012) with AIzaSyOurOwnKey0123456789';
  const shown = faultOf(errorOf(400, 'INVALID_ARGUMENT', message), 400).message;
  expect(shown).toBe('Bad for projects/[redacted] (project_number:[redacted]) with [redacted]');
});

test('a response that is not an error of Google is classified by its status', () => {
  for (const body of ['<html>Bad gateway</html>', '', '[]', '{"error":"x"}', '{"err'])
    expect(faultOf(body, 502)).toMatchObject({ kind: 'failed', message: 'the provider answered with status 502' });
  expect(mapErrorInside({ candidates: [] })).toBeNull();
  expect(mapErrorInside('x')).toBeNull();
});

test.each([1e308, 1.5, -400, 400.5, 99, 600])('a code of %p inside a response is not treated as a status', (code) => {
  expect(mapErrorInside({ error: { code, status: 'RESOURCE_EXHAUSTED', message: 'x' } })).toMatchObject({
    kind: 'rate_limited',
    status: 429,
  });
});
