// How SQLite finds the keys that a question about usage is about.

import type { Database } from 'bun:sqlite';
import { findScope, type KeyFinder, type Narrowing, type UsageScope } from '../usage-scope.ts';
import { prepareText } from './statements.ts';

/** Finds the scope of a question. */
export function usageScopes(database: Database): (asked: Narrowing) => Promise<UsageScope> {
  const keyById = prepareText(database, 'SELECT account_id, made_by FROM keys WHERE id = $1');
  const keysOfMaker = prepareText(
    database,
    `SELECT id, account_id FROM keys INDEXED BY keys_of_maker WHERE made_by = $1 ORDER BY created_at_ms, id LIMIT $2`,
  );
  const finder: KeyFinder = {
    async findKey(key) {
      return keyById.get(key) as Awaited<ReturnType<KeyFinder['findKey']>>;
    },
    async listKeys(madeBy, limit) {
      return keysOfMaker.all(madeBy, limit) as Awaited<ReturnType<KeyFinder['listKeys']>>;
    },
  };
  return (asked) => findScope(finder, asked);
}
