// The HTTP server seen from outside: sockets, responses and shutdown.

import { afterEach, expect, test } from 'bun:test';
import { TurnpikeError } from '../../../src/errors.ts';
import {
  errorResponse,
  type HttpServer,
  type ServeOptions,
  serveHttp,
  shareHeaders,
  toResponse,
} from '../../../src/http/http.ts';
import { exchange } from './raw-socket.ts';

let server: HttpServer | null = null;

afterEach(async () => {
  await server?.stop(false);
  server = null;
});

function serve(handle: ServeOptions['handle'], report?: ServeOptions['report']): HttpServer {
  server = serveHttp({ hostname: '127.0.0.1', port: 0, handle, ...(report === undefined ? {} : { report }) });
  return server;
}

async function* ticks(count: number) {
  for (let tick = 1; tick <= count; tick++) {
    await Bun.sleep(20);
    yield `event: tick\ndata: {"é":${tick}}\n\n`;
  }
}

test('an uncaught error is JSON with a request id, without its cause, and is reported', async () => {
  const reported: unknown[] = [];
  const { url } = serve(
    () => {
      throw new Error('a path and a password');
    },
    (requestId, thrown) => reported.push(requestId, thrown),
  );
  const response = await fetch(url);
  const text = await response.text();
  expect(response.status).toBe(500);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(JSON.parse(text)).toMatchObject({ type: 'error', error: { type: 'api_error', code: 'internal' } });
  expect(JSON.parse(text).request_id).toBe(response.headers.get('request-id'));
  expect(text).not.toContain('password');
  expect(reported).toEqual([response.headers.get('request-id'), expect.any(Error)]);
});

test('if the server cannot listen, the error names the address and the reason', () => {
  const { port } = serve(() => new Response());
  const listenOn = (hostname: string) => () => serveHttp({ hostname, port, handle: () => new Response() });
  expect(listenOn('127.0.0.1')).toThrow(`cannot listen on 127.0.0.1:${port}: another program is using this port`);
  expect(listenOn('192.0.2.1')).toThrow(
    `cannot listen on 192.0.2.1:${port}: the address does not belong to this machine`,
  );
});

test('a JSON response has its content type, its request id and its own headers', async () => {
  const { url } = serve(() =>
    toResponse({ status: 201, headers: { 'x-own': 'a' }, body: '{"é":1}' }, 'req_1', shareHeaders({ 'x-more': 'b' })),
  );
  const response = await fetch(url);
  expect(response.status).toBe(201);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/json',
    'request-id': 'req_1',
    'x-own': 'a',
    'x-more': 'b',
  });
  expect(await response.json()).toEqual({ é: 1 });
});

test('an error response has retry headers and the standard error format', async () => {
  const { url } = serve(() => errorResponse(new TurnpikeError('draining', 'Later.', { retryAfterMs: 1_200 }), 'req_1'));
  const response = await fetch(url);
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('2');
  expect(response.headers.get('x-should-retry')).toBeNull();
  expect(await response.json()).toEqual({
    type: 'error',
    error: { type: 'api_error', code: 'draining', message: 'Later.', details: { error_code: 'draining' } },
    request_id: 'req_1',
  });
});

test('an event stream is sent immediately, unbuffered by proxies and uncached', async () => {
  const isRead = [1, 2, 3].map(() => Promise.withResolvers<void>());
  async function* onceRead() {
    for (const [index, { promise }] of isRead.entries()) {
      yield `event: tick\ndata: {"é":${index}}\n\n`;
      await promise; // data sent before is read by now, or never
    }
  }
  const { url } = serve(() => toResponse({ status: 200, headers: {}, body: onceRead() }, 'req_1'));
  const response = await fetch(url);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  for (const [index, { resolve }] of isRead.entries()) {
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(`event: tick\ndata: {"é":${index}}\n\n`);
    resolve();
  }
  expect((await reader.read()).done).toBe(true);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-cache, no-store');
  expect(response.headers.get('x-accel-buffering')).toBe('no');
});

test('a stream whose client does not read is produced only up to a bound', async () => {
  let produced = 0;
  async function* flood() {
    for (;;) {
      yield 'x'.repeat(64 * 1024);
      produced++;
    }
  }
  const { url } = serve(() => toResponse({ status: 200, headers: {}, body: flood() }, 'req_1'));
  const controller = new AbortController();
  await fetch(url, { signal: controller.signal });
  const producedMax = 1280; // 80 MB: more than the kernel buffers for a connection
  let before = -1;
  while (before < produced && produced < 4 * producedMax) {
    before = produced;
    await Bun.sleep(300);
  }
  expect(produced).toBeLessThan(producedMax);
  controller.abort();
});

test('requests in flight are counted until the end of their streams', async () => {
  const { url, requestsInFlight } = serve(() => toResponse({ status: 200, headers: {}, body: ticks(5) }, 'req_1'));
  const response = await fetch(url);
  expect(requestsInFlight()).toBe(1);
  await response.text();
  await Bun.sleep(20);
  expect(requestsInFlight()).toBe(0);
});

test('a graceful shutdown lets a running stream finish and accepts no new requests', async () => {
  const { url, stop } = serve(() => toResponse({ status: 200, headers: {}, body: ticks(10) }, 'req_1'));
  const response = await fetch(url);
  const stopping = stop(true);
  await expect(fetch(url, { keepalive: false })).rejects.toThrow();
  expect((await response.text()).match(/tick/g)).toHaveLength(10);
  await stopping;
});

test('a response with "connection: close" is the last one on its connection', async () => {
  const { port } = serve(() => toResponse({ status: 200, headers: { connection: 'close' }, body: '{}' }, 'req_1'));
  const startMs = performance.now();
  const answer = await exchange(port, ['GET / HTTP/1.1\r\nHost: a\r\n\r\n'], () => false);
  expect(performance.now() - startMs).toBeLessThan(2_000);
  expect(answer.toLowerCase()).toContain('connection: close');
});

test('the address of the peer is known without its port', async () => {
  const { url } = serve((_, connection) => Response.json(connection.address));
  expect(await (await fetch(url)).json()).toBe('127.0.0.1');
});

test('a port in use by another server cannot be shared with it', () => {
  const { port } = serve(() => new Response('first'));
  expect(() => serveHttp({ hostname: '127.0.0.1', port, handle: () => new Response('second') })).toThrow();
});
