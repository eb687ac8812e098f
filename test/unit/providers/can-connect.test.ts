// Checks whether a host accepts connections. test/contract/routes has the case of a host that cannot be reached at
// all.

import { expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { canConnect } from '../../../src/providers/providers.ts';

async function listen(): Promise<{ url: string; accepted: () => number } & AsyncDisposable> {
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    socket.on('error', () => {});
    socket.end();
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    accepted: () => accepted,
    [Symbol.asyncDispose]: () => new Promise((done) => server.close(() => done())),
  };
}

test('a listening host accepts a connection, and concurrent checks share one', async () => {
  await using host = await listen();
  const checks = Array.from({ length: 50 }, () => canConnect(host.url, 5_000));
  expect(await Promise.all(checks)).toEqual(checks.map(() => true));
  expect(host.accepted()).toBe(1);
  expect(await canConnect(host.url, 5_000)).toBe(true);
  expect(host.accepted()).toBe(2);
});

test('failures that the call itself reports are not treated as a hang: a refusal, an unknown name, a provider inside the service', async () => {
  const host = await listen();
  await host[Symbol.asyncDispose]();
  expect(await canConnect(host.url, 5_000)).toBe(true);
  expect(await canConnect('https://no-such-host.invalid/', 5_000)).toBe(true);
  expect(await canConnect('', 5_000)).toBe(true);
});
