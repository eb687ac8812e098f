// Another certificate while the server runs: new connections see it, running answers go on, and the port
// stays nobody else's.

import { afterEach, expect, test } from 'bun:test';
import { type HttpServer, ListenerLost, type ServeOptions, serveHttp, toResponse } from '../../src/http/http.ts';
import { makeCertificate } from '../support/make-certificate.ts';

const [first, second] = [makeCertificate('first'), makeCertificate('second')];
let server: HttpServer | null = null;

afterEach(async () => {
  await server?.stop(false);
  server = null;
});

/** Streams go on until `end` is called. */
function serve() {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  async function* ticks() {
    yield 'begun\n';
    await promise;
    yield 'ended\n';
  }
  const handle: ServeOptions['handle'] = (request) =>
    request.url.endsWith('/stream')
      ? toResponse({ status: 200, headers: {}, body: ticks() }, 'req_1')
      : Response.json({ answered: true });
  server = serveHttp({ hostname: '127.0.0.1', port: 0, tls: first, handle });
  return { server, end };
}

/** Asks on a new connection; fails unless the certificate is this one. */
const ask = ({ url }: HttpServer, { certificate }: { certificate: string }, path = '/') =>
  fetch(url + path, { keepalive: false, tls: { ca: certificate } });

test('new connections see the new certificate, and no longer the old one', async () => {
  const { server } = serve();
  expect(server.url).toMatch(/^https:/);
  expect((await ask(server, first)).status).toBe(200);
  await expect(ask(server, second)).rejects.toThrow();
  await server.replaceTls(second);
  expect((await ask(server, second)).status).toBe(200);
  await expect(ask(server, first)).rejects.toThrow();
  await server.replaceTls(first);
  expect((await ask(server, first)).status).toBe(200);
});

test('a stream that runs goes on to its end, and is counted and waited for', async () => {
  const { server, end } = serve();
  const response = await ask(server, first, '/stream');
  await server.replaceTls(second);
  expect(server.requestsInFlight()).toBe(1);
  expect((await ask(server, second)).status).toBe(200);
  let isStopped = false;
  const stopping = server.stop(true).then(() => {
    isStopped = true;
  });
  await Bun.sleep(50);
  expect(isStopped).toBe(false);
  end();
  expect(await response.text()).toBe('begun\nended\n');
  await stopping;
  expect(server.requestsInFlight()).toBe(0);
});

test('an end that does not wait cuts what an earlier certificate answers, too', async () => {
  const { server } = serve();
  const response = await ask(server, first, '/stream');
  await server.replaceTls(second);
  await server.stop(false);
  await expect(response.text()).rejects.toThrow();
});

test('a server that was stopped does not listen again for a certificate that comes too late', async () => {
  const { server } = serve();
  await server.stop(true);
  await server.replaceTls(second);
  await expect(ask(server, second)).rejects.toThrow();
});

test('the port is nobody else’s before and after', async () => {
  const { server } = serve();
  const take = () => serveHttp({ hostname: '127.0.0.1', port: server.port, handle: () => new Response('stranger') });
  expect(take).toThrow();
  await server.replaceTls(second);
  expect(take).toThrow();
  expect((await ask(server, second)).status).toBe(200);
});

test('requests that come all the while are answered, at the second attempt where the first had no answer', async () => {
  const { server } = serve();
  const statuses = new Set<number>();
  let isOver = false;
  const attempt = () => fetch(server.url, { keepalive: false, tls: { rejectUnauthorized: false } });
  const asking = Array.from({ length: 4 }, async () => {
    // A handshake of that very moment is cut with its listener: nothing of it was answered, or will be.
    while (!isOver) statuses.add((await attempt().catch(attempt)).status);
  });
  for (let turn = 0; turn < 5; turn++) {
    await Bun.sleep(30);
    await server.replaceTls(turn % 2 === 0 ? second : first);
  }
  isOver = true;
  await Promise.all(asking);
  expect([...statuses]).toEqual([200]);
});

test('a port that is lost meanwhile is said to be lost', async () => {
  const { server } = serve();
  const broken = { ...second, key: first.key }; // stands for whatever keeps it from listening again
  await expect(server.replaceTls(broken)).rejects.toThrow(ListenerLost);
});
