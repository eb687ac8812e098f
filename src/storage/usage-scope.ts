// Whose usage is asked for, narrowed to what one index leads to: everything, an account, or keys. The same for every
// database, which finds the keys.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';

export type UsageScope = { of: 'all' } | { of: 'account'; account: number } | { of: 'keys'; keys: readonly number[] };

/** What one index leads to. */
export type UsageWay = { of: 'all' } | { of: 'account'; account: number } | { of: 'key'; key: number };

/** The ways that lead to a scope, each to records of its own. */
export function waysInto(scope: UsageScope): UsageWay[] {
  return scope.of === 'keys' ? scope.keys.map((key) => ({ of: 'key', key })) : [scope];
}

/** Whose records a way leads to; null: everybody's. */
export function ownerOf(way: UsageWay): number | null {
  if (way.of === 'all') return null;
  return way.of === 'account' ? way.account : way.key;
}

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
