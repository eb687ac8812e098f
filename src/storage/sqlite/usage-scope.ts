// Whose usage is asked for, narrowed to what one index leads to: everything, an account, or keys.

import type { Database } from 'bun:sqlite';
import { bounds } from '../../config.ts';
import { TurnpikeError } from '../../errors.ts';
import { prepareText } from './statements.ts';

export type UsageScope = { of: 'all' } | { of: 'account'; account: number } | { of: 'keys'; keys: readonly number[] };

interface Narrowing {
  account: number | null;
  key: number | null;
  madeBy: string | null;
}

/** Finds the scope of a question. Its keys are none where what is asked for contradicts itself. */
export function usageScopes(database: Database): (asked: Narrowing) => UsageScope {
  const keyById = prepareText(database, 'SELECT account_id, made_by FROM keys WHERE id = $1');
  const keysOfMaker = prepareText(
    database,
    `SELECT id, account_id FROM keys INDEXED BY keys_of_maker WHERE made_by = $1 ORDER BY created_at_ms, id LIMIT $2`,
  );
  return ({ account, key, madeBy }) => {
    if (key !== null) {
      const found = keyById.get(key) as { account_id: number; made_by: string | null } | null;
      const isMeant =
        found !== null &&
        (account === null || found.account_id === account) &&
        (madeBy === null || found.made_by === madeBy);
      return { of: 'keys', keys: isMeant ? [key] : [] };
    }
    if (madeBy !== null) {
      const keys = keysOfMaker.all(madeBy, bounds.reportKeysMax + 1) as { id: number; account_id: number }[];
      if (keys.length > bounds.reportKeysMax) throw tooManyKeys();
      return {
        of: 'keys',
        keys: keys.filter((one) => account === null || one.account_id === account).map(({ id }) => id),
      };
    }
    return account === null ? { of: 'all' } : { of: 'account', account };
  };
}

function tooManyKeys(): TurnpikeError {
  return new TurnpikeError(
    'invalid_request',
    `You have made more than ${bounds.reportKeysMax} keys: ask for the usage of one of them (key).`,
  );
}
