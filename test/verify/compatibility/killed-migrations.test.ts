// Starts on SQLite that are killed at each statement of each migration: the next one finds the tables as they were before a version or
// as they are after it, completes them, and nothing is lost.

import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../../src/config/config.ts';
import { checkStore } from '../../../src/maintenance/maintenance.ts';
import { latestVersion } from '../../../src/storage/migrations/migrations.ts';
import {
  chooseChanges,
  choosePoints,
  depthOf,
  killAtEach,
  runMigrations,
  type Subject,
  takeCourse,
} from './kill-migrations.ts';
import { isOfPostgres, stateNames, unpackState } from './open-state.ts';
import { readSqlite } from './read-tables.ts';

const directories: string[] = [];
afterAll(() => {
  for (const path of directories) rmSync(path, { recursive: true, force: true });
});

function newDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'turnpike-killed-'));
  directories.push(path);
  return path;
}

/** `file` of copies of a directory. */
function subjectOf(original: string, tables: 'tables' | 'sign-in', file: string): Subject<string> {
  return {
    async copy() {
      const copy = newDirectory();
      cpSync(original, copy, { recursive: true });
      return copy;
    },
    start: (copy, killAt) => runMigrations([tables, join(copy, file), String(killAt)]),
    read: async (copy, columns) => readSqlite(join(copy, file), columns),
  };
}

test.each(['nothing', ...stateNames.filter((name) => !isOfPostgres(name))])(
  'tables are migrated from %s by starts that are killed at each statement',
  async (name) => {
    const original = name === 'nothing' ? newDirectory() : await unpackState(name);
    directories.push(original);
    const subject = subjectOf(original, 'tables', 'turnpike.db');
    const course = await takeCourse(subject, depthOf(name));
    expect(course.tables.at(-1)?.version).toBe(latestVersion);
    const copy = await killAtEach(subject, course, choosePoints(course, depthOf(name)));
    expect(await checkStore(readConfig({ data: copy }, {}))).toMatchObject({ ok: true });
  },
);

test('the tables of sign-in are created by starts that are killed at each statement', async () => {
  const subject = subjectOf(newDirectory(), 'sign-in', 'sign-in.db');
  const course = await takeCourse(subject, 'statements');
  const points = chooseChanges(course);
  await killAtEach(subject, course, points);
});

test('tables of a later release are refused, and stay as they are', async () => {
  const path = join(newDirectory(), 'turnpike.db');
  await runMigrations(['tables', path]);
  {
    using database = new Database(path);
    database.run(`PRAGMA user_version = ${latestVersion + 1}`);
  }
  const before = readSqlite(path);
  const words = `the database has version ${latestVersion + 1}; this release supports versions up to ${latestVersion}: a later release wrote it`;
  await expect(runMigrations(['tables', path])).rejects.toThrow(words);
  expect(readSqlite(path)).toEqual(before);
});
