// Lists come in pages: `limit` and an opaque `cursor` in, `data` and `next_cursor` out. The cursor
// is where the page before ended, so that rows which come meanwhile neither repeat nor hide any.

import { z } from '@hono/zod-openapi';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';

const LIMIT_WORDS = `must be a whole number from 1 to ${bounds.pageItemsMax}`;

/** The query members of every list. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^[1-9]\d{0,5}$/, LIMIT_WORDS)
    .transform(Number)
    .refine((limit) => limit <= bounds.pageItemsMax, LIMIT_WORDS)
    .default(100)
    .openapi({ type: 'integer', minimum: 1, maximum: bounds.pageItemsMax, default: 100 }),
  cursor: z.string().optional().openapi({ description: 'The `next_cursor` of the page before.' }),
};

export interface Page {
  data: object[];
  next_cursor: string | null;
}

/** The cursor after the row at `position`; a page that was not filled is the last one. */
export function nextCursor(rows: number, limit: number, position: number | string | undefined): string | null {
  return rows < limit || position === undefined ? null : Buffer.from(String(position)).toString('base64url');
}

/** The number in a cursor; null without one. Throws invalid_request for what no answer gave. */
export function cursorNumber(cursor: string | undefined): number | null {
  const text = cursorText(cursor);
  if (text === null) return null;
  if (!/^\d{1,16}$/.test(text)) throw wrongCursor();
  return Number(text);
}

function cursorText(cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const text = Buffer.from(cursor, 'base64url').toString();
  if (Buffer.from(text).toString('base64url') !== cursor) throw wrongCursor();
  return text;
}

/** A page of what stands in memory, in the order of its names. */
export function pageByName<T extends { name: string }>(
  all: Iterable<T>,
  query: { limit: number; cursor?: string | undefined },
): { rows: T[]; next: string | null } {
  const after = cursorText(query.cursor);
  const rows = [...all]
    .filter((one) => after === null || one.name > after)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, query.limit);
  return { rows, next: nextCursor(rows.length, query.limit, rows.at(-1)?.name) };
}

function wrongCursor(): TurnpikeError {
  return new TurnpikeError('invalid_request', 'cursor: is not the next_cursor of an earlier page');
}
