// Names of accounts and keys, and emails of people, by their numbers, read once while they are in use.

import { bounds } from '../config/config.ts';
import type { ExportSources } from './export-question.ts';

/** The names that a file shows beside ids. */
export interface Names {
  account(id: number): Promise<string | null>;
  key(id: number): Promise<string | null>;
  person(id: number): Promise<string | null>;
}

/** Accounts that the reader may not see, such as those above its own, have no name. */
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
  const nameOf = async (id: number) => (await accounts.getAccount(id))?.name ?? null;
  return {
    account: remembered(async (id) => (reader === null || (await isSeen(id)) ? await nameOf(id) : null)),
    key: remembered(async (id) => (await accounts.getKey(id))?.name ?? null),
    person: remembered(async (id) => (await people.getPerson(id))?.email ?? null),
  };
}

/** The least recent name gives way: a file has the messages of one account after another. */
function remembered(find: (id: number) => Promise<string | null>): (id: number) => Promise<string | null> {
  const known = new Map<number, string | null>();
  return async (id) => {
    const name = known.has(id) ? (known.get(id) ?? null) : await find(id);
    known.delete(id);
    known.set(id, name);
    if (known.size > bounds.exportNamesMax) known.delete(known.keys().next().value ?? id);
    return name;
  };
}
