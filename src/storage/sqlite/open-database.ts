// Opens a SQLite database in WAL mode. Every commit is synced to disk before it returns.

import { Database, SQLiteError } from 'bun:sqlite';
import { closeSync, existsSync, fsyncSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { bounds } from '../../config/config.ts';
import type { CheckReport } from '../../ledger/ledger.ts';
import { latestVersion, migrationsAfter } from '../migrations/migrations.ts';
import { type CommitLoss, describeLoss, lossOf, readCommits, readMark } from './commit-mark.ts';
import { refuseMoved } from './move.ts';

const BUSY_MS = 10_000;
const CLOSING_BUSY_MS = 1_000;
const CACHE_KIB = 8 * 1024;
const CHECKPOINT_PAGES = 4_000; // 16 MB of log: a page that changes with every commit is copied once for hundreds of commits

/**
 * Opens for writing. Creates the file if needed and migrates its tables. Throws for a database that was moved to PostgreSQL, and for one
 * that lacks acknowledged commits.
 */
export function openForWriting(path: string): Database {
  refuseLoss(path);
  const database = new Database(path, { create: true, readwrite: true });
  try {
    database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
    refuseMoved(database);
    refuseOtherVersion(database);
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

/** Checkpoints the log into the file, so that the file alone is complete, and closes. */
export function closeForWriting(database: Database): void {
  try {
    database.run(`PRAGMA busy_timeout = ${CLOSING_BUSY_MS}`);
    database.run('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // The next open reads the remaining log, so no data is lost.
  }
  database.close();
}

/** Opens read-only while another connection may write. `exact` returns integers as bigint. */
export function openForReading(path: string, options: { exact?: boolean } = {}): Database {
  const database = new Database(path, { readonly: true, safeIntegers: options.exact ?? false });
  database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
  return database;
}

/** The acknowledged commits that the database at `path` lacks, whether a server is running on it or not; null if none is known to be missing. */
export function findCommitLoss(path: string): CommitLoss | null {
  const mark = readMark(path); // first: a running server only adds to both
  if (mark === null) return null;
  if (!existsSync(path)) return lossOf(path, mark, 0);
  using database = openForReading(path);
  return lossOf(path, mark, readCommits(database));
}

/** Throws before a missing file is created. */
function refuseLoss(path: string): void {
  const loss = findCommitLoss(path);
  if (loss === null) return;
  const { fault, remedy } = describeLoss(loss);
  throw new Error(`${fault}. ${remedy}`);
}

/** Throws before anything is written to a file of a version that this program cannot use. */
function refuseOtherVersion(database: Database): void {
  const version = readVersion(database);
  migrationsAfter(version);
  if (version <= latestVersion) return;
  throw new Error(
    `the database has version ${version}; this release supports versions up to ${latestVersion}: a later release wrote it`,
  );
}

/** Migrates the tables, each version in one transaction. */
function migrate(database: Database): void {
  for (const migration of migrationsAfter(readVersion(database))) {
    database.transaction(() => {
      database.run(migration.sqlite);
      database.run(`PRAGMA user_version = ${migration.version}`);
    })();
  }
}

function readVersion(database: Database): number {
  return (database.query('PRAGMA user_version').get() as { user_version: number }).user_version;
}

/** Messages of the backup thread: one request, and one answer when the copy is durable and verified, or failed. */
export interface ToBackup {
  path: string;
  target: string;
  /**
   * The sign-in database; null if no person has ever signed in. Copied after the main database, so that it contains
   * every person that the copy of the main database knows.
   */
  signIn: { path: string; target: string } | null;
}
export type FromBackup = { copied: Copied } | { failed: string };

export interface Copied {
  check: CheckReport | null;
  /** SHA-256 of the copies, in hexadecimal. */
  sha256: string;
  signInSha256: string | null;
}

/** The version of a database's tables, and the latest version of this program. */
export interface StoredVersion {
  stored: number;
  known: number;
}

/**
 * Writes the database at `path` as of now into a new file at `target`, durable when it returns. The writer
 * goes on meanwhile; its log cannot be reused until this is done, and grows.
 */
export function copyDatabase(path: string, target: string): void {
  closeSync(openSync(target, 'wx', 0o600)); // SQLite accepts an empty file, and would otherwise create one readable by others
  const database = openForReading(path);
  try {
    database.run('VACUUM INTO ?', [target]);
  } finally {
    database.close();
  }
  const file = openSync(target, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Throws if the file is not a database. */
export function readStoredVersion(path: string): StoredVersion {
  using database = openForReading(path);
  return { stored: readVersion(database), known: latestVersion };
}

const FAULTS_MAX = 20;

/**
 * Faults of the file itself, page by page; empty if there are none. Reads the whole file. A thorough check also compares
 * each index with its table, which takes several times as long.
 */
export function findFileFaults(path: string, isThorough = false): string[] {
  const database = openForReading(path);
  try {
    const rows = database.query(`PRAGMA ${isThorough ? 'integrity_check' : 'quick_check'}(${FAULTS_MAX})`).values();
    return rows.map(([text]) => String(text)).filter((text) => text !== 'ok');
  } catch (failure) {
    return [failure instanceof Error ? failure.message : String(failure)];
  } finally {
    database.close();
  }
}

/** Tables of which any message may need any row. */
const NEEDED = [
  'installation',
  'catalog',
  'accounts',
  'keys',
  'key_secrets',
  'account_meters',
  'key_meters',
  'person_meters',
  'holds',
  'leases',
];

/** The first fault in a table that every message may need; null if there is none, or if the file is too large for a look at each start. */
export function findDamage(path: string): string | null {
  if (statSync(path).size > bounds.doctorCheckBytesMax) return null;
  const database = openForReading(path);
  try {
    for (const table of NEEDED) {
      const { quick_check: fault } = database.query(`PRAGMA quick_check(${table})`).get() as { quick_check: string };
      if (fault !== 'ok') return `database disk image is malformed: ${table}: ${fault}`;
    }
    return null;
  } catch (failure) {
    return failure instanceof Error ? failure.message : String(failure);
  } finally {
    database.close();
  }
}

const HASHED_BYTES_AT_ONCE = 1024 * 1024;

/** SHA-256 of a file, in hexadecimal. */
export function hashFile(path: string): string {
  const hasher = new Bun.CryptoHasher('sha256');
  const piece = Buffer.alloc(HASHED_BYTES_AT_ONCE);
  const file = openSync(path, 'r');
  try {
    for (let bytes = readSync(file, piece); bytes > 0; bytes = readSync(file, piece))
      hasher.update(piece.subarray(0, bytes));
  } finally {
    closeSync(file);
  }
  return hasher.digest('hex');
}

const GLANCE_MS = 250; // longer than any check of the lock takes

export class DirectoryLocked extends Error {
  override name = 'DirectoryLocked';
}

/** Locks the directory until `close` or the end of the process. Throws DirectoryLocked when another holds it. */
export function lockDirectory(directory: string): { close(): void } {
  let database: Database | null = null;
  try {
    database = new Database(lockPath(directory), { create: true, readwrite: true });
    lock(database);
  } catch (cause) {
    database?.close();
    if (!(cause instanceof SQLiteError)) throw cause;
    if (cause.code === 'SQLITE_BUSY')
      throw new DirectoryLocked(`another server is running on the data directory ${directory}`, { cause });
    throw new Error(`the data directory ${directory} cannot be written: ${cause.message}`, { cause });
  }
  const locked = database;
  return { close: () => locked.close() };
}

function lock(database: Database): void {
  database.run(`PRAGMA busy_timeout = ${GLANCE_MS}`); // a check of the lock does not block a server
  database.run('PRAGMA journal_mode = DELETE');
  database.run('BEGIN EXCLUSIVE');
}

/** Whether a server has locked the directory. Takes no lock. */
export function isDirectoryLocked(directory: string): boolean {
  if (!existsSync(lockPath(directory))) return false;
  const database = new Database(lockPath(directory), { readonly: true });
  try {
    database.run('PRAGMA busy_timeout = 0');
    database.query('SELECT COUNT(*) FROM sqlite_master').get();
    return false;
  } catch (failure) {
    if (failure instanceof SQLiteError && failure.code === 'SQLITE_BUSY') return true;
    throw failure;
  } finally {
    database.close();
  }
}

function lockPath(directory: string): string {
  return join(directory, 'lock');
}

/** Where a restore makes its copies. It removes the directory when everything has its name. */
export function stagingPath(directory: string): string {
  return join(directory, 'restoring');
}

export function refuseUnfinishedRestore(directory: string): void {
  if (existsSync(stagingPath(directory)))
    throw new Error(
      `a restore into ${directory} was interrupted: remove everything in it that the restore made, at least ${stagingPath(directory)}, and run "turnpike restore" again`,
    );
}
