// A database without its log, after a crash: the acknowledged commits in it are missing, and that is noticed.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from '../../../src/commands/commands.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';

const NAME = 'acknowledged';

let directory: string;
/** The directory of a stopped service, and that of one that was killed after it had acknowledged an account. */
let stopped: string;
let killed: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-lost-commits-'));
  stopped = join(directory, 'stopped');
  await (await spawnTurnpike(stopped)).stop();
  killed = join(directory, 'killed');
  cpSync(stopped, killed, { recursive: true });
  const turnpike = await spawnTurnpike(killed);
  await turnpike.admin('POST', '/accounts', { name: NAME });
  await turnpike.admin('POST', '/accounts', { name: 'later' }); // by now, the mark of the first is written
  turnpike.process.kill('SIGKILL');
  await turnpike.process.exited;
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function copyOf(from: string, name: string): string {
  const data = join(directory, name);
  cpSync(from, data, { recursive: true });
  return data;
}

function removeLog(data: string): void {
  for (const end of ['-wal', '-shm']) rmSync(join(data, `turnpike.db${end}`), { force: true });
}

async function codesOf(data: string): Promise<string[]> {
  const { out } = await runTurnpike(['doctor', '--data', data, '--json']);
  return (JSON.parse(out) as Finding[]).filter(({ severity }) => severity === 'error').map(({ code }) => code);
}

const serve = (data: string) => runTurnpike(['serve', '--data', data, '--listen', '127.0.0.1:0']);

/** Starts the service. Resolves to the names of its accounts. */
async function accountsOf(data: string): Promise<string[]> {
  await using turnpike = await spawnTurnpike(data);
  const { data: accounts } = (await turnpike.admin('GET', '/accounts')) as unknown as { data: { name: string }[] };
  return accounts.map(({ name }) => name);
}

async function expectRefused(data: string): Promise<void> {
  expect(await codesOf(data)).toContain('commits_lost');
  const refused = await serve(data);
  expect(refused.exitCode).toBe(1);
  expect(refused.error).toContain('turnpike.db lacks the last');
  expect(refused.error).toContain(`remove ${join(data, 'last-commit')} to accept the loss`);
}

test('after a crash with its log, everything is there', async () => {
  const data = copyOf(killed, 'complete');
  expect(await codesOf(data)).toEqual([]);
  expect((await runTurnpike(['check', '--data', data])).exitCode).toBe(0);
  expect(await accountsOf(data)).toContain(NAME);
});

test('after a crash without its log, the service does not start, also after other commands have looked at it', async () => {
  const data = copyOf(killed, 'without-log');
  removeLog(data);
  await expectRefused(data);
  const check = await runTurnpike(['check', '--data', data, '--json']);
  expect([check.exitCode, JSON.parse(check.out).faults[0]]).toEqual([1, expect.stringContaining('turnpike.db lacks')]);
  const backup = await runTurnpike(['backup', join(directory, 'backup.db'), '--data', data]);
  expect([backup.exitCode, backup.error]).toEqual([1, expect.stringContaining('turnpike.db lacks')]);
  await expectRefused(data);
});

test('the log that is put back makes it complete', async () => {
  const data = copyOf(killed, 'put-back');
  removeLog(data);
  await expectRefused(data);
  removeLog(data); // a command that looked at the database has left an empty one
  copyFileSync(join(killed, 'turnpike.db-wal'), join(data, 'turnpike.db-wal'));
  expect(await accountsOf(data)).toContain(NAME);
});

test('the loss is accepted by removing the mark', async () => {
  const data = copyOf(killed, 'accepted');
  removeLog(data);
  rmSync(join(data, 'last-commit'));
  expect(await accountsOf(data)).not.toContain(NAME);
  expect(existsSync(join(data, 'last-commit'))).toBe(true);
  expect(await codesOf(data)).toEqual([]);
});

test('after a stop, the log is not needed', async () => {
  const data = copyOf(stopped, 'stopped-without-log');
  removeLog(data);
  expect(await codesOf(data)).toEqual([]);
  expect(await accountsOf(data)).toEqual(['demo']);
});

test('a missing database is not replaced by a new one', async () => {
  const data = copyOf(stopped, 'without-database');
  removeLog(data);
  rmSync(join(data, 'turnpike.db'));
  await expectRefused(data);
  expect(existsSync(join(data, 'turnpike.db'))).toBe(false);
});

test('an earlier copy in place of the database is refused, and served in a directory of its own', async () => {
  const data = copyOf(killed, 'replaced');
  removeLog(data);
  copyFileSync(join(stopped, 'turnpike.db'), join(data, 'turnpike.db'));
  await expectRefused(data);
  const restored = join(directory, 'restored');
  mkdirSync(restored, { mode: 0o700 });
  for (const name of ['turnpike.db', 'secret']) copyFileSync(join(stopped, name), join(restored, name));
  expect(await accountsOf(restored)).toEqual(['demo']);
});

test('a mark that a crash of the machine has emptied does not prevent the start', async () => {
  const data = copyOf(stopped, 'emptied');
  for (const content of ['', '\0'.repeat(31)]) {
    writeFileSync(join(data, 'last-commit'), content);
    expect(await accountsOf(data)).toEqual(['demo']);
  }
});

test('an earlier mark, which a crash of the machine can leave, does not prevent the start', async () => {
  const data = copyOf(killed, 'earlier-mark');
  writeFileSync(join(data, 'last-commit'), readFileSync(join(stopped, 'last-commit')));
  expect(await accountsOf(data)).toContain(NAME);
});
