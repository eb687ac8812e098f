// How PostgreSQL finds the keys that a question about usage is about.

import { findScope, type Narrowing, type UsageScope, type UsageWay } from '../usage-scope.ts';
import type { Reader } from './read-pool.ts';

const KEY_BY_ID = 'SELECT account_id::float8 AS account_id, made_by FROM keys WHERE id = $1';
// Not `=`: what is one value is dropped from the order, and another index would have the rest of it.
const KEYS_OF_MAKER = `
  SELECT k.id::float8 AS id, k.account_id::float8 AS account_id FROM keys k
  WHERE k.made_by >= $1 AND k.made_by <= $1 ORDER BY k.made_by, k.created_at_ms, k.id LIMIT $2`;

/** Finds the scope of a question. */
export function usageScopes(reader: Reader): (asked: Narrowing) => Promise<UsageScope> {
  const finder = {
    async findKey(key: number) {
      const [row] = await reader.read<{ account_id: number; made_by: string | null }>(KEY_BY_ID, key);
      return row ?? null;
    },
    listKeys: (madeBy: string, limit: number) =>
      reader.read<{ id: number; account_id: number }>(KEYS_OF_MAKER, madeBy, limit),
  };
  return (asked) => findScope(finder, asked);
}

/** The columns that an index begins with, which leads to the records of a way, or to those that ended so. */
export function narrowedTo(way: UsageWay, outcome: string | null): ('account_id' | 'key_id' | 'outcome')[] {
  const owner = { all: [], account: ['account_id' as const], key: ['key_id' as const] }[way.of];
  return outcome === null ? owner : [...owner, 'outcome'];
}
