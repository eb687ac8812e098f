// The state after a first start, successful or failed, and what a later start refuses.

import { afterEach, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../../src/config/config.ts';
import { startCounted } from '../../support/start-turnpike.ts';
import { isOverPostgres, storeVariables } from '../../support/test-store.ts';

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  directories.push(directory);
  return directory;
}

async function start(
  data: string,
  environment: Record<string, string> = {},
  listen = '127.0.0.1:0',
  applyFile?: object,
) {
  const store = await storeVariables(data);
  const config = readConfig({ data, listen }, { TURNPIKE_LOG: 'off', ...store, ...environment });
  const lines: string[] = [];
  const file = applyFile && {
    applyFile: { document: applyFile, describeFault: ({ message }: { message: string }) => message },
  };
  const server = await startCounted(config, { version: '0.0.0', print: (line) => lines.push(line), ...file });
  return { ...server, lines };
}

const failureOf = (started: Promise<unknown>) =>
  started.then(
    () => '',
    (failure: Error) => failure.message,
  );

function firstKey(data: string): string {
  return /sk-tp-\w+/.exec(readFileSync(join(data, 'first-key.txt'), 'utf8'))?.[0] ?? '';
}

test('after a first start that fails to listen, the next start creates a working key', async () => {
  const data = newDirectory();
  using other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('taken') });
  const failure = await failureOf(start(data, {}, `127.0.0.1:${other.port}`));
  expect(failure).toBe(`--listen: cannot listen on 127.0.0.1:${other.port}: another program is using this port`);
  expect(existsSync(join(data, 'first-key.txt'))).toBe(false);

  const server = await start(data);
  const response = await fetch(`${server.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': firstKey(data) },
    body: JSON.stringify({ model: 'sandbox-echo', messages: [{ role: 'user', content: 'hi' }] }),
  });
  expect(response.status).toBe(200);
  await server.stop();
});

test('after a first start with an invalid file, the next start is a first start', async () => {
  const data = newDirectory();
  expect(await failureOf(start(data, {}, '127.0.0.1:0', { models: { m: {} } }))).not.toBe('');
  const server = await start(data);
  expect(firstKey(data)).toStartWith('sk-tp-');
  await server.stop();
});

test('a second start creates no second key', async () => {
  const data = newDirectory();
  await (await start(data)).stop();
  const key = firstKey(data);
  const again = await start(data);
  expect(again.lines).toEqual([]);
  expect(firstKey(data)).toBe(key);
  await again.stop();
});

test('an installation does not start with another secret', async () => {
  const data = newDirectory();
  await (await start(data)).stop();
  const other = Buffer.alloc(32, 7).toString('base64');
  expect(await failureOf(start(data, { TURNPIKE_SECRET: other }))).toContain('TURNPIKE_SECRET');
  if (isOverPostgres) return; // PostgreSQL has no such file
  rmSync(join(data, 'secret'));
  expect(await failureOf(start(data))).toContain('secret');
});

test('files in a directory that others can read are readable by their owner only', async () => {
  const data = newDirectory();
  mkdirSync(join(data, 'open'), { mode: 0o755 });
  const server = await start(join(data, 'open'));
  const ofSqlite = ['turnpike.db', 'turnpike.db-wal', 'secret'];
  for (const name of ['operator.json', 'first-key.txt', ...(isOverPostgres ? [] : ofSqlite)]) {
    expect([name, (statSync(join(data, 'open', name)).mode & 0o077).toString(8)]).toEqual([name, '0']);
  }
  await server.stop();
});

test('the first two requests to the admin API, sent together, create one account under one idempotency key', async () => {
  const data = newDirectory();
  const server = await start(data);
  const { token } = JSON.parse(readFileSync(join(data, 'operator.json'), 'utf8'));
  const create = async () => {
    const response = await fetch(`${server.url}/api/v1/accounts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'first' },
      body: JSON.stringify({ name: 'acme' }),
    });
    return (await response.json()) as { id: string };
  };
  const [one, other] = await Promise.all([create(), create()]);
  expect(one.id).toStartWith('acct_');
  expect(other.id).toBe(one.id);
  await server.stop();
});
