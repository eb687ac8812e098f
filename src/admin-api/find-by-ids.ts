// Rows of a list that are asked for by their ids: those that there are, and that the caller sees; of others nothing is said.

import { type IdKind, parseId } from '../base/ids.ts';
import { invalidRequest } from './admin-app.ts';

interface Asked {
  kind: IdKind;
  ids: readonly string[];
  cursor: string | undefined;
}

/** In the order of the list: oldest first. Throws invalid_request beside a cursor: it is one page. */
export async function findByIds<Row extends { id: number; createdAtMs: number }>(
  { kind, ids, cursor }: Asked,
  find: (id: number) => Promise<Row | null>,
  isSeen: (row: Row) => boolean,
): Promise<Row[]> {
  if (cursor !== undefined) throw invalidRequest([{ path: ['cursor'], message: 'does not go with ids' }]);
  const numbers = ids.map((id) => parseId(kind, id)).filter((id) => id !== null);
  const rows = await Promise.all(numbers.map(find));
  return rows
    .filter((row) => row !== null)
    .filter(isSeen)
    .sort((one, other) => one.createdAtMs - other.createdAtMs || one.id - other.id);
}
