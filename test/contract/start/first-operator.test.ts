// The one-time link for the first operator of the console, made by the first start and shown once.

import { Database } from 'bun:sqlite';
import { afterEach, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bounds, readConfig } from '../../../src/config/config.ts';
import { databasePath } from '../../../src/storage/sqlite/sqlite.ts';
import { runOn } from '../../support/start-postgres.ts';
import { serveCommand, startCounted } from '../../support/start-turnpike.ts';
import { ownerUrl, readRows, storeVariables } from '../../support/test-store.ts';

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  directories.push(directory);
  return directory;
}

async function start(data: string, environment: Record<string, string> = {}, listen = '127.0.0.1:0') {
  const store = await storeVariables(data);
  const config = readConfig({ data, listen }, { TURNPIKE_LOG: 'off', ...store, ...environment });
  const lines: string[] = [];
  const server = await startCounted(config, { version: '0.0.0', print: (line) => lines.push(line) });
  return { ...server, lines };
}

const fileOf = (data: string) => join(data, 'first-operator.txt');
const linkOf = (data: string) => readFileSync(fileOf(data), 'utf8').trimEnd();
const secretOf = (link: string) => link.split('#')[1];

async function ask(url: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(`${url}/api/v1${path}`, body === undefined ? {} : request);
  return (await answer.json()) as Record<string, unknown>;
}

async function dropPeople(data: string): Promise<void> {
  const url = await ownerUrl(data);
  if (url !== null) {
    await runOn(url, 'DELETE FROM people');
    return;
  }
  using database = new Database(databasePath(data));
  database.run('DELETE FROM people');
}

test('a first start writes a link to its console once, for the first operator', async () => {
  const data = newDirectory();
  const server = await start(data);
  const link = linkOf(data);
  expect(link).toStartWith(`${server.url}/console/invitation#tk-inv-`);
  expect((statSync(fileOf(data)).mode & 0o777).toString(8)).toBe('600');
  expect(server.lines.filter((line) => line.includes(fileOf(data)))).toHaveLength(1);
  expect(server.lines.join()).not.toContain('tk-inv-');
  const requestedMs = Date.now();
  const shown = await ask(server.url, '/invitations/show', { secret: secretOf(link) });
  expect(shown).toMatchObject({ email: null, role: 'operator', account: null, purpose: 'invitation' });
  expect(Math.abs(Date.parse(String(shown['expires_at'])) - bounds.linkMs - requestedMs)).toBeLessThan(600_000);
  expect((await ask(server.url, '/sign-in'))['first_operator']).toBe(true);
  const records = await readRows<{ actor: string; after: string }>(
    data,
    "SELECT actor, after FROM audit_records WHERE action = 'person.create'",
  );
  expect(records).toEqual([{ actor: 'start', after: '{"role":"operator"}' }]);
  await server.stop();

  const again = await start(data);
  expect(again.lines).toEqual([]);
  expect(linkOf(data)).toBe(link);
  await again.stop();
});

test('an accepted link creates an operator and works only once; the next start removes its file', async () => {
  const data = newDirectory();
  const server = await start(data);
  const accept = { secret: secretOf(linkOf(data)), email: 'ada@example.com', name: 'Ada', password: 'long enough' };
  expect(await ask(server.url, '/invitations/accept', accept)).toEqual({ email: 'ada@example.com', role: 'operator' });
  expect(await ask(server.url, '/invitations/accept', accept)).toMatchObject({ error: { code: 'object_not_found' } });
  expect((await ask(server.url, '/sign-in'))['first_operator']).toBe(false);
  await server.stop();
  const again = await start(data);
  expect([again.lines, existsSync(fileOf(data))]).toEqual([[], false]);
  await again.stop();
});

test('a first start that fails to listen leaves no link behind', async () => {
  const data = newDirectory();
  using other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('taken') });
  await expect(start(data, {}, `127.0.0.1:${other.port}`)).rejects.toThrow('another program is using this port');
  expect(existsSync(fileOf(data))).toBe(false);
  const server = await start(data);
  expect(existsSync(fileOf(data))).toBe(true);
  await server.stop();
});

test('an installation without persons gets its link at the next start', async () => {
  const data = newDirectory();
  await (await start(data)).stop();
  const before = linkOf(data);
  await dropPeople(data);
  const server = await start(data);
  expect(server.lines).toEqual([expect.stringContaining(fileOf(data))]);
  expect(linkOf(data)).not.toBe(before);
  const { role } = await ask(server.url, '/invitations/show', { secret: secretOf(linkOf(data)) });
  expect(role).toBe('operator');
  await server.stop();
});

test('the link leads to the configured public address', async () => {
  const data = newDirectory();
  const server = await start(data, { TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com' });
  expect(linkOf(data)).toStartWith('https://turnpike.example.com/console/invitation#tk-inv-');
  await server.stop();
});

test.skipIf(process.platform !== 'linux')('on a terminal the link is printed, and no file is written', async () => {
  const data = newDirectory();
  const command = [...serveCommand(await storeVariables(data)), '--listen', '127.0.0.1:0', '--data', data];
  const child = Bun.spawn(['script', '-qec', command.join(' '), '/dev/null'], {
    env: { ...process.env, TURNPIKE_LOG: 'off', ...(await storeVariables(data)) },
    stdin: 'pipe',
    stdout: 'pipe',
  });
  let printed = '';
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += piece;
    if (printed.includes('listening on')) break;
  }
  const { pid } = JSON.parse(readFileSync(join(data, 'operator.json'), 'utf8')) as { pid: number };
  process.kill(pid, 'SIGTERM');
  await child.exited;
  expect(printed).toMatch(/http:\/\/127\.0\.0\.1:\d+\/console\/invitation#tk-inv-[0-9A-Za-z]{49}\r?\n/);
  expect([existsSync(fileOf(data)), existsSync(join(data, 'first-key.txt'))]).toEqual([false, false]);
});
