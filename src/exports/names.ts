// Names of accounts and keys, and emails of people, by their numbers, read once while they are in use.

import { bounds } from '../config/config.ts';
import type { ExportSources } from './export-question.ts';

/** The names that a file shows beside ids. */
export interface Names {
  account(id: number): Promise<string | null>;
  /** Whether the reader may see this account: it is not above the reader's own, or elsewhere. */
  isShown(id: number): Promise<boolean>;
  key(id: number): Promise<string | null>;
  person(id: number): Promise<string | null>;
}

/** `reader` is the account whose people read the file; null: operators. */
export function makeNames(
  { accounts, people }: Pick<ExportSources, 'accounts' | 'people'>,
  reader: number | null,
): Names {
  const isSeen = async (id: number) => {
    let next: number | null = id;
    for (let levels = 0; next !== reader && next !== null && levels < bounds.accountChainMax; levels++)
      next = (await accounts.getAccount(next))?.parentId ?? null;
    return next === reader;
  };
  return {
    account: remembered(async (id) => (await accounts.getAccount(id))?.name ?? null),
    isShown: remembered(async (id) => reader === null || (await isSeen(id))),
    key: remembered(async (id) => (await accounts.getKey(id))?.name ?? null),
    person: remembered(async (id) => (await people.getPerson(id))?.email ?? null),
  };
}

/** The least recent one gives way: a file has the messages of one account after another. */
function remembered<Value>(find: (id: number) => Promise<Value>): (id: number) => Promise<Value> {
  const known = new Map<number, Value>();
  return async (id) => {
    const value = known.has(id) ? (known.get(id) as Value) : await find(id);
    known.delete(id);
    known.set(id, value);
    if (known.size > bounds.exportNamesMax) known.delete(known.keys().next().value ?? id);
    return value;
  };
}
