// A caller whose body is not read: it sees its answer, also while it is still sending, and what is thrown
// away of such bodies is bounded in time and in bytes.

import { afterEach, expect, test } from 'bun:test';
import { bounds } from '../../src/config.ts';
import { type HttpServer, serveHttp } from '../../src/http/http.ts';
import { UnreadBodies } from '../../src/http/unread-bodies.ts';
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

/** What becomes of a request of so many bytes that is answered: the limits of its socket, and whether it is cut. */
async function leave(unread: UnreadBodies, headers: Record<string, string>, read?: 'read') {
  const limits: number[] = [];
  const connection = { address: '', isTls: false, setIdleSeconds: (seconds: number) => void limits.push(seconds) };
  const request = new Request('http://a/', { method: 'POST', headers, body: 'x' });
  if (read !== undefined) await request.text();
  const response = await unread.watch(request, connection, new Response('{}'));
  return { limits, isCut: response.headers.get('connection') === 'close' };
}

test('a caller that sends 32 MB to the end sees its answer, and goes on with the same connection', async () => {
  const { port } = refuseAll();
  const piece = 'x'.repeat(MEGABYTE);
  const parts = [headOf(32 * MEGABYTE), ...Array.from({ length: 32 }, () => piece), headOf(0)];
  const answers = await exchange(port, parts, (received) => received.split('HTTP/1.1 529').length === 3);
  expect(answers.split('HTTP/1.1 529')).toHaveLength(3);
  expect(answers.toLowerCase()).not.toContain('connection: close');
});

test('a long body that nobody reads has little time to end, a short one and one that was read have theirs', async () => {
  const unread = new UnreadBodies();
  const kept = { limits: [], isCut: false };
  const bounded = { limits: [bounds.unreadBodySecondsMax], isCut: false };
  expect(await leave(unread, { 'content-length': '131072' })).toEqual(kept);
  expect(await leave(unread, { 'content-length': '131073' })).toEqual(bounded);
  expect(await leave(unread, { 'transfer-encoding': 'chunked' })).toEqual(bounded);
  expect(await leave(unread, { 'content-length': '131073' }, 'read')).toEqual(kept);
});

test('when too much is thrown away already, the next connection is cut after its answer', async () => {
  const unread = new UnreadBodies(10 * MEGABYTE);
  const ofMegabytes = (count: number) => leave(unread, { 'content-length': String(count * MEGABYTE) });
  const startedMs = performance.now();
  expect((await ofMegabytes(6)).isCut).toBe(false);
  expect(await ofMegabytes(5)).toEqual({ limits: [], isCut: true });
  await Bun.sleep(1_000 - (performance.now() - startedMs) + 50);
  expect((await ofMegabytes(6)).isCut).toBe(false);
});

test('a connection that is cut has its answer first', async () => {
  const { port } = refuseAll();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => exchange(port, [headOf(32 * MEGABYTE), 'x'], (got) => got.includes('\r\n\r\n{}'))),
  );
  expect(answers.map((answer) => answer.slice(0, 12))).toEqual(Array.from({ length: 8 }, () => 'HTTP/1.1 529'));
  expect(answers.some((answer) => /connection: close/i.test(answer))).toBe(true);
});
