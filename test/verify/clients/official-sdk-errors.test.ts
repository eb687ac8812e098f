// Errors in the official SDKs: class, code, request id, and whether they retry. A client that retries what cannot
// succeed turns a small fault into a flood.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { ErrorCode } from '../../../src/errors.ts';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { type Anthropic, makeClient, type Sdk, sdks } from './official-sdks.ts';

let turnpike: Turnpike;
beforeAll(async () => {
  turnpike = await startOwnTurnpike('it opens circuits of the sandbox');
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  await turnpike.stop();
});

type ErrorClass =
  | 'BadRequestError'
  | 'AuthenticationError'
  | 'NotFoundError'
  | 'RateLimitError'
  | 'InternalServerError'
  | 'APIError';

interface Refused {
  error: InstanceType<typeof Anthropic.APIError>;
  /** Number of requests that the client sent. */
  sentCount: number;
}

const hello = { max_tokens: 10, messages: [{ role: 'user' as const, content: 'hello' }] };

/** Sends one message with a client that may retry once; returns its error. */
async function refuse(sdk: Sdk, secret: string, body: object, isStream = false): Promise<Refused> {
  const { client, sent } = makeClient(sdk, turnpike.url, secret, 1);
  const asked = { ...hello, stream: isStream, ...body } as Anthropic.MessageCreateParamsNonStreaming;
  const error = await client.messages.create(asked).then(
    () => null,
    (thrown) => thrown,
  );
  return { error, sentCount: sent.length };
}

function expectError(refused: Refused, sdk: Sdk, name: ErrorClass, status: number, code: ErrorCode, type: string) {
  const { error } = refused;
  expect(error).toBeInstanceOf(sdk.Anthropic[name]);
  expect(error.status).toBe(status);
  expect(error.requestID).toMatch(/^req_\w+$/);
  expect(error.error).toMatchObject({
    type: 'error',
    error: { type, code, message: expect.stringMatching(/\w/), details: { error_code: code } },
    request_id: error.requestID,
  });
  expect(error.type as string).toBe(type);
  if (sdk.name === '1.x') expect([error.errorCode as string, error.apiMessage === null]).toEqual([code, false]);
}

describe.each(sdks)('the SDK $name', (sdk) => {
  let secret: string;
  beforeAll(async () => {
    ({ secret } = await turnpike.makeKey());
  });

  test('reports an unknown, disabled or missing key as an authentication error, and does not retry', async () => {
    const disabled = await turnpike.makeKey();
    await turnpike.admin('PATCH', `/keys/${disabled.key}`, { status: 'disabled' });
    for (const [shown, code] of [
      ['sk-tp-nobodyhasthiskey', 'key_invalid'],
      ['my-anthropic-api-key', 'key_invalid'],
      [disabled.secret, 'key_disabled'],
    ] as const) {
      const refused = await refuse(sdk, shown, { model: 'sandbox-echo' });
      expectError(refused, sdk, 'AuthenticationError', 401, code, 'authentication_error');
      expect(refused.sentCount).toBe(1);
    }
  });

  test('reports an empty wallet, an exhausted key and an unknown model as bad requests, and does not retry', async () => {
    const poor = await turnpike.makeKey({ credit: '0' });
    const spent = await turnpike.makeKey({}, { quota: '0.000001' });
    for (const [shown, model, code, type] of [
      [poor.secret, 'sandbox-echo', 'insufficient_user_quota', 'billing_error'],
      [spent.secret, 'sandbox-echo', 'insufficient_user_quota', 'billing_error'],
      [secret, 'no-such-model', 'model_not_found', 'not_found_error'],
    ] as const) {
      for (const isStream of [false, true]) {
        const refused = await refuse(sdk, shown, { model }, isStream);
        expectError(refused, sdk, 'BadRequestError', 400, code, type);
        expect(refused.sentCount).toBe(1);
      }
    }
  });

  test('reports which field is wrong, and does not retry', async () => {
    const refused = await refuse(sdk, secret, { model: 'sandbox-echo', messages: [{ role: 'robot', content: 'x' }] });
    expectError(refused, sdk, 'BadRequestError', 400, 'invalid_request', 'invalid_request_error');
    expect(refused.error.message).toContain('messages.0.role');
    expect(refused.sentCount).toBe(1);
  });

  test('waits as long as a rate limit says, and succeeds', async () => {
    const limited = await turnpike.makeKey({}, { rpm: 60 });
    const drainer = makeClient(sdk, turnpike.url, limited.secret).client;
    const drain = async () => {
      const taken = await Promise.allSettled(
        Array.from({ length: 70 }, () => drainer.messages.create({ model: 'sandbox-echo', ...hello })),
      );
      return taken.find((one) => one.status === 'rejected')?.reason;
    };
    const refused = await drain();
    expectError(
      { error: refused, sentCount: 1 },
      sdk,
      'RateLimitError',
      429,
      'requests_rate_exceeded',
      'rate_limit_error',
    );
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    let { client, sent } = makeClient(sdk, turnpike.url, limited.secret, 1);
    // On a busy machine the limit may allow another request before the client sends one.
    for (let tries = 0; tries < 20 && sent.length < 2; tries++) {
      await drain();
      ({ client, sent } = makeClient(sdk, turnpike.url, limited.secret, 1));
      const message = await client.messages.create({ model: 'sandbox-echo', ...hello });
      expect(message.content).toMatchObject([{ text: 'hello' }]);
    }
    expect(sent.map(({ headers }) => headers.get('x-stainless-retry-count'))).toEqual(['0', '1']);
  });

  test('reports each provider fault as its kind, and retries only where that can help', async () => {
    const faults: [string, ErrorClass, number, ErrorCode, string, number][] = [
      ['400', 'BadRequestError', 400, 'upstream_rejected', 'invalid_request_error', 1],
      ['401', 'InternalServerError', 502, 'upstream_credentials', 'api_error', 1],
      ['403', 'InternalServerError', 502, 'upstream_credentials', 'api_error', 1],
      ['413', 'APIError', 413, 'upstream_rejected', 'request_too_large', 1],
      ['429', 'RateLimitError', 429, 'upstream_rate_limited', 'rate_limit_error', 2],
      ['500', 'InternalServerError', 502, 'upstream_failed', 'api_error', 2],
      ['504', 'InternalServerError', 504, 'upstream_timeout', 'timeout_error', 2],
      ['529', 'InternalServerError', 529, 'upstream_overloaded', 'overloaded_error', 2],
    ];
    const tried = faults.flatMap((fault) =>
      [false, true].map(async (isStream) => {
        const [status, name, shownStatus, code, type, sentCount] = fault;
        const refused = await refuse(sdk, secret, { model: `sandbox-error-${status}` }, isStream);
        expectError(refused, sdk, name, shownStatus, code, type);
        expect([status, refused.sentCount]).toEqual([status, sentCount]);
      }),
    );
    await Promise.all(tried);
  });

  test('throws if a stream breaks off, and keeps the received text', async () => {
    const { client } = makeClient(sdk, turnpike.url, secret);
    const content = 'one half is sent and the other is not';
    const streaming = client.messages.stream({
      model: 'sandbox-cut',
      max_tokens: 100,
      messages: [{ role: 'user', content }],
    });
    const thrown = await streaming.finalMessage().catch((error) => error);
    expect(thrown).toBeInstanceOf(sdk.Anthropic.APIError);
    expect(thrown.message).toContain('upstream_failed');
    expect(streaming.currentMessage?.content[0]).toMatchObject({
      text: content.slice(0, Math.ceil(content.length / 2)),
    });
    expect(await refuse(sdk, secret, { model: 'sandbox-cut' })).toMatchObject({ error: { status: 502 }, sentCount: 2 });
  });

  test('gets not_found for an unknown path', async () => {
    const { client } = makeClient(sdk, turnpike.url, secret);
    const thrown = (await client.get('/v1/no/such/path').catch((error) => error)) as InstanceType<
      typeof Anthropic.APIError
    >;
    expect(thrown).toBeInstanceOf(sdk.Anthropic.NotFoundError);
    expect(thrown.error).toMatchObject({ error: { code: 'route_not_found' } });
  });
});
