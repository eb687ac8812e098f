// Another certificate while the server runs: new connections get it, running responses continue, and no other server
// can take the port.

import { afterEach, expect, test } from 'bun:test';
import { type HttpServer, ListenerLost, type ServeOptions, serveHttp, toResponse } from '../../../src/http/http.ts';
import { makeCertificate } from '../../support/make-certificate.ts';

const [first, second] = [makeCertificate('first'), makeCertificate('second')];
let server: HttpServer | null = null;

afterEach(async () => {
  await server?.stop(false);
  server = null;
});

/** Streams continue until `end` is called. */
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

/** Sends a request on a new connection; fails unless the server has this certificate. */
const ask = ({ url }: HttpServer, { certificate }: { certificate: string }, path = '/') =>
  fetch(url + path, { keepalive: false, tls: { ca: certificate } });

test('new connections get the new certificate, and no longer the old one', async () => {
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

test('a running stream continues to its end, and a shutdown waits for it', async () => {
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

test('a shutdown without waiting also cuts responses that use an earlier certificate', async () => {
  const { server } = serve();
  const response = await ask(server, first, '/stream');
  await server.replaceTls(second);
  await server.stop(false);
  await expect(response.text()).rejects.toThrow();
});

test('a stopped server does not listen again when a certificate arrives too late', async () => {
  const { server } = serve();
  await server.stop(true);
  await server.replaceTls(second);
  await expect(ask(server, second)).rejects.toThrow();
});

test('no other server can take the port before or after a change', async () => {
  const { server } = serve();
  const take = () => serveHttp({ hostname: '127.0.0.1', port: server.port, handle: () => new Response('stranger') });
  expect(take).toThrow();
  await server.replaceTls(second);
  expect(take).toThrow();
  expect((await ask(server, second)).status).toBe(200);
});

test('requests during a change are answered, at the second attempt if the first had no response', async () => {
  const { server } = serve();
  const statuses = new Set<number>();
  let isOver = false;
  const attempt = () => fetch(server.url, { keepalive: false, tls: { rejectUnauthorized: false } });
  const pending = Array.from({ length: 4 }, async () => {
    // A handshake at the moment of the change is cut with its listener, so its request has no effect and can be
    // repeated.
    while (!isOver) statuses.add((await attempt().catch(attempt)).status);
  });
  for (let turn = 0; turn < 5; turn++) {
    await Bun.sleep(30);
    await server.replaceTls(turn % 2 === 0 ? second : first);
  }
  isOver = true;
  await Promise.all(pending);
  expect([...statuses]).toEqual([200]);
});

test('losing the port during the change is reported', async () => {
  const { server } = serve();
  const broken = { ...second, key: first.key }; // stands for any error that prevents listening again
  await expect(server.replaceTls(broken)).rejects.toThrow(ListenerLost);
});
