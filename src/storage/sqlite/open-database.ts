// Opens a SQLite database with the settings that money needs: WAL, and every commit on the disk
// before it is answered.

import { Database } from 'bun:sqlite';
import { migrations } from '../migrations/migrations.ts';

const BUSY_MS = 10_000;
const CACHE_KIB = 32 * 1024;

/** Opens for writing, making the file and bringing its tables to the present version. */
export function openForWriting(path: string): Database {
  const database = new Database(path, { create: true, readwrite: true });
  database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
  database.run('PRAGMA journal_mode = WAL');
  database.run('PRAGMA synchronous = FULL');
  database.run('PRAGMA foreign_keys = ON');
  database.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  migrate(database);
  return database;
}

/** Opens for reading only, beside a writer. `exact` gives whole numbers as bigint. */
export function openForReading(path: string, options: { exact?: boolean } = {}): Database {
  const database = new Database(path, { readonly: true, safeIntegers: options.exact ?? false });
  database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
  return database;
}

/** Brings the tables to the present version, each version in one transaction. Throws when the file is of a later version. */
function migrate(database: Database): void {
  const { user_version: version } = database.query('PRAGMA user_version').get() as { user_version: number };
  const latest = migrations.at(-1)?.version ?? 0;
  if (version > latest) {
    throw new Error(
      `the database is of version ${version}, this program knows versions up to ${latest}: it was made by a later release`,
    );
  }
  for (const migration of migrations) {
    if (migration.version <= version) continue;
    database.transaction(() => {
      database.run(migration.sqlite);
      database.run(`PRAGMA user_version = ${migration.version}`);
    })();
  }
}
