// A PostgreSQL database with the rows of a SQLite one, so that both can be asked the same questions: as a move copies them.

import type { Database } from 'bun:sqlite';
import { commitMove, fillDatabase, openMoveSession } from '../../src/storage/postgres/postgres.ts';
import { tableReads } from '../../src/storage/sqlite/read-tables.ts';

export async function copyToPostgres(database: Database, url: string): Promise<void> {
  await using session = await openMoveSession(url);
  await fillDatabase(session, tableReads(database));
  await commitMove(session, 'copied');
}
