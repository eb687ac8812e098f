// Resolves ids to names: of accounts and keys in one batched request, of users and tokens one by one.

import { type UseQueryResult, useQueries } from '@tanstack/react-query';
import { call } from './api.ts';
import { useMe } from './me.tsx';

/** Per page; further ids are shown as they are. */
const NAMES_MAX = 1_000;
/** The limit of the API per request. */
const BATCH_MAX = 100;
const STALE_MS = 300_000;

export interface Names {
  /** The name, or the id while the name is unknown. */
  account: (id: string) => string;
  key: (id: string) => string;
}

interface Named {
  account: string | null;
  key: string | null;
}

export function useNames(rows: readonly Named[]): Names {
  const me = useMe();
  const accountIds =
    me.role === 'member' ? [] : rows.map(({ account }) => account).filter((id) => id !== me.account?.id);
  const accounts = useNamesOf(accountIds, (id) => findInBatch('/accounts', id));
  const keyIds = rows.map(({ key }) => key);
  const keys = useNamesOf(keyIds, (id) => findInBatch('/keys', id));
  return {
    account: (id) => (me.account?.id === id ? me.account.name : accounts.get(id) || id),
    key: (id) => keys.get(id) || id, // a key may have no name
  };
}

/** Returns a function from the id of an actor to their name, or to the id while the name is unknown. */
export function useActors(ids: readonly (string | null)[]): (id: string | null) => string {
  const ofKind = (kind: string) => ids.filter((id) => id?.startsWith(kind));
  const me = useMe();
  const people = useNamesOf(ofKind('person_'), async (id) => {
    const { name, email } = me.id === id ? me : await call('GET /people/{id}', { id });
    return { name: name || email || id };
  });
  const tokens = useNamesOf(ofKind('tok_'), (id) => call('GET /tokens/{id}', { id }));
  return (id) => {
    if (id === null) return 'Unknown';
    if (id === 'local') return 'CLI';
    if (id === 'start') return 'Service';
    if (id === 'stripe') return 'Stripe';
    if (id === 'anyone') return 'Unknown sender';
    if (id === 'recipient') return 'Email recipient';
    return people.get(id) || tokens.get(id) || id;
  };
}

/** Returns a function from the id of a destination to its name or address. */
export function useDestinationNames(ids: readonly string[]): (id: string) => string {
  const names = useNamesOf(ids, async (id) => {
    const { name, address } = await call('GET /destinations/{id}', { id });
    return { name: name || address };
  });
  return (id) => names.get(id) || id;
}

function useNamesOf(
  ids: readonly (string | null | undefined)[],
  find: (id: string) => Promise<{ name: string }>,
): Map<string, string> {
  const known = [...new Set(ids.filter((id) => id != null))].slice(0, NAMES_MAX);
  return useQueries({
    queries: known.map((id) => ({
      queryKey: ['names', id],
      queryFn: () => find(id),
      staleTime: STALE_MS,
      retry: false,
    })),
    combine: (answers: UseQueryResult<{ name: string }>[]) =>
      new Map(answers.flatMap(({ data }, at) => (data === undefined ? [] : [[known[at] ?? '', data.name] as const]))),
  });
}

interface Batch {
  ids: Set<string>;
  rows: Promise<Map<string, { name: string }>>;
}

const pending = new Map<string, Batch>();

/** Finds one row of a list. All ids of the same tick share one request. */
async function findInBatch(path: '/accounts' | '/keys', id: string): Promise<{ name: string }> {
  const batch = batchOf(path);
  batch.ids.add(id);
  const row = (await batch.rows).get(id);
  if (row === undefined) throw new Error(`${id} was not found`);
  return row;
}

function batchOf(path: '/accounts' | '/keys'): Batch {
  const found = pending.get(path);
  if (found !== undefined && found.ids.size < BATCH_MAX) return found;
  const ids = new Set<string>();
  const rows = Promise.resolve().then(async () => {
    if (pending.get(path)?.ids === ids) pending.delete(path);
    const page = await call(`GET ${path}`, { query: { ids: [...ids].join(',') } });
    return new Map(page.data.map((row) => [row.id, row]));
  });
  const batch = { ids, rows };
  pending.set(path, batch);
  return batch;
}
