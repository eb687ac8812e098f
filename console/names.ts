// The names of the accounts and keys that a page shows by their ids: each asked once, and kept for a while.

import { type UseQueryResult, useQueries } from '@tanstack/react-query';
import type { AccountShape, KeyShape } from '../src/admin-api/shapes.ts';
import { ask } from './api.ts';
import { isOfInstallation, useMe } from './me.tsx';

/** Of one page; others are shown by their ids. */
const NAMES_MAX = 100;
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
      queryFn: ({ signal }: { signal: AbortSignal }) => ask<Shape>(`${path}/${id}`, { signal }),
      staleTime: KEPT_MS,
    })),
    combine: (answers: UseQueryResult<Shape>[]) =>
      new Map(answers.flatMap(({ data }, at) => (data === undefined ? [] : [[asked[at] ?? '', data.name] as const]))),
  });
}

/** A key may have no name. */
function nameOf(names: Map<string, string>, id: string): string {
  return names.get(id) || id;
}
