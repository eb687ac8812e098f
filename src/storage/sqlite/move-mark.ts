// Keeps a database that was moved from being served by mistake: a fact that whoever opens it for writing is refused by, and triggers
// that refuse the lease of a service whose release knows nothing of the fact.

import { Database } from 'bun:sqlite';
import { type MoveMark, markInWords, moveNames } from '../moved-mark.ts';

const BUSY_MS = 10_000;
const TRIGGERS = ['INSERT', 'UPDATE'].map((event) => ({ name: `moved_before_${event.toLowerCase()}`, event }));

/** Null where it was not moved, or is no store of ours yet. */
export function readMoveMark(path: string): MoveMark | null {
  const database = new Database(path, { readonly: true });
  try {
    database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
    return findMark(database);
  } finally {
    database.close();
  }
}

/** Throws, in words, for a database that was moved. */
export function refuseMoved(database: Database): void {
  const mark = findMark(database);
  if (mark !== null) throw new Error(markInWords(mark));
}

/** On the disk when it returns. */
export function writeMoveMark(path: string, mark: MoveMark): void {
  write(path, (database) => {
    database
      .query(
        'INSERT INTO installation (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      )
      .run(moveNames.to, JSON.stringify(mark));
    for (const { name, event } of TRIGGERS)
      database.run(
        `CREATE TRIGGER IF NOT EXISTS ${name} BEFORE ${event} ON leases
         BEGIN SELECT RAISE(ABORT, 'this installation was moved to another database'); END`,
      );
  });
}

export function removeMoveMark(path: string): void {
  write(path, (database) => {
    database.query('DELETE FROM installation WHERE name = ?').run(moveNames.to);
    for (const { name } of TRIGGERS) database.run(`DROP TRIGGER IF EXISTS ${name}`);
  });
}

function findMark(database: Database): MoveMark | null {
  const isMade = database.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'installation'").get();
  if (isMade === null) return null;
  const row = database.query('SELECT value FROM installation WHERE name = ?').get(moveNames.to);
  return row === null ? null : (JSON.parse((row as { value: string }).value) as MoveMark);
}

function write(path: string, change: (database: Database) => void): void {
  const database = new Database(path, { readwrite: true, create: false });
  try {
    database.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
    database.run('PRAGMA synchronous = FULL');
    database.transaction(() => change(database)).immediate();
  } finally {
    database.close();
  }
}
