// Accounts that somebody else has locked for longer than a batch waits for its locks, as an operator's open transaction does: whoever
// needs them is found, so that all others of the batch need not wait with it.

import { bounds } from '../../config.ts';
import type { Bundle } from '../../ledger/ledger.ts';
import { arrayOf } from './columns.ts';
import type { Asked, Connection } from './connection.ts';
import { type Needs, readNeeds } from './needs.ts';
import * as statements from './statements.ts';

/** From then on a transaction waits for locks a moment only. */
export const BRIEF_LOCKS: Asked = { text: `SET LOCAL lock_timeout = ${bounds.lockedTryMsMax}`, values: [] };

/** The first account of these that a bundle needs and others have at the moment; null where they have none. Asked outside of a transaction. */
export async function findLocked(
  connection: Connection,
  needs: Needs,
): Promise<((bundle: Bundle) => number | null) | null> {
  const strays = new Map<string, number>();
  if (needs.strays.length > 0) {
    const values = [arrayOf(needs.strays)];
    const [rows = []] = await connection.ask({ text: statements.READ_ACCOUNTS_OF_HOLDS, values });
    for (const row of rows) strays.set(String(row['request_id']), Number(row['account']));
  }
  const asked = new Set([...needs.accounts, ...strays.values()]);
  const [free = []] = await connection.ask({ text: statements.LOCK_FREE_ACCOUNTS, values: [arrayOf([...asked])] });
  for (const row of free) asked.delete(Number(row['id']));
  if (asked.size === 0) return null;
  return (bundle) => {
    const { accounts, strays: named } = readNeeds([bundle]);
    const needed = [...accounts, ...named.map((requestId) => strays.get(requestId))];
    return needed.find((id) => id !== undefined && asked.has(id)) ?? null;
  };
}
