// Errors of every family: classified by whose fault they are; those of the operator are never shown to a client.

import { describe, expect, test } from 'bun:test';
import { mapChatError, mapChatFault } from '../../../../src/providers/openai/map-error.ts';

const faultOf = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  mapChatFault(status, new Headers(headers), typeof body === 'string' ? body : JSON.stringify(body), 0);
const seen = (status: number, body: unknown) => {
  const { kind, message } = faultOf(status, body);
  return [kind, message];
};

describe('an error response', () => {
  test('about the content keeps its text, in each family’s own format', () => {
    const words = 'Unknown name "temprature".';
    const shapes: unknown[] = [
      { error: { message: words, type: 'invalid_request_error', param: 'messages', code: 'unknown_parameter' } },
      { error: { message: words, code: 400, metadata: {} } },
      { object: 'error', message: words, type: 'BadRequestError', param: null, code: 400 },
      { error: words },
      { code: 'invalid-argument', error: words },
      { object: 'error', message: { detail: words }, type: 'invalid_request_error' },
      { detail: words },
    ];
    for (const shape of shapes) {
      const fault = faultOf(400, shape);
      expect([fault.kind, fault.message, fault.errorType]).toEqual(['rejected', words, 'invalid_request_error']);
    }
    const listed = {
      object: 'error',
      message: { detail: [{ loc: ['body', 'messages', 0], msg: 'Field required', type: 'missing' }] },
    };
    expect(seen(422, listed)).toEqual(['rejected', 'messages.0: Field required']);
    expect(seen(413, { error: { message: 'Too large' } })[0]).toBe('rejected');
  });

  test('of a router has the text of the provider behind it', () => {
    const raw = JSON.stringify({ error: { message: 'messages.0: too long' } });
    expect(seen(400, { error: { code: 400, message: 'Provider returned error', metadata: { raw } } })).toEqual([
      'rejected',
      'Provider returned error: messages.0: too long',
    ]);
  });

  test('in a list is its first element', () => {
    const error = { code: 400, message: 'Invalid value at max_tokens.', status: 'INVALID_ARGUMENT' };
    expect(seen(400, [{ error }])).toEqual(['rejected', error.message]);
    const limit = { code: 429, message: 'Quota exceeded.', status: 'RESOURCE_EXHAUSTED' };
    expect(seen(429, [{ error: limit }])).toEqual(['rate_limited', limit.message]);
    const key = { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' };
    expect(seen(400, [{ error: key }])[0]).toBe('credentials');
  });

  test('of a content filter is the client’s fault, even with status 403', () => {
    const filtered = {
      error: { message: 'The response was filtered', type: null, param: 'prompt', code: 'content_filter', status: 400 },
    };
    expect(seen(400, filtered)[0]).toBe('rejected');
    const flagged = {
      error: { code: 403, message: 'Your input was flagged', metadata: { reasons: ['violence'], flagged_input: 'x' } },
    };
    expect(faultOf(403, flagged)).toMatchObject({ kind: 'rejected', message: 'Your input was flagged' });
  });

  test('about the operator’s credit or access is never the client’s', () => {
    const ours: [number, unknown][] = [
      [401, { error: { message: 'Incorrect API key provided: sk-abcdefghijkl', code: 'invalid_api_key' } }],
      [402, { error: { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' } }],
      [403, { error: { message: 'Country not supported' } }],
      [404, { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } }],
      [404, { error: { message: "model 'x' not found", type: 'not_found_error' } }],
      [
        429,
        {
          error: {
            message: 'You exceeded your current quota, please check your plan and billing details.',
            type: 'insufficient_quota',
            code: 'insufficient_quota',
          },
        },
      ],
      [
        400,
        {
          code: 'Client specified an invalid argument',
          error: 'Incorrect API key provided: xai-1. You can obtain one.',
        },
      ],
      [400, { error: { message: 'API key is invalid', type: 'authentication_error' } }],
    ];
    for (const [status, body] of ours)
      expect([status, faultOf(status, body).kind]).toEqual([status, status === 404 ? 'not_found' : 'credentials']);
    expect(faultOf(401, ours[0]?.[1]).message).not.toContain('sk-abcdefghijkl');
  });

  test('about load or time may be retried, after its retry time', () => {
    expect(
      faultOf(429, { error: { message: 'Rate limit reached', type: 'tokens' } }, { 'retry-after': '7' }),
    ).toMatchObject({
      kind: 'rate_limited',
      retryAfterMs: 7_000,
    });
    expect([503, 498, 504, 408, 500, 502].map((status) => faultOf(status, {}).kind)).toEqual([
      'overloaded',
      'overloaded',
      'timeout',
      'timeout',
      'failed',
      'failed',
    ]);
  });

  test('with HTML, no body, or other JSON is classified by its status', () => {
    for (const body of ['<html><h1>502 Bad Gateway</h1></html>', '', '[]', 'null', '{"error":null}', '{"error":{}}'])
      expect(seen(502, body)).toEqual(['failed', 'the provider answered with status 502']);
  });

  test('keeps the provider’s request id, under the names that families use', () => {
    for (const name of ['x-request-id', 'apim-request-id', 'request-id'])
      expect(faultOf(500, '', { [name]: 'r1' }).upstreamRequestId).toBe('r1');
  });
});

describe('an error with status 200', () => {
  const kindOf = (error: unknown, more: object = {}) => mapChatError({ error, ...more } as never, 'r1').kind;

  test('is classified by its code or type, or otherwise as failed', () => {
    expect(kindOf({ code: 502, message: 'x' })).toBe('failed');
    expect(kindOf({ code: 429, message: 'x' })).toBe('rate_limited');
    expect(kindOf({ code: 'rate_limit_exceeded', type: 'tokens', message: 'x' })).toBe('rate_limited');
    expect(kindOf({ type: 'server_error', message: 'x' })).toBe('failed');
    expect(kindOf({ type: 'overloaded_error', message: 'x' })).toBe('overloaded');
    expect(kindOf({ type: 'insufficient_quota', code: 429, message: 'x' })).toBe('credentials');
    expect(kindOf({ type: 'invalid_request_error', message: 'x' })).toBe('rejected');
    expect(kindOf('it broke')).toBe('failed');
    expect(mapChatError({ object: 'error', message: 'x', code: 400 }, 'r1')).toMatchObject({
      kind: 'rejected',
      upstreamRequestId: 'r1',
    });
  });
});
