// Where a page of a list that is newest first begins. The same for every database; finding the row is theirs.

/** Above every seq and every time. */
export const LAST = Number.MAX_SAFE_INTEGER;
/** Before every row. */
const NOWHERE: Place = [-1, 0];

/** A row's place in a list; what comes after it is earlier, or of the same time and a lower number. */
export type Place = readonly [atMs: number, seq: number];

/**
 * The place after which a page begins. `row` is the last one up to the number `before`: mostly that one itself, and where it
 * was dropped by its age, the one that came before it, since the list must not begin anew. Null: there is none.
 */
export function placeOf(before: number, untilMs: number, row: { at_ms: number; seq: number } | null): Place {
  if (row === null) return NOWHERE;
  return row.at_ms > untilMs ? [untilMs, LAST] : [row.at_ms, row.seq === before ? before : row.seq + 1];
}

/** Newest first. */
export function placesOrder(one: Place, other: Place): number {
  return other[0] - one[0] || other[1] - one[1];
}
