// The sign-in database, next to the ledger's: written only by the sign-in thread, independent of money.

import { Database } from 'bun:sqlite';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { type SignInDatabase, throttleOver } from '../sign-in-database.ts';

const BUSY_MS = 5_000;

export function signInPath(dataDirectory: string): string {
  return join(dataDirectory, 'sign-in.db');
}

/** Creates the file, readable by its owner only. */
export function openSignIn(path: string): SignInDatabase {
  closeSync(openSync(path, 'a', 0o600));
  const database = new Database(path, { readwrite: true });
  database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
  database.run('PRAGMA journal_mode = WAL');
  database.run('PRAGMA synchronous = FULL'); // an ended session stays ended
  database.run('PRAGMA foreign_keys = ON');
  const throttle = throttleOver(async (text, values) => {
    // By number: SQLite treats "$1" as a name.
    return database.query(text.replaceAll('$', '?')).all(...values);
  }, '');
  const migrateTogether = async (migrate: () => Promise<void>) => {
    database.run('BEGIN IMMEDIATE');
    try {
      await migrate();
      database.run('COMMIT');
    } catch (failure) {
      database.run('ROLLBACK');
      throw failure;
    }
  };
  return { options: database, throttle, migrateTogether, close: async () => database.close() };
}
