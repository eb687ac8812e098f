// The order of lists that are newest first, and where a page of one begins. The place is looked up
// first, so that the list's own statement has one bound and goes straight to it by its index.

import type { Database } from 'bun:sqlite';
import { prepareText } from './statements.ts';

/** Above every seq and every time. */
const LAST = Number.MAX_SAFE_INTEGER;

/** A row's place in a list; what comes after it is earlier, or of the same time and a lower number. */
export type Place = readonly [atMs: number, seq: number];

/** The rows of one page: $1 since when, $2 and $3 the place after which it begins, $4 how many. */
export const IN_PAGE = 'at_ms >= $1 AND (at_ms, seq) < ($2, $3) ORDER BY at_ms DESC, seq DESC LIMIT $4';

/** The values of IN_PAGE for a page of `table`; it begins after the row numbered `before`, also where a clock was set back. */
export function pageBounds(database: Database, table: 'usage_records' | 'entries' | 'audit_records') {
  const timeOf = prepareText(database, `SELECT at_ms FROM ${table} WHERE seq = $1`);
  const findPlace = (before: number | null, untilMs: number): Place => {
    const row = before === null ? null : (timeOf.get(before) as { at_ms: number } | null);
    return before === null || row === null || row.at_ms > untilMs ? [untilMs, LAST] : [row.at_ms, before];
  };
  return (page: { sinceMs: number | null; untilMs: number | null; before: number | null; limit: number }) =>
    [page.sinceMs ?? 0, ...findPlace(page.before, page.untilMs ?? LAST), page.limit] as const;
}
