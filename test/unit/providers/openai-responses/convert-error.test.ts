// The provider's errors: whose fault they are, with texts that clients know.

import { describe, expect, test } from 'bun:test';
import { RESPONSES_COUNTS, readCounts } from '../../../../src/protocols/token-counts.ts';
import { convertError, convertErrorEvent } from '../../../../src/providers/openai-responses/convert-chunk.ts';
import { makeUsage } from '../../../../src/providers/running-usage.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';

const convertUsage = (usage: JsonObject) => makeUsage(readCounts(usage, RESPONSES_COUNTS));

const answer = (status: number, error: object | string, headers: Record<string, string> = {}) =>
  convertError(status, new Headers(headers), typeof error === 'string' ? error : JSON.stringify({ error }), 0);

describe('a response with status', () => {
  test.each<[number, object | string, string]>([
    [401, { code: 'invalid_api_key', message: 'Incorrect API key provided.' }, 'credentials'],
    [403, { code: 'unsupported_country_region_territory', message: 'No.' }, 'credentials'],
    [404, { code: 'model_not_found', message: 'The model does not exist.' }, 'not_found'],
    [
      429,
      { type: 'insufficient_quota', code: 'insufficient_quota', message: 'You exceeded your current quota.' },
      'credentials',
    ],
    [400, { type: 'invalid_request_error', code: 'billing_hard_limit_reached', message: 'Billing.' }, 'credentials'],
    [
      400,
      { type: 'invalid_request_error', message: 'Your organization must be verified to generate reasoning summaries.' },
      'credentials',
    ],
    [400, { type: 'invalid_request_error', code: null, message: "Unsupported parameter: 'temperature'." }, 'rejected'],
    [429, { type: 'tokens', code: 'rate_limit_exceeded', message: 'Rate limit reached.' }, 'rate_limited'],
    [500, { type: 'server_error', message: 'Oh.' }, 'failed'],
    [503, { message: 'Overloaded.' }, 'overloaded'],
    [504, '<html>', 'timeout'],
    [502, '', 'failed'],
  ])('%i with %j is a fault of the kind %s', (status, error, kind) => {
    expect(answer(status, error)).toMatchObject({ kind, status });
  });

  test('400 keeps its text, as an error that clients know', () => {
    const fault = answer(400, {
      type: 'image_parse_error',
      code: 'image_parse_error',
      message: 'Could not process image.',
    });
    expect(fault).toMatchObject({ errorType: 'invalid_request_error', message: 'Could not process image.' });
  });

  test('429 keeps its retry time, and the id of the request', () => {
    const fault = answer(429, { message: 'Slow.' }, { 'retry-after': '7', 'x-request-id': 'req_theirs' });
    expect(fault).toMatchObject({ retryAfterMs: 7_000, upstreamRequestId: 'req_theirs' });
  });

  test.each([
    [
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens.",
      'prompt is too long: 130012 tokens > 128000 maximum',
    ],
    [
      'Your input exceeds the context window of this model.',
      'prompt is too long: Your input exceeds the context window of this model.',
    ],
  ])('400 about a prompt that is too long has the error text on which agents shorten it', (message, words) => {
    expect(answer(400, { code: 'context_length_exceeded', message })).toMatchObject({
      kind: 'rejected',
      message: words,
    });
  });

  test('400 about an image has the error text on which agents leave it out', () => {
    const fault = answer(400, { code: 'invalid_image_format', message: 'You uploaded an unsupported image.' });
    expect(fault.message).toBe('Could not process image: You uploaded an unsupported image.');
  });

  test('400 about reasoning that cannot be opened has the error text on which agents leave it out', () => {
    const fault = answer(400, { code: 'invalid_encrypted_content', message: 'It could not be verified.' });
    expect(fault.message).toStartWith('Invalid signature in thinking block');
  });
});

describe('an error inside a stream', () => {
  test.each<[object, string]>([
    [{ code: 'server_error', message: 'Oh.' }, 'failed'],
    [{ error: { code: 'rate_limit_exceeded', message: 'Slow.' } }, 'rate_limited'],
    [{ error: { type: 'server_is_overloaded', code: null, message: 'Later.' } }, 'overloaded'],
    [{ code: 'invalid_prompt', message: 'No.' }, 'rejected'],
    [{ code: 'image_too_large', message: 'No.' }, 'rejected'],
    [{ error: { type: 'invalid_request_error', message: 'No.' } }, 'rejected'],
    [{ code: 'insufficient_quota', message: 'No.' }, 'credentials'],
    [{ message: 'No code.' }, 'failed'],
    [{}, 'failed'],
  ])('%j is a fault of the kind %s', (event, kind) => {
    expect(convertErrorEvent(event as never, 'req_theirs')).toMatchObject({ kind, upstreamRequestId: 'req_theirs' });
  });
});

test.each([
  ['Rate limit reached. Please try again in 1.242s.', 1_242],
  ['Please try again in 350ms.', 350],
  ['Please try again.', null],
])('a rate limit inside a stream takes its retry time from its text: %s', (message, retryAfterMs) => {
  expect(convertErrorEvent({ code: 'rate_limit_exceeded', message }, null).retryAfterMs).toBe(retryAfterMs);
});

describe('usage', () => {
  test('counts cached tokens once', () => {
    const usage = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 5 },
    };
    expect(convertUsage(usage)).toEqual({
      input_tokens: 10,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 5 },
    });
  });

  test('leaves out missing counts, and ignores invalid ones', () => {
    expect(convertUsage({})).toEqual({});
    expect(convertUsage({ input_tokens: 'many', output_tokens: -1 })).toEqual({});
    expect(convertUsage({ input_tokens: 5, output_tokens: 0 })).toEqual({
      input_tokens: 5,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      output_tokens: 0,
    });
    expect(convertUsage({ input_tokens: 5, input_tokens_details: { cached_tokens: 9 } })['input_tokens']).toBe(5);
  });
});
