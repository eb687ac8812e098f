// Opens a SQLite database with the settings that money needs: WAL, and every commit on the disk
// before it is answered.

import { Database } from 'bun:sqlite';
import { migrations } from '../migrations/migrations.ts';
import { refuseMoved } from './move-mark.ts';

const BUSY_MS = 10_000;
const CLOSING_BUSY_MS = 1_000;
const CACHE_KIB = 8 * 1024;
const CHECKPOINT_PAGES = 4_000; // 16 MB of log: pages that change with every commit are copied once for hundreds

/** Opens for writing, making the file and bringing its tables to the present version. Throws for one that was moved elsewhere. */
export function openForWriting(path: string): Database {
  const database = new Database(path, { create: true, readwrite: true });
  try {
    database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
    refuseMoved(database);
    refuseLaterVersion(database);
    database.run('PRAGMA journal_mode = WAL');
    database.run('PRAGMA synchronous = FULL');
    database.run('PRAGMA foreign_keys = ON');
    database.run(`PRAGMA cache_size = -${CACHE_KIB}`);
    database.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    migrate(database);
  } catch (failure) {
    database.close();
    throw failure;
  }
  return database;
}

/** Closes what was opened for writing, its log copied into the file first, which is whole then without it. */
export function closeForWriting(database: Database): void {
  try {
    database.run(`PRAGMA busy_timeout = ${CLOSING_BUSY_MS}`);
    database.run('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // A log that stays beside the file is read with it: nothing is lost.
  }
  database.close();
}

/** Opens for reading only, beside a writer. `exact` gives whole numbers as bigint. */
export function openForReading(path: string, options: { exact?: boolean } = {}): Database {
  const database = new Database(path, { readonly: true, safeIntegers: options.exact ?? false });
  database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
  return database;
}

/** A file that a later release made is left as it is. */
function refuseLaterVersion(database: Database): void {
  const version = readVersion(database);
  const latest = migrations.at(-1)?.version ?? 0;
  if (version <= latest) return;
  throw new Error(
    `the database is of version ${version}, this program knows versions up to ${latest}: it was made by a later release`,
  );
}

/** Brings the tables to the present version, each version in one transaction. */
function migrate(database: Database): void {
  const version = readVersion(database);
  for (const migration of migrations) {
    if (migration.version <= version) continue;
    database.transaction(() => {
      database.run(migration.sqlite);
      database.run(`PRAGMA user_version = ${migration.version}`);
    })();
  }
}

function readVersion(database: Database): number {
  return (database.query('PRAGMA user_version').get() as { user_version: number }).user_version;
}
