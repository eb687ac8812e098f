// Versions of the SQLite tables: created, opened, or refused.

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { latestVersion, migrations, migrationsAfter } from '../../src/storage/migrations/migrations.ts';
import { openForWriting } from '../../src/storage/sqlite/sqlite.ts';
import { claimsAfter, claimsOf, formerRows } from './claimed-emails.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Opens the file in `directory` as a start does, and returns its version and number of tables. */
function start(path: string): { version: number; tables: number } {
  using database = openForWriting(path);
  return look(database);
}

function look(database: Database): { version: number; tables: number } {
  const { user_version: version } = database.query('PRAGMA user_version').get() as { user_version: number };
  const { tables } = database.query(`SELECT count(*) AS tables FROM sqlite_schema WHERE type = 'table'`).get() as {
    tables: number;
  };
  return { version, tables };
}

describe('a start on SQLite', () => {
  test('creates all tables at the latest version, and leaves them as they are at the next start', () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'turnpike.db');
    const created = start(path);
    expect(created).toEqual({ version: latestVersion, tables: expect.any(Number) });
    {
      using database = openForWriting(path);
      database.run(`INSERT INTO accounts (id, created_at_ms, document) VALUES (7, 1, '{"id":7}')`);
    }
    expect(start(path)).toEqual(created);
    using database = new Database(path);
    expect(database.query('SELECT id FROM accounts').all()).toEqual([{ id: 7 }]);
  });

  for (const version of [1, 7])
    test(`refuses a database of version ${version}, and writes nothing to it`, () => {
      using directory = temporaryDirectory();
      const path = join(directory.path, 'turnpike.db');
      using database = new Database(path, { create: true });
      database.run(`PRAGMA user_version = ${version}`);
      expect(() => start(path)).toThrow(
        `the database has version ${version}; this release can migrate version 8 and later`,
      );
      expect(look(database)).toEqual({ version, tables: 0 });
      expect(database.query('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'delete' });
    });
});

test('people of an account who were invited or disabled before version 16 keep their email from nobody', () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'turnpike.db');
  {
    using database = new Database(path, { create: true });
    for (const { version, sqlite } of migrations) if (version < 16) database.run(sqlite);
    database.run('PRAGMA user_version = 15');
    database.run(formerRows);
  }
  using database = openForWriting(path);
  expect(database.query(claimsOf).all()).toEqual(claimsAfter);
  const plan = database
    .query(
      `EXPLAIN QUERY PLAN SELECT 1 FROM people r INDEXED BY people_by_email WHERE json_extract(r.document, '$.email') = ? AND r.email IS NULL AND r.status = ?`,
    )
    .all('', '');
  expect(JSON.stringify(plan)).toContain('people_by_email');
});

test('versions of the tables increase, and none requires a later program than itself', () => {
  const versions = migrations.map(({ version }) => version);
  expect(versions).toEqual(versions.toSorted((one, other) => one - other));
  expect(new Set(versions).size).toBe(versions.length);
  for (const { version, leastKnown } of migrations) expect(leastKnown).toBeLessThanOrEqual(version);
  expect(migrationsAfter(latestVersion)).toEqual([]);
});
