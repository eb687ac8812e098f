// Requests whose body is not read: the client gets its response, even while it is still sending, and discarded bodies
// are bounded in time and bytes.

import { afterEach, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { type HttpServer, serveHttp } from '../../../src/http/http.ts';
import { UnreadBodies } from '../../../src/http/serve-http.ts';
import { exchange } from './raw-socket.ts';

const MEGABYTE = 1024 * 1024;
let server: HttpServer | null = null;

afterEach(async () => {
  await server?.stop(false);
  server = null;
});

function refuseAll(): HttpServer {
  server = serveHttp({ hostname: '127.0.0.1', port: 0, handle: () => new Response('{}', { status: 529 }) });
  return server;
}

const headOf = (bytes: number) => `POST / HTTP/1.1\r\nHost: a\r\ncontent-length: ${bytes}\r\n\r\n`;

/**
 * The result for a request of this size that is answered early: the limits of its socket, and whether its connection
 * is cut.
 */
async function refuseBody(unread: UnreadBodies, headers: Record<string, string>, read?: 'read') {
  const limits: number[] = [];
  const connection = { address: '', isTls: false, setIdleSeconds: (seconds: number) => void limits.push(seconds) };
  const request = new Request('http://a/', { method: 'POST', headers, body: 'x' });
  if (read !== undefined) await request.text();
  const response = await unread.watch(request, connection, new Response('{}'));
  return { limits, isCut: response.headers.get('connection') === 'close' };
}

test('a client that sends 32 MB to the end gets its response, and can use the same connection again', async () => {
  const { port } = refuseAll();
  const piece = 'x'.repeat(MEGABYTE);
  const parts = [headOf(32 * MEGABYTE), ...Array.from({ length: 32 }, () => piece), headOf(0)];
  const answers = await exchange(port, parts, (received) => received.split('HTTP/1.1 529').length === 3);
  expect(answers.split('HTTP/1.1 529')).toHaveLength(3);
  expect(answers.toLowerCase()).not.toContain('connection: close');
});

test('a long unread body has little time to end; a short body and a body that was read have the usual time', async () => {
  const unread = new UnreadBodies();
  const kept = { limits: [], isCut: false };
  const bounded = { limits: [bounds.unreadBodySecondsMax], isCut: false };
  expect(await refuseBody(unread, { 'content-length': '131072' })).toEqual(kept);
  expect(await refuseBody(unread, { 'content-length': '131073' })).toEqual(bounded);
  expect(await refuseBody(unread, { 'transfer-encoding': 'chunked' })).toEqual(bounded);
  expect(await refuseBody(unread, { 'content-length': '131073' }, 'read')).toEqual(kept);
});

test('when too much is being discarded, the next connection is cut after its response', async () => {
  const unread = new UnreadBodies(10 * MEGABYTE);
  const ofMegabytes = (count: number) => refuseBody(unread, { 'content-length': String(count * MEGABYTE) });
  const startedMs = performance.now();
  expect((await ofMegabytes(6)).isCut).toBe(false);
  expect(await ofMegabytes(5)).toEqual({ limits: [], isCut: true });
  await Bun.sleep(1_000 - (performance.now() - startedMs) + 50);
  expect((await ofMegabytes(6)).isCut).toBe(false);
});

test('a connection that is cut gets its response first', async () => {
  const { port } = refuseAll();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => exchange(port, [headOf(32 * MEGABYTE), 'x'], (got) => got.includes('\r\n\r\n{}'))),
  );
  expect(answers.map((answer) => answer.slice(0, 12))).toEqual(Array.from({ length: 8 }, () => 'HTTP/1.1 529'));
  expect(answers.some((answer) => /connection: close/i.test(answer))).toBe(true);
});
