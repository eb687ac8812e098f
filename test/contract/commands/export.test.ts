// Files of usage and costs on the command line, and exports that are sent at regular times.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeAccount, makeKey, useKey } from '../admin-api/installation.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeAll(async () => {
  world = await makeCommandWorld();
  const account = await makeAccount(world.installation);
  await useKey(world.installation, await makeKey(world.installation, account['id']), 3);
});
afterAll(() => world[Symbol.dispose]());

test('export download prints CSV, and saves a file that is there when it is complete', async () => {
  const printed = await world.run('export', 'download', '--kind', 'records', '--month', '2026-11');
  expect(printed.exitCode).toBe(0);
  expect(printed.out.split('\r\n').length).toBe(5);
  const file = join(world.directory, 'costs.parquet');
  expect(await world.run('export', 'download', file, '--format', 'parquet')).toMatchObject({ exitCode: 0, out: '' });
  expect(readFileSync(file).subarray(0, 4).toString()).toBe('PAR1');
  const needed = await world.run('export', 'download', '--format', 'parquet');
  expect(needed).toMatchObject({ exitCode: 2, error: expect.stringContaining('parquet needs a FILE') });
  const wrong = join(world.directory, 'wrong.csv');
  const refused = await world.run('export', 'download', wrong, '--month', '2099-01');
  expect(refused).toMatchObject({ exitCode: 1, error: expect.stringContaining('month: has not begun') });
  expect([existsSync(wrong), existsSync(`${wrong}.part`)]).toEqual([false, false]);
});

test('an export is created without its secret being shown, listed, changed and run', async () => {
  const s3 = ['--target', 's3', '--s3-endpoint', 'https://s3.example.com', '--s3-bucket', 'finance'];
  const keys = ['--s3-access-key-id', 'AKID', '--s3-secret-access-key', 'never-shown'];
  const made = await world.run('export', 'create', '--kind', 'focus', '--every', 'month', ...s3, ...keys, '--json');
  expect(made).toMatchObject({ exitCode: 0, error: '' });
  expect(made.out).not.toContain('never-shown');
  const { id } = JSON.parse(made.out);
  expect((await world.run('export', 'list')).out).toContain(id);
  expect((await world.runJson('export', 'update', id, '--day', '5'))['day']).toBe(5);
  expect((await world.runJson('export', 'run', id, '--period', '2026-10'))['status']).toBe('pending');
  expect((await world.run('export', 'runs', id)).out).toContain('2026-10');
});
