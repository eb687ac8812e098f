// Whose usage is asked for, narrowed to what one index leads to: everything, an account, or keys. The same for every
// database, which finds the keys.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';

export type UsageScope = { of: 'all' } | { of: 'account'; account: number } | { of: 'keys'; keys: readonly number[] };

export interface Narrowing {
  account: number | null;
  key: number | null;
  madeBy: string | null;
}

/** How the keys that a question is about are found. */
export interface KeyFinder {
  findKey(key: number): Promise<{ account_id: number; made_by: string | null } | null>;
  /** The first of the keys that this actor made, as many as that. */
  listKeys(madeBy: string, limit: number): Promise<{ id: number; account_id: number }[]>;
}

/** The scope of a question. Its keys are none where what is asked for contradicts itself. */
export async function findScope(finder: KeyFinder, { account, key, madeBy }: Narrowing): Promise<UsageScope> {
  if (key !== null) {
    const found = await finder.findKey(key);
    const isMeant =
      found !== null &&
      (account === null || found.account_id === account) &&
      (madeBy === null || found.made_by === madeBy);
    return { of: 'keys', keys: isMeant ? [key] : [] };
  }
  if (madeBy !== null) {
    const keys = await finder.listKeys(madeBy, bounds.reportKeysMax + 1);
    if (keys.length > bounds.reportKeysMax) throw tooManyKeys();
    return {
      of: 'keys',
      keys: keys.filter((one) => account === null || one.account_id === account).map(({ id }) => id),
    };
  }
  return account === null ? { of: 'all' } : { of: 'account', account };
}

function tooManyKeys(): TurnpikeError {
  return new TurnpikeError(
    'invalid_request',
    `You have made more than ${bounds.reportKeysMax} keys: ask for the usage of one of them (key).`,
  );
}
