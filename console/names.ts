// The names of the accounts and keys that a page shows by their ids: asked all together, each once, and kept for a while.

import { type UseQueryResult, useQueries } from '@tanstack/react-query';
import type { AccountShape, KeyShape, PageShape } from '../src/admin-api/shapes.ts';
import { ask } from './api.ts';
import { isOfInstallation, useMe } from './me.tsx';

/** Of one page; others are shown by their ids. */
const NAMES_MAX = 1_000;
/** More the API does not take in one request. */
const BATCH_MAX = 100;
const KEPT_MS = 300_000;

export interface Names {
  /** The name, or the id as long as it is not known. */
  account: (id: string) => string;
  key: (id: string) => string;
}

interface Named {
  account: string | null;
  key: string | null;
}

export function useNames(rows: readonly Named[]): Names {
  const me = useMe();
  const accounts = useNamesOf<AccountShape>(
    '/accounts',
    isOfInstallation(me) ? rows.map(({ account }) => account) : [],
  );
  const keys = useNamesOf<KeyShape>(
    '/keys',
    rows.map(({ key }) => key),
  );
  return {
    account: (id) => (me.account?.id === id ? me.account.name : nameOf(accounts, id)),
    key: (id) => nameOf(keys, id),
  };
}

export function useNamesOf<Shape extends { name: string }>(
  path: string,
  ids: readonly (string | null)[],
): Map<string, string> {
  const asked = [...new Set(ids.filter((id) => id !== null))].slice(0, NAMES_MAX);
  return useQueries({
    queries: asked.map((id) => ({
      queryKey: ['names', path, id],
      queryFn: () => rowOf<Shape>(path, id),
      staleTime: KEPT_MS,
      retry: false,
    })),
    combine: (answers: UseQueryResult<Shape>[]) =>
      new Map(answers.flatMap(({ data }, at) => (data === undefined ? [] : [[asked[at] ?? '', data.name] as const]))),
  });
}

/** The lists that give rows by their ids, many at once. */
const lists: readonly string[] = ['/accounts', '/keys'];

interface Batch {
  ids: Set<string>;
  rows: Promise<Map<string, unknown>>;
}

const waiting = new Map<string, Batch>();

/** One row of a list. What is asked for in the same moment is asked in one request. */
async function rowOf<Shape>(path: string, id: string): Promise<Shape> {
  if (!lists.includes(path)) return ask<Shape>(`${path}/${id}`);
  const batch = batchOf(path);
  batch.ids.add(id);
  const row = (await batch.rows).get(id);
  if (row === undefined) throw new Error(`${id} is not to be seen`);
  return row as Shape;
}

function batchOf(path: string): Batch {
  const found = waiting.get(path);
  if (found !== undefined && found.ids.size < BATCH_MAX) return found;
  const ids = new Set<string>();
  const rows = Promise.resolve().then(async () => {
    if (waiting.get(path)?.ids === ids) waiting.delete(path);
    const page = await ask<PageShape<{ id: string }>>(path, { query: { ids: [...ids].join(',') } });
    return new Map(page.data.map((row) => [row.id, row]));
  });
  const batch = { ids, rows };
  waiting.set(path, batch);
  return batch;
}

/** A key may have no name. */
function nameOf(names: Map<string, string>, id: string): string {
  return names.get(id) || id;
}
