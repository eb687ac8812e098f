// The file of who signs in, beside the ledger's: written by the thread of sign-in alone, and never in the way of money.

import { Database } from 'bun:sqlite';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { type SignInDatabase, throttleOver } from '../sign-in-database.ts';

const BUSY_MS = 5_000;

export function signInPath(dataDirectory: string): string {
  return join(dataDirectory, 'sign-in.db');
}

/** Makes the file, which is the owner's alone. */
export function openSignIn(path: string): SignInDatabase {
  closeSync(openSync(path, 'a', 0o600));
  const database = new Database(path, { readwrite: true });
  database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
  database.run('PRAGMA journal_mode = WAL');
  database.run('PRAGMA synchronous = FULL'); // a session that was ended stays ended
  database.run('PRAGMA foreign_keys = ON');
  const throttle = throttleOver(async (text, values) => {
    // By number: SQLite counts "$1" as a name.
    return database.query(text.replaceAll('$', '?')).all(...values);
  }, '');
  return { options: database, throttle, lockMigrations: (run) => run() };
}
