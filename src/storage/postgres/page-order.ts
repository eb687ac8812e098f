// The order of lists that are newest first, and where a page of one begins. PostgreSQL is told no index by name: what a list is
// narrowed to stands in its order and its bounds, so that one index alone gives its rows in that order, from the first on.

import { LAST, type Place, placeOf } from '../page-place.ts';
import type { Reader } from './read-pool.ts';
import { asNumbers } from './row-columns.ts';

interface Page {
  sinceMs: number | null;
  untilMs: number | null;
  before: number | null;
  limit: number;
}

export type PageBounds = readonly [sinceMs: number, atMs: number, seq: number, limit: number];

/** Where the values of a page stand in a statement: as those of pageBounds, unless it says otherwise. */
const VALUES = { since: '$1', at: '$2', seq: '$3', limit: '$4' };

/**
 * The rows `r` of one page. `narrowed` are the columns that the index begins with, each with the value that it must have. They
 * are compared as parts of a row, not each as equal: what is equal to one value is dropped from the order.
 */
export function inPage(
  narrowed: readonly (readonly [column: string, value: string])[],
  { since, at, seq, limit } = VALUES,
): string {
  const columns = narrowed.map(([column]) => `r.${column}`);
  const values = narrowed.map(([, value]) => value);
  const row = (...members: string[]) => `ROW(${members.join(', ')})`;
  const isSince = `${row(...columns, 'r.at_ms')} >= ${row(...values, since)}`;
  const isAfter = `${row(...columns, 'r.at_ms', 'r.seq')} < ${row(...values, at, seq)}`;
  const order = [...columns, 'r.at_ms', 'r.seq'].map((column) => `${column} DESC`).join(', ');
  return `${isSince} AND ${isAfter} ORDER BY ${order} LIMIT ${limit}`;
}

/** The values of inPage for a page of `table`; it begins after the row numbered `before`, also where a clock was set back. */
export function pageBounds(reader: Reader, table: 'usage_records' | 'entries' | 'audit_records') {
  const upTo = `SELECT ${asNumbers('r', 'at_ms', 'seq')} FROM ${table} r WHERE r.seq <= $1 ORDER BY r.seq DESC LIMIT 1`;
  const findPlace = async (before: number | null, untilMs: number): Promise<Place> => {
    if (before === null) return [untilMs, LAST];
    const [row] = await reader.read<{ at_ms: number; seq: number }>(upTo, before);
    return placeOf(before, untilMs, row ?? null);
  };
  return async (page: Page): Promise<PageBounds> => [
    page.sinceMs ?? 0,
    ...(await findPlace(page.before, page.untilMs ?? LAST)),
    page.limit,
  ];
}
