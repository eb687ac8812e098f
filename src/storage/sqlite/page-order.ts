// The order of lists that are newest first, and where a page of one begins. The place is looked up
// first, so that the list's own statement has one bound and goes straight to it by its index.

import type { Database } from 'bun:sqlite';
import { LAST, type Place, placeOf } from '../page-place.ts';
import { prepareText } from './statements.ts';

/** The rows of one page: $1 since when, $2 and $3 the place after which it begins, $4 how many. */
export const IN_PAGE = 'at_ms >= $1 AND (at_ms, seq) < ($2, $3) ORDER BY at_ms DESC, seq DESC LIMIT $4';
/** The last row of such a page, where it is full. */
export const NTH_OF_PAGE = IN_PAGE.replace('LIMIT $4', 'LIMIT 1 OFFSET $4 - 1');

/** The values of IN_PAGE for a page of `table`; it begins after the row numbered `before`, also where a clock was set back. */
export function pageBounds(database: Database, table: 'usage_records' | 'entries' | 'audit_records') {
  const upTo = prepareText(database, `SELECT at_ms, seq FROM ${table} WHERE seq <= $1 ORDER BY seq DESC LIMIT 1`);
  const findPlace = (before: number | null, untilMs: number): Place => {
    if (before === null) return [untilMs, LAST];
    return placeOf(before, untilMs, upTo.get(before) as { at_ms: number; seq: number } | null);
  };
  return (page: { sinceMs: number | null; untilMs: number | null; before: number | null; limit: number }) =>
    [page.sinceMs ?? 0, ...findPlace(page.before, page.untilMs ?? LAST), page.limit] as const;
}
