// Reads and changes rows of the sign-in database of a running service, on either store.

import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { runOn } from '../../support/start-postgres.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { ownerUrl } from '../../support/test-store.ts';

/** A table stands in braces: `DELETE FROM {session}`. */
export async function changeSignIn(
  { dataDirectory }: Pick<Turnpike, 'dataDirectory'>,
  text: string,
): Promise<unknown[]> {
  const url = await ownerUrl(dataDirectory);
  if (url !== null) return (await runOn(url, text.replaceAll(/\{(\w+)\}/g, 'sign_in."$1"'))) as unknown[];
  using database = new Database(join(dataDirectory, 'sign-in.db'));
  database.run('PRAGMA busy_timeout = 5000');
  return database.query(text.replaceAll(/\{(\w+)\}/g, '"$1"')).all();
}

/** A time as the store has it in a statement. */
export function timeAt(ms: number): string {
  return `'${new Date(ms).toISOString()}'`;
}
