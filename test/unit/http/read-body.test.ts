// Request bodies: bounded in actual bytes, in time, and in total memory.

import { afterEach, expect, test } from 'bun:test';
import { BodiesInFlight, errorResponse, type HttpServer, RequestBody, serveHttp } from '../../../src/http/http.ts';
import { exchange } from './raw-socket.ts';

const BYTES_MAX = 1_000_000;
const OWNER = 1;
const POST = 'POST / HTTP/1.1\r\nHost: a\r\n';
let server: HttpServer | null = null;

afterEach(async () => {
  await server?.stop(false);
  server = null;
});

const bodiesUpTo = (bytesMax: number, stallMs?: number) => new BodiesInFlight(() => bytesMax, stallMs);

/** A server that responds with the number of bytes that it read, and the number that all bodies held meanwhile. */
function serve(inFlight = bodiesUpTo(256 * 1024 * 1024)) {
  server = serveHttp({
    hostname: '127.0.0.1',
    port: 0,
    async handle(request, connection) {
      const body = new RequestBody(request, connection, inFlight);
      try {
        const bytes = await new Response((await body.read(BYTES_MAX, OWNER, { bodyMs: 0 })) as BodyInit).bytes();
        const sum = bytes.reduce((total, byte) => total + byte, 0);
        return Response.json({ read: bytes.byteLength, sum, held: inFlight.bytes });
      } catch (thrown) {
        return errorResponse(thrown, 'req_test');
      } finally {
        body.giveBack();
      }
    },
  });
  return { url: server.url, port: server.port, inFlight };
}

/** A body without a declared length, in chunks. */
async function* chunks(count: number, bytesEach: number) {
  for (let place = 0; place < count; place++) {
    yield new Uint8Array(bytesEach).fill(1);
    await Bun.sleep(0);
  }
}

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', body: body as BodyInit, headers });

const codeOf = async (response: Response) => ((await response.json()) as { error: { code: string } }).error.code;

test.each([1, 1_000, 200_000, BYTES_MAX])(
  'a body of %d bytes is read in full, and its memory is freed afterwards',
  async (bytes) => {
    const { url, inFlight } = serve();
    const answer = await (await post(url, new Uint8Array(bytes).fill(1))).json();
    expect(answer).toEqual({ read: bytes, sum: bytes, held: bytes });
    expect(inFlight.bytes).toBe(0);
  },
);

test('a body without a declared length is read in full', async () => {
  const { url, inFlight } = serve();
  expect(await (await post(url, chunks(50, 10_000))).json()).toEqual({ read: 500_000, sum: 500_000, held: 500_000 });
  expect(inFlight.bytes).toBe(0);
});

test('a missing body is an empty one', async () => {
  const { url } = serve();
  expect(await (await fetch(url, { method: 'POST' })).json()).toEqual({ read: 0, sum: 0, held: 0 });
});

test('one byte too many is body_too_large, and the client can read the error', async () => {
  const { url, inFlight } = serve();
  const response = await post(url, new Uint8Array(BYTES_MAX + 1));
  expect(response.status).toBe(413);
  expect(await codeOf(response)).toBe('body_too_large');
  expect((await post(url, new Uint8Array(40 * BYTES_MAX))).status).toBe(413);
  expect(inFlight.bytes).toBe(0);
});

test('a declared length above the maximum is refused before any byte arrives', async () => {
  const { port } = serve();
  expect(await exchange(port, [`${POST}content-length: ${BYTES_MAX + 1}\r\n\r\n`])).toStartWith('HTTP/1.1 413');
});

test('a body of undeclared length is refused when it exceeds the maximum', async () => {
  const { url, inFlight } = serve();
  const response = await post(url, chunks(30, 50_000));
  expect(response.status).toBe(413);
  expect(await codeOf(response)).toBe('body_too_large');
  expect(inFlight.bytes).toBe(0);
});

test('a compressed body is content_type_unsupported; "identity" and no encoding are accepted', async () => {
  const { url } = serve();
  for (const encoding of ['gzip', 'br', 'zstd', 'identity, gzip']) {
    const response = await post(url, 'x', { 'content-encoding': encoding });
    expect(response.status).toBe(415);
    expect(await codeOf(response)).toBe('content_type_unsupported');
  }
  for (const encoding of ['identity', ' Identity', '', ' '])
    expect((await post(url, 'x', { 'content-encoding': encoding })).status).toBe(200);
});

test('when all bodies together exceed the memory, the next one is refused as overload, without being read', async () => {
  const inFlight = bodiesUpTo(500_000);
  const { url } = serve(inFlight);
  const response = await post(url, new Uint8Array(500_001));
  expect(response.status).toBe(529);
  expect(await codeOf(response)).toBe('overloaded');
  expect((await post(url, chunks(60, 10_000))).status).toBe(529);
  expect(inFlight.bytes).toBe(0);
  expect((await post(url, new Uint8Array(500_000))).status).toBe(200);
});

test('a body of undeclared length gets the same share as one with a length', async () => {
  const inFlight = bodiesUpTo(2_000_000);
  const { url } = serve(inFlight);
  for (let owner = 2; owner <= 6; owner++) inFlight.take(owner, 250_000, 0);
  expect((await post(url, new Uint8Array(700_000))).status).toBe(200);
  expect((await post(url, chunks(70, 10_000))).status).toBe(200);
  expect(inFlight.bytes).toBe(1_250_000);
});

test('an empty body with a declared length takes no memory and no part of the share of others', async () => {
  const inFlight = bodiesUpTo(1_200_000);
  const { port } = serve(inFlight);
  expect(await exchange(port, [`${POST}content-length: 0\r\nconnection: close\r\n\r\n`])).toContain('"read":0');
  inFlight.take(2, 250_000, 0);
  inFlight.take(3, 10_000, 0);
  inFlight.take(3, 380_000, 0); // a third of the total would be 400,000, and a fourth 300,000
  expect(inFlight.bytes).toBe(640_000);
});

test.each([
  ['a small body', 'content-length: 100\r\n\r\nabc'],
  ['a large body', `content-length: 900000\r\n\r\n${'x'.repeat(200_000)}`],
  ['a body in chunks', 'transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n'],
])('%s that stalls is request_timeout, and its memory is freed', async (_, rest) => {
  const { port, inFlight } = serve(bodiesUpTo(256 * 1024 * 1024, 200));
  const answer = await exchange(port, [`${POST}${rest}`]);
  expect(answer).toStartWith('HTTP/1.1 408');
  expect(answer.toLowerCase()).toContain('connection: close');
  expect(inFlight.bytes).toBe(0);
});

test('a slow body is read to its end if it does not stall', async () => {
  const { port } = serve(bodiesUpTo(256 * 1024 * 1024, 2_000));
  // All pauses together exceed the stall limit. Each is a tenth of it, so that a busy machine does not exceed it.
  const parts = Array.from({ length: 11 }, () => ['x'.repeat(40_000), 200]).flat();
  const answer = await exchange(port, [`${POST}content-length: 440000\r\n\r\n`, ...parts]);
  expect(answer).toStartWith('HTTP/1.1 200');
});

test('a client that disconnects during its upload frees the memory of its body', async () => {
  const { port, inFlight } = serve();
  const leaving = exchange(port, [`${POST}content-length: 900000\r\n\r\nabc`], () => false);
  await held(inFlight, 900_000);
  const controller = new AbortController();
  const url = `http://127.0.0.1:${port}/`;
  const aborted = fetch(url, {
    method: 'POST',
    body: endless(controller.signal) as unknown as BodyInit,
    signal: controller.signal,
  });
  await held(inFlight, 901_000);
  controller.abort();
  await expect(aborted).rejects.toThrow();
  await held(inFlight, 900_000);
  await server?.stop(false);
  await leaving;
  await held(inFlight, 0);
});

/** Resolves once this many bytes are held; fails if that never happens. */
async function held(inFlight: BodiesInFlight, bytes: number): Promise<void> {
  for (let looks = 0; inFlight.bytes !== bytes && looks < 1_000; looks++) await Bun.sleep(10);
  expect(inFlight.bytes).toBe(bytes);
}

async function* endless(signal: AbortSignal) {
  yield new Uint8Array(1_000);
  while (!signal.aborted) await Bun.sleep(20);
}

test('a client that waits for 100 Continue gets it', async () => {
  const { port } = serve();
  const head = `${POST}expect: 100-continue\r\ncontent-length: 3\r\n\r\n`;
  const answer = await exchange(port, [head, 100, 'abc'], (received) => received.includes('200 OK'));
  expect(answer).toStartWith('HTTP/1.1 100');
  expect(answer).toContain('200 OK');
});

test('the memory of a small body is free once it was read, however long its request goes on', async () => {
  const open: RequestBody[] = [];
  const blobs: WeakRef<object>[] = [];
  const inFlight = bodiesUpTo(BYTES_MAX);
  server = serveHttp({
    hostname: '127.0.0.1',
    port: 0,
    async handle(request, connection) {
      const body = new RequestBody(request, connection, inFlight);
      open.push(body);
      blobs.push(new WeakRef(await body.read(BYTES_MAX, OWNER, { bodyMs: 0 })));
      return new Response();
    },
  });
  for (let sent = 0; sent < 20; sent++) await post(server.url, 'text');
  await Bun.sleep(0); // a turn of the event loop, after which weak references may be dropped
  Bun.gc(true);
  // The collector takes what is left on the stack for references.
  expect(blobs.filter((blob) => blob.deref() !== undefined).length).toBeLessThan(5);
  for (const body of open) body.giveBack();
});
