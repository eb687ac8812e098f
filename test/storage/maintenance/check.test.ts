// `turnpike check` and `serve` on an unusable database or directory: exit code 1, and an error that names the file and
// the fault.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';

let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-check-'));
  await (await spawnTurnpike(join(directory, 'sound'))).stop();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A changed copy of a sound data directory. */
function copyWith(change: (database: string) => void): { data: string; database: string } {
  const data = mkdtempSync(join(directory, 'changed-'));
  cpSync(join(directory, 'sound'), data, { recursive: true });
  const database = join(data, 'turnpike.db');
  for (const beside of ['-wal', '-shm']) rmSync(`${database}${beside}`, { force: true }); // The stop writes the log back into the file.
  change(database);
  return { data, database };
}

async function check(data: string) {
  const [words, json] = await Promise.all([
    runTurnpike(['check', '--data', data]),
    runTurnpike(['check', '--data', data, '--json']),
  ]);
  expect([words.exitCode, json.exitCode]).toEqual([1, 1]);
  const report = JSON.parse(json.out) as { ok: boolean; faults: string[] };
  expect(report.ok).toBe(false);
  expect(words.error).toBe(`turnpike check: ${report.faults.join()}\n`);
  return report.faults;
}

test('a file that is not a database is reported with the reason', async () => {
  const { data, database } = copyWith((path) => writeFileSync(path, 'this is no database, however long it is'));
  expect(await check(data)).toEqual([`the database ${database} cannot be checked: file is not a database`]);
});

test('a database of a later version is not checked, and not reported as ok', async () => {
  const { data, database } = copyWith((path) => {
    using file = new Database(path);
    file.run('PRAGMA user_version = 999');
  });
  const [fault] = await check(data);
  expect(fault).toStartWith(`the database ${database} cannot be checked: its tables have version 999, `);
  expect(fault).toEndWith(': use the release that wrote them');
});

test('an empty file is not reported as ok', async () => {
  const { data } = copyWith((path) => truncateSync(path, 0));
  expect((await check(data))[0]).toEndWith(': start the service once to migrate them, or run "turnpike migrate"');
});

test('a service that cannot write its data directory does not start, and names the directory', async () => {
  const data = join(directory, 'unwritable');
  mkdirSync(join(data, 'lock'), { recursive: true }); // Not even root can create a file in its place.
  const { exitCode, error } = await runTurnpike(['serve', '--data', data, '--listen', '127.0.0.1:0']);
  expect([exitCode, error]).toEqual([
    1,
    `turnpike serve: the data directory ${data} cannot be written: unable to open database file\n`,
  ]);
});
