// Keeps a second server out of a data directory. The lock is the operating system's, held by an
// open transaction on a file of its own, so that it ends with the process however it ends.

import { Database, SQLiteError } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const GLANCE_MS = 250; // longer than any look at the lock takes

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
  database.run(`PRAGMA busy_timeout = ${GLANCE_MS}`); // a glance at the lock keeps no server out
  database.run('PRAGMA journal_mode = DELETE');
  database.run('BEGIN EXCLUSIVE');
}

/** Whether a server has the directory, at a glance that takes nothing. */
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
