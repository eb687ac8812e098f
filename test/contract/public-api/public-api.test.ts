// The public routes from outside: the paths, the parts of a message request, and the request id, CORS headers and
// error format of every response.

import { afterEach, expect, test } from 'bun:test';
import { TurnpikeError } from '../../../src/errors.ts';
import type { ClientRequest, Reply } from '../../../src/gateway/client-request.ts';
import type { PublicDependencies } from '../../../src/public-api/public-api.ts';
import { decodeBody, makeEvent, PING } from '../../../src/wire/wire.ts';
import { exchange } from '../../unit/http/raw-socket.ts';
import { type Front, OK, openFront } from './front.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
let front: Front;

afterEach(() => front.stop(false));

function open(
  answer: (clientRequest: ClientRequest, what: string) => Promise<Reply> = async () => OK,
  changes: Partial<PublicDependencies> = {},
) {
  front = openFront(answer, changes);
  return front;
}

const post = (path: string, headers: Record<string, string> = JSON_TYPE, body: string = '{}') =>
  fetch(`${front.url}${path}`, { method: 'POST', headers, body });

const errorOf = async (response: Response) =>
  (await response.json()) as { error: { code: string; type: string; message: string }; request_id: string };

/** Sends a path unchanged; `fetch` would normalize it. */
const statusOf = async (request: string) =>
  Number(
    (
      await exchange(front.port, [
        `${request} HTTP/1.1\r\nHost: a\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n`,
      ])
    ).split(' ')[1],
  );

const echoWhat = async (_: ClientRequest, what: string): Promise<Reply> => ({ ...OK, body: JSON.stringify(what) });

test.each([
  '/v1/messages',
  '/messages',
  '/v1/v1/messages',
  '/v1/messages/',
  '//v1//messages//',
  '/v1/messages?beta=true',
  '/messages/?a=/b',
])('a message can be posted to %s', async (path) => {
  open(echoWhat);
  const answer = await exchange(front.port, [
    `POST ${path} HTTP/1.1\r\nHost: a\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n`,
  ]);
  expect(answer).toStartWith('HTTP/1.1 200');
  expect(answer).toEndWith('"submitMessage"');
});

test('a message can be posted by a client without a name of a host, or with that of another one', async () => {
  open();
  expect(
    await exchange(front.port, [
      'POST /v1/messages HTTP/1.1\r\nHost:\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n',
    ]),
  ).toStartWith('HTTP/1.1 200');
  expect(await statusOf('POST http://elsewhere/v1/messages')).toBe(200);
});

test.each([
  ['POST', '/v1/messages/count_tokens', 'countTokens'],
  ['POST', '/messages/count_tokens', 'countTokens'],
  ['GET', '/v1/models', 'listModels'],
  ['GET', '/v1/models/?limit=1000', 'listModels'],
  ['GET', '/v1/models/claude-sonnet-4-5', 'getModel claude-sonnet-4-5'],
  ['GET', '/v1/models/meta%2Fllama%203:8b', 'getModel meta/llama 3:8b'],
  ['GET', '/v1/models/meta/llama', 'getModel meta/llama'],
  ['GET', '/v1/models/a%ZZ', 'getModel a%ZZ'],
  ['GET', '/v1/key', 'getKey'],
  ['GET', '/v1/v1/key/', 'getKey'],
  ['GET', '/v1/usage/req_1', 'getUsage req_1'],
  ['GET', '/v1/usage/req%5F1/?a=b', 'getUsage req_1'],
])('%s %s calls the gateway for %s', async (method, path, what) => {
  open(echoWhat);
  const response = await fetch(`${front.url}${path}`, { method, headers: JSON_TYPE });
  expect(await response.json()).toBe(what);
});

test.each(['/', '/api/hello', '/healthz', '/readyz'])('HEAD and GET of %s need no key', async (path) => {
  open();
  for (const method of ['HEAD', 'GET']) {
    const response = await fetch(`${front.url}${path}`, { method });
    expect(response.status).toBe(200);
    expect(response.headers.get('request-id')).toStartWith('req_');
    expect(await response.text()).toEqual(method === 'HEAD' ? '' : expect.stringContaining('{'));
  }
});

test.each([
  '/v1/unknown',
  '/v1',
  '/v1/message',
  '/v2/messages',
  '/v1/messages/batches',
  '/v1messages',
  '/%76%31/messages',
])('%s is route_not_found, in JSON', async (path) => {
  open();
  const response = await post(path);
  expect(response.status).toBe(404);
  expect(response.headers.get('content-type')).toBe('application/json');
  const body = await errorOf(response);
  expect(body.error).toMatchObject({ type: 'not_found_error', code: 'route_not_found' });
  expect(body.request_id).toBe(response.headers.get('request-id') as string);
});

test.each([
  ['GET', '/v1/messages', 'POST, OPTIONS'],
  ['DELETE', '/v1/models', 'GET, HEAD, OPTIONS'],
  ['PUT', '/healthz', 'GET, HEAD, OPTIONS'],
])('%s %s is method_not_allowed, with the allowed methods', async (method, path, allow) => {
  open();
  const response = await fetch(`${front.url}${path}`, { method });
  expect(response.status).toBe(405);
  expect(response.headers.get('allow')).toBe(allow);
  expect((await errorOf(response)).error.code).toBe('method_not_allowed');
});

test('a WebSocket on a path of messages is refused with 426, after which Codex uses HTTP', async () => {
  const headers = {
    upgrade: 'websocket',
    connection: 'upgrade',
    'sec-websocket-key': 'x',
    'sec-websocket-version': '13',
  };
  for (const path of ['/v1/responses', '/v1/messages']) {
    open();
    const response = await fetch(`${front.url}${path}`, { headers });
    expect(response.status).toBe(426);
    expect(response.headers.get('upgrade')).toBe('HTTP/1.1');
    expect((await errorOf(response)).error.code).toBe('websocket_unsupported');
  }
});

test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON', 'application/vnd.api+json'])(
  'a body of type %s is accepted',
  async (type) => {
    open();
    expect((await post('/v1/messages', { 'content-type': type })).status).toBe(200);
  },
);

test.each([
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/jsonp',
  'multipart/form-data',
  'json',
  '+json',
])('a body of type %s is content_type_unsupported', async (type) => {
  open();
  const response = await post('/v1/messages', { 'content-type': type });
  expect(response.status).toBe(415);
  expect((await errorOf(response)).error.code).toBe('content_type_unsupported');
  expect(front.clientRequests).toHaveLength(0);
});

test('a body without a type is content_type_unsupported', async () => {
  open();
  expect(
    await exchange(front.port, ['POST /v1/messages HTTP/1.1\r\nHost: a\r\ncontent-length: 2\r\n\r\n{}']),
  ).toStartWith('HTTP/1.1 415');
});

test('the gateway receives every part of the request', async () => {
  let body = '';
  open(async (clientRequest) => {
    body = await decodeBody(await clientRequest.readBody(1_000, 1));
    return OK;
  });
  const headers = {
    ...JSON_TYPE,
    authorization: 'Bearer sk-tp-a',
    origin: 'https://app.example',
    'vendor-version': '2026-10-21',
    'vendor-beta': 'a,b',
    'vendor-dangerous-direct-browser-access': 'true',
    'x-forwarded-for': '198.51.100.9',
  };
  const response = await post('/v1/messages?a=b&c', headers, '{"é":1}');
  expect(body).toBe('{"é":1}');
  expect(front.clientRequests[0]).toMatchObject({
    requestId: response.headers.get('request-id') as string,
    receivedAtMs: 1_760_000_000_000,
    secret: 'sk-tp-a',
    origin: 'https://app.example',
    browserDeclared: true,
    address: '198.51.100.9',
    vendorPrefix: 'vendor',
    query: 'a=b&c',
    version: '2026-10-21',
    betas: 'a,b',
  });
});

test('a request without optional parts is passed on without them', async () => {
  open();
  await post('/v1/messages');
  expect(front.clientRequests[0]).toMatchObject({
    secret: null,
    origin: null,
    browserDeclared: false,
    address: '127.0.0.1',
    vendorPrefix: 'anthropic',
    query: '',
    version: null,
    betas: null,
  });
});

test('betas of all prefixes are joined, and responses use the first prefix in the request', async () => {
  open();
  const headers = { ...JSON_TYPE, 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a', 'vendor-beta': 'b' };
  const response = await post('/v1/messages', headers);
  expect(front.clientRequests[0]).toMatchObject({ vendorPrefix: 'vendor', version: '2023-06-01', betas: 'b,a' });
  expect(response.headers.get('access-control-expose-headers')).toContain('vendor-ratelimit-requests-limit');
  await post('/v1/messages', { ...JSON_TYPE, 'anthropic-version': '2023-06-01' });
  expect(front.clientRequests[1]?.vendorPrefix).toBe('anthropic');
});

test('the body is not requested before the gateway wants it', async () => {
  open(async () => {
    throw new TurnpikeError('key_missing', 'x-api-key header is required');
  });
  const answer = await exchange(front.port, [
    'POST /v1/messages HTTP/1.1\r\nHost: a\r\ncontent-type: application/json\r\ncontent-length: 30000000\r\n\r\n',
  ]);
  expect(answer).toStartWith('HTTP/1.1 401');
  expect(front.bodies.bytes).toBe(0);
});

test('a body is held until the reply begins, and freed when the gateway fails', async () => {
  let held = 0;
  let fails = false;
  open(async (clientRequest) => {
    await clientRequest.readBody(1_000, 1);
    held = front.bodies.bytes;
    if (fails) throw new Error('bug');
    return OK;
  });
  await post('/v1/messages', JSON_TYPE, '{"a":1}');
  expect(held).toBe(7);
  expect(front.bodies.bytes).toBe(0);
  fails = true;
  expect((await post('/v1/messages', JSON_TYPE, '{"a":1}')).status).toBe(500);
  expect(front.bodies.bytes).toBe(0);
});

test('a refusal of the gateway becomes the response, readable by a browser, with its own headers', async () => {
  open(async () => {
    throw new TurnpikeError('requests_rate_exceeded', 'Slow down.', {
      retryAfterMs: 1_500,
      headers: { 'anthropic-ratelimit-requests-remaining': '0' },
    });
  });
  const response = await post('/v1/messages', { ...JSON_TYPE, origin: 'https://app.example' });
  expect(response.status).toBe(429);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'retry-after': '2',
    'anthropic-ratelimit-requests-remaining': '0',
    'access-control-allow-origin': 'https://app.example',
    'access-control-expose-headers': expect.stringContaining('anthropic-ratelimit-requests-remaining'),
  });
  expect((await errorOf(response)).error).toMatchObject({ type: 'rate_limit_error', code: 'requests_rate_exceeded' });
});

test('responses that clients should not retry have the header that says so', async () => {
  open();
  for (const response of [await post('/v1/unknown'), await post('/v1/messages', { 'content-type': 'text/plain' })])
    expect(response.headers.get('x-should-retry')).toBe('false');
});

test('a bug in the service is a 500 without its cause, which is in the report', async () => {
  open(async () => {
    throw new Error('secret of the house');
  });
  const response = await post('/v1/messages');
  const text = await response.text();
  expect(response.status).toBe(500);
  expect(text).not.toContain('house');
  expect(front.answered[0]?.failure).toMatchObject({ code: 'internal', cause: expect.any(Error) });
});

test('an event stream is relayed immediately, with CORS headers', async () => {
  async function* events() {
    yield [makeEvent({ type: 'a' })];
    await Bun.sleep(5);
    yield [makeEvent({ type: 'b' })];
  }
  open(async () => ({ status: 200, headers: { 'x-own': '1' }, body: events() }));
  const response = await post('/v1/messages');
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  expect(response.headers.get('x-own')).toBe('1');
  expect(await response.text()).toBe('event: a\ndata: {"type":"a"}\n\nevent: b\ndata: {"type":"b"}\n\n');
});

test('the gateway is notified when the client disconnects', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  open(async (clientRequest) => {
    clientRequest.signal.addEventListener('abort', () => resolve());
    await promise;
    return OK;
  });
  const controller = new AbortController();
  const leaving = fetch(`${front.url}/v1/messages`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: '{}',
    signal: controller.signal,
  });
  await Bun.sleep(50);
  controller.abort();
  await expect(leaving).rejects.toThrow();
  await promise;
});

test.each(['/v1/messages', '/messages', '/v1/anything'])(
  'a preflight of %s is answered without a key',
  async (path) => {
    open();
    const response = await fetch(`${front.url}${path}`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, vendor-version',
      },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(response.headers.get('access-control-allow-headers')).toBe('authorization, vendor-version');
    expect(front.clientRequests).toHaveLength(0);
  },
);

test.each(['/api/accounts', '/console', '/api/hello'])('%s never carries CORS headers', async (path) => {
  open();
  for (const method of ['OPTIONS', 'GET', 'HEAD']) {
    const response = await fetch(`${front.url}${path}`, { method, headers: { origin: 'https://evil.example' } });
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  }
});

test('while the service drains, messages are refused and connections closed; it is alive but not ready', async () => {
  open(async () => OK, { isLeaving: () => true, isDraining: () => true });
  const response = await post('/v1/messages');
  expect(response.status).toBe(503);
  expect((await errorOf(response)).error.code).toBe('draining');
  expect(response.headers.get('connection')).toBe('close');
  expect(front.clientRequests).toHaveLength(0);
  expect((await fetch(`${front.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${front.url}/healthz`)).status).toBe(200);
});

test.each([
  ['is unavailable', () => false],
  ['fails', () => Promise.reject(new Error('gone'))],
])('the service is not ready when the store %s, and still alive', async (_, isStoreAvailable) => {
  open(async () => OK, { isStoreAvailable });
  const response = await fetch(`${front.url}/readyz`);
  expect(response.status).toBe(503);
  expect((await errorOf(response)).error.code).toBe('store_unavailable');
  expect((await fetch(`${front.url}/healthz`)).status).toBe(200);
});

test('every response is reported once, without its query', async () => {
  open();
  await post('/v1/messages?key=sk-tp-a');
  await post('/v1/unknown');
  expect(front.answered).toMatchObject([
    { method: 'POST', path: '/v1/messages', status: 200, failure: null, address: '127.0.0.1' },
    { method: 'POST', path: '/v1/unknown', status: 404, failure: { code: 'route_not_found' } },
  ]);
});

test('an admitted message is reported only by the gateway', async () => {
  open(async (clientRequest) => {
    clientRequest.isAdmitted = true;
    throw new TurnpikeError('upstream_failed', 'The provider failed.');
  });
  expect((await post('/v1/messages')).status).toBe(502);
  expect(front.answered).toEqual([]);
});

test('the body of a streamed message counts as held until its request is no longer needed', async () => {
  const kept = Promise.withResolvers<void>();
  const front = openFront(async (clientRequest) => {
    await clientRequest.readBody(1_000_000, 1);
    const body = (async function* () {
      yield [PING];
    })();
    return { status: 200, headers: {}, body, requestInUse: kept.promise };
  });
  const response = await fetch(`${front.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: 'x'.repeat(1_000),
  });
  await response.text();
  expect(front.bodies.bytes).toBe(1_000);
  kept.resolve();
  await kept.promise;
  expect(front.bodies.bytes).toBe(0);
  await front.stop(false);
});
