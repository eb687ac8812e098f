// Whether a host lets itself be connected to. One that cannot be reached at all is tried in test/routes, where one can
// be made.

import { expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { canConnect } from '../../src/providers/providers.ts';

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

test('a host that listens can be connected to, and many who ask at a time make one connection', async () => {
  await using host = await listen();
  const asked = Array.from({ length: 50 }, () => canConnect(host.url, 5_000));
  expect(await Promise.all(asked)).toEqual(asked.map(() => true));
  expect(host.accepted()).toBe(1);
  expect(await canConnect(host.url, 5_000)).toBe(true);
  expect(host.accepted()).toBe(2);
});

test('what the call itself will be told of is no hang: a refusal, a name that nobody has, a provider inside', async () => {
  const host = await listen();
  await host[Symbol.asyncDispose]();
  expect(await canConnect(host.url, 5_000)).toBe(true);
  expect(await canConnect('https://no-such-host.invalid/', 5_000)).toBe(true);
  expect(await canConnect('', 5_000)).toBe(true);
});
