// Starts on PostgreSQL that are killed at each statement of each migration, or whose server crashes: the next one finds the tables as they
// were before a version or as they are after it, completes them, and nothing is lost.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { readConfig } from '../../../src/config/config.ts';
import { checkStore } from '../../../src/maintenance/maintenance.ts';
import { latestVersion } from '../../../src/storage/migrations/migrations.ts';
import { cannotStartPostgres, runOn, startPostgres, type TestPostgres } from '../../support/start-postgres.ts';
import {
  chooseChanges,
  choosePoints,
  depthOf,
  killAtEach,
  runMigrations,
  type Start,
  type Subject,
  takeCourse,
} from './kill-migrations.ts';
import { databaseUrl, isOfPostgres, loadState, stateNames } from './open-state.ts';
import { readPostgres, type Tables } from './read-tables.ts';
import { type SteppingProxy, startSteppingProxy } from './stepping-proxy.ts';

setDefaultTimeout(600_000); // hundreds of starts, which take minutes on a busy machine

const OPEN_SESSIONS = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'turnpike %'";

describe.skipIf(cannotStartPostgres)('over PostgreSQL', () => {
  let postgres: TestPostgres;
  let proxy: SteppingProxy;
  let databases = 0;
  beforeAll(async () => {
    postgres = await startPostgres({ fsync: 'off' });
    proxy = await startSteppingProxy(postgres.port);
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await postgres.remove();
  });

  /** Kills the process and its connection instead of the statement. With `cut-after`, the server carries it out. */
  async function start(
    tables: string,
    url: string,
    killAt: number,
    { verdict = 'cut' as 'cut' | 'cut-after', meanwhile = async () => {} } = {},
  ): Promise<Start> {
    const statements: string[] = [];
    let crash = Promise.resolve();
    const { isKilled } = await runMigrations([tables, proxy.through(url)], (child) => {
      proxy.decide = async (text) => {
        statements.push(text);
        if (statements.length !== killAt) return 'pass';
        child.kill('SIGKILL');
        crash = meanwhile();
        await crash;
        return verdict;
      };
    });
    await crash;
    while ((await runOn(postgres.url, OPEN_SESSIONS)).length > 0) await Bun.sleep(2);
    return { statements, isKilled };
  }

  async function subjectOf(name: string, tables: 'tables' | 'sign-in'): Promise<Subject<string>> {
    const original = `kept_${++databases}`;
    if (name === 'nothing') await runOn(postgres.url, `CREATE DATABASE ${original} TEMPLATE template0 ENCODING 'UTF8'`);
    else await loadState(postgres, name, original);
    return {
      async copy() {
        const copy = `copy_${++databases}`;
        await runOn(postgres.url, `CREATE DATABASE ${copy} TEMPLATE ${original}`);
        return databaseUrl(postgres, copy);
      },
      start: (copy, killAt) => start(tables, copy, killAt),
      read: readPostgres,
    };
  }

  test.each(['nothing', ...stateNames.filter(isOfPostgres)])(
    'tables are migrated from %s by starts that are killed at each statement',
    async (name) => {
      const subject = await subjectOf(name, 'tables');
      const course = await takeCourse(subject, depthOf(name));
      expect(course.tables.at(-1)?.version).toBe(latestVersion);
      const copy = await killAtEach(subject, course, choosePoints(course, depthOf(name)));
      expect(await checkStore(readConfig({ data: tmpdir(), database: copy }, {}))).toMatchObject({ ok: true });
    },
  );

  test('a version that the server completed for a killed start is not repeated', async () => {
    const subject = await subjectOf('version-8-postgres', 'tables');
    const { tables } = await takeCourse(subject, 'statements');
    const copy = await subject.copy();
    proxy.isWhole = true;
    const versions = new Set<number>();
    let isKilled = true;
    for (let at = 1; isKilled; at++) {
      ({ isKilled } = await start('tables', copy, at, { verdict: 'cut-after' }));
      const found = await subject.read(copy);
      expect(found).toEqual(tables.find(({ version }) => version === found.version) as Tables);
      if (!versions.has(found.version)) at--; // this version's statements are not sent again
      versions.add(found.version);
    }
    proxy.isWhole = false;
    expect([...versions]).toEqual(tables.map(({ version }) => version));
  });

  test('a crash of the server at a commit leaves the tables as they were before', async () => {
    const subject = await subjectOf('version-8-postgres', 'tables');
    const { begins, commits, tables } = await takeCourse(subject, 'statements');
    const copy = await subject.copy();
    for (const at of commits.keys()) {
      const commit = (commits[at] as number) - (begins[at] as number) + (begins[0] as number);
      expect(await start('tables', copy, commit, { meanwhile: () => postgres.restart('immediate') })).toMatchObject({
        isKilled: true,
      });
      expect(await subject.read(copy)).toEqual(tables[at] as Tables);
      const next = await start('tables', copy, at === commits.length - 1 ? 0 : commit + 1); // at the next version
      expect(next.isKilled).toBe(at < commits.length - 1);
    }
    expect(await subject.read(copy)).toEqual(tables.at(-1) as Tables);
  });

  test('the tables of sign-in are created by starts that are killed at each statement', async () => {
    const subject = await subjectOf('nothing', 'sign-in');
    const course = await takeCourse(subject, 'statements');
    const points = chooseChanges(course);
    await killAtEach(subject, course, points);
  });

  test('tables of a later release are refused, unless it supports this one, and stay as they are', async () => {
    const { copy } = await subjectOf('nothing', 'tables');
    const url = await copy();
    await start('tables', url, 0);
    const later = latestVersion + 1;
    const write = (leastKnown: number) => `INSERT INTO schema_versions VALUES (${later}, 'later', ${leastKnown})`;
    await runOn(url, write(latestVersion));
    const before = await readPostgres(url);
    await start('tables', url, 0);
    expect(await readPostgres(url)).toEqual(before);
    await runOn(url, `DELETE FROM schema_versions WHERE version = ${later}; ${write(later)}`);
    const words = `the database has version ${later}; this release supports versions up to ${latestVersion}: a later release wrote it`;
    await expect(start('tables', url, 0)).rejects.toThrow(words);
    expect(await readPostgres(url)).toEqual(before);
  });
});
