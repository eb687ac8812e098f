// Names of accounts and keys by their numbers, read once while they are in use.

import { bounds } from '../config/config.ts';
import type { ExportSources } from './export-question.ts';

/** The names that a file shows beside ids. */
export interface Names {
  account(id: number): Promise<string | null>;
  key(id: number): Promise<string | null>;
}

export function makeNames({ accounts }: Pick<ExportSources, 'accounts'>): Names {
  return {
    account: remembered(async (id) => (await accounts.getAccount(id))?.name ?? null),
    key: remembered(async (id) => (await accounts.getKey(id))?.name ?? null),
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
