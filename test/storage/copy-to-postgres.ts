// Copies the rows of a SQLite database to PostgreSQL, as a move does, so that both can be compared.

import type { Database } from 'bun:sqlite';
import { commitMove, fillDatabase, openMoveSession } from '../../src/storage/postgres/postgres.ts';
import { tableReads } from '../../src/storage/sqlite/move.ts';

export async function copyToPostgres(database: Database, url: string): Promise<void> {
  await using session = await openMoveSession(url);
  await fillDatabase(session, tableReads(database));
  await commitMove(session, 'copied');
}
