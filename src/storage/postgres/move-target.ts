// The database that a store is moved into: empty before, whole after, and never anything between, since all of it is one transaction.

import { moveNames } from '../moved-mark.ts';
import { movedTables } from '../moved-tables.ts';
import type { MoveSession } from './move-session.ts';

/** Throws where a table has rows: nothing is added to what there is. */
export async function refuseRows(session: MoveSession): Promise<void> {
  const found: string[] = [];
  for (const table of movedTables) {
    if (!(await hasTable(session, table))) continue;
    const [row] = await session.ask<{ is: string }>(`SELECT (EXISTS (SELECT 1 FROM ${table}))::text AS is`);
    if (row?.is === 'true') found.push(table);
  }
  if (found.length === 0) return;
  throw new Error(`it has data already (${found.join(', ')}): a move wants a database of its own (CREATE DATABASE)`);
}

/** Which move filled the database; null where none did. */
export async function findMove(session: MoveSession): Promise<string | null> {
  if (!(await hasTable(session, 'installation'))) return null;
  const [row] = await session.ask<{ value: string }>(`SELECT value FROM installation WHERE name = '${moveNames.from}'`);
  return row?.value ?? null;
}

/** Commits what was filled, under that id. Throws MoveCut where it is not known whether it was made; after anything else it was not. */
export async function commitMove(session: MoveSession, id: string): Promise<void> {
  // A transaction that failed would be committed, too, as nothing: this fails before.
  await session.ask(`INSERT INTO installation (name, value) VALUES ('${moveNames.from}', $1)`, [id]);
  await session.ask('COMMIT');
}

async function hasTable(session: MoveSession, table: string): Promise<boolean> {
  const [row] = await session.ask<{ has: string }>(`SELECT (to_regclass('${table}') IS NOT NULL)::text AS has`);
  return row?.has === 'true';
}
