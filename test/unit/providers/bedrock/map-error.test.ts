// Errors of Bedrock by the names of their exceptions, and what clients may see of them.

import { expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { mapError, mapException, readErrorType } from '../../../../src/providers/bedrock/map-error.ts';
import { scrubIdentifiers } from '../../../../src/providers/map-fault.ts';

const errorOf = (status: number, type: string, message: string) =>
  mapError(
    status,
    new Headers({ 'x-amzn-errortype': type, 'x-amzn-requestid': 'r-1' }),
    JSON.stringify({ message }),
    0,
  );

test.each([
  [429, 'ThrottlingException', 'Too many tokens, please wait before trying again.', 'rate_limited'],
  [400, 'ServiceQuotaExceededException', 'Your request exceeds the quota.', 'rate_limited'],
  [400, 'ThrottlingException', 'Rate exceeded', 'rate_limited'],
  [429, 'ModelNotReadyException', 'The model is not ready.', 'overloaded'],
  [503, 'ServiceUnavailableException', 'Bedrock is unable to process your request.', 'overloaded'],
  [408, 'ModelTimeoutException', 'The model timed out.', 'timeout'],
  [424, 'ModelErrorException', 'The model failed.', 'failed'],
  [500, 'InternalServerException', 'An error occurred.', 'failed'],
  [403, 'AccessDeniedException', "You don't have access to the model with the specified model ID.", 'credentials'],
  [403, 'UnrecognizedClientException', 'The security token included in the request is invalid.', 'credentials'],
  [403, 'InvalidSignatureException', "Credential should be scoped to a valid region, not 'us-east-9'.", 'credentials'],
  [400, 'ExpiredTokenException', 'The security token included in the request is expired', 'credentials'],
  [400, 'ValidationException', 'Operation not allowed', 'credentials'],
  [404, 'ResourceNotFoundException', 'This model version has reached the end of its life.', 'not_found'],
  [400, 'ValidationException', 'The provided model identifier is invalid.', 'not_found'],
  [
    400,
    'ValidationException',
    'Invocation of model ID anthropic.claude-v9:0 with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.',
    'not_found',
  ],
  [400, 'ValidationException', 'max_tokens: must be greater than or equal to 1', 'rejected'],
  // The client's content cannot make a route look broken.
  [400, 'ValidationException', 'messages.0.content: "The provided model identifier is invalid."', 'rejected'],
  [418, 'AnExceptionOfTheFuture', 'Something new.', 'failed'],
] as const)('%d %s "%s" is %s', (status, type, message, kind) => {
  expect(errorOf(status, type, message)).toMatchObject({ kind, status, upstreamRequestId: 'r-1' });
});

test('a prompt that is too long is reported in the words that agents recognize', () => {
  for (const message of [
    'Input is too long for requested model.',
    'The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length.',
  ])
    expect(errorOf(400, 'ValidationException', message).message).toStartWith('prompt is too long: Input');
});

test('the name of an exception is found in the header and in the body, with and without its address', () => {
  for (const [header, body] of [
    ['ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/', '{}'],
    [null, '{"__type":"com.amazon.coral.service#ValidationException"}'],
    [null, '{"__type":"ValidationException"}'],
    [null, '{"code":"ValidationException"}'],
  ] as const)
    expect(readErrorType(new Headers(header === null ? {} : { 'x-amzn-errortype': header }), body)).toBe(
      'ValidationException',
    );
  for (const body of ['', '<html>', '[]', '{"__type":7}']) expect(readErrorType(new Headers(), body)).toBeNull();
});

test('an exception in a stream has the kind of its name, whatever its case', () => {
  const kindOf = (type: string | null) => mapException(type, 'No.', null).kind;
  expect(['throttlingException', 'ThrottlingException'].map(kindOf)).toEqual(['rate_limited', 'rate_limited']);
  expect(['modelStreamErrorException', 'x', '', null].map(kindOf)).toEqual(['failed', 'failed', 'failed', 'failed']);
  expect(mapException('validationException', 'messages.0: no', null)).toMatchObject({
    kind: 'rejected',
    errorType: 'invalid_request_error',
  });
});

test('the message of an exception in a stream is cut to the bound of error responses, at a space', () => {
  const bytesMax = bounds.upstreamErrorBytesMax;
  const shown = (message: string) => mapException('validationException', message, null).message;
  const whole = `${'é'.repeat(bytesMax / 2 - 1)} x`;
  expect(shown(whole)).toBe(whole);
  expect(shown(`${whole} y`)).toBe(whole);
  const key = 'AKIAIOSFODNN7EXAMPLE';
  expect(shown(`${'x'.repeat(bytesMax - 9)} ${key} and more`)).toBe('x'.repeat(bytesMax - 9));
  expect(shown('x'.repeat(bytesMax * 2))).toBe('the provider ended the stream with an error');
});

test('clients see no ARN, account, access key and request id of ours', () => {
  for (const [text, shown] of [
    [
      'User: arn:aws:sts::123456789012:assumed-role/turnpike/i-0abc is not authorized to perform: bedrock:InvokeModel on resource: arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/anthropic.claude-v2:1',
      'User: [redacted] is not authorized to perform: bedrock:InvokeModel on resource: [redacted]',
    ],
    ['The account with the id 123456789012 is blocked', 'The account with the id [redacted] is blocked'],
    ['key ASIAIOSFODNN7EXAMPLE expired', 'key [redacted] expired'],
    ['failed (RequestId: 9f8e7d6c-1234-4321-abcd-0123456789ab)', 'failed (RequestId: [redacted])'],
    ['messages.0: 123456789012 is a number of the client', 'messages.0: 123456789012 is a number of the client'],
  ] as const)
    expect(scrubIdentifiers(text)).toBe(shown);
});
