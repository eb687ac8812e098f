// The order of lists that are newest first, and where a page of one begins.

/** Above every seq and every time. */
export const LAST = Number.MAX_SAFE_INTEGER;

/** What comes after the row numbered `seq` in a list that is newest first, also where a clock was set back. */
export function isBefore(table: string, seq: string): string {
  return `(at_ms, seq) < (COALESCE((SELECT at_ms FROM ${table} WHERE seq = ${seq}), ${LAST}), ${seq})`;
}
