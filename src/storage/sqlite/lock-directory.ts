// Keeps a second server out of a data directory. The lock is the operating system's, held by an
// open transaction on a file of its own, so that it ends with the process however it ends.

import { Database, SQLiteError } from 'bun:sqlite';
import { join } from 'node:path';

export class DirectoryLocked extends Error {
  override name = 'DirectoryLocked';
}

/** Locks the directory until `close` or the end of the process. Throws DirectoryLocked when another holds it. */
export function lockDirectory(directory: string): { close(): void } {
  const database = new Database(join(directory, 'lock'), { create: true, readwrite: true });
  try {
    database.run('PRAGMA busy_timeout = 0');
    database.run('PRAGMA journal_mode = DELETE');
    database.run('BEGIN EXCLUSIVE');
  } catch (cause) {
    database.close();
    if (!(cause instanceof SQLiteError) || cause.code !== 'SQLITE_BUSY') throw cause;
    throw new DirectoryLocked(`another server is running on the data directory ${directory}`, { cause });
  }
  return { close: () => database.close() };
}
