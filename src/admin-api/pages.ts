// Pagination: `limit` and an opaque `cursor` in, `data` and `next_cursor` out. The cursor is the position of the
// last row, so that new rows neither repeat nor hide any.

import { z } from '@hono/zod-openapi';
import type { SortedRow } from '../accounts/accounts.ts';
import { parseWholeNumber } from '../base/checked-number.ts';
import { nextTurn, type Requester } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Vault } from '../secrets/secrets.ts';
import { makerOf } from './dependencies.ts';
import { asciiLower } from './fields.ts';
import type { Call } from './route.ts';

const PROOF_CHARACTERS = 22;

const LIMIT_WORDS = `must be a whole number from 1 to ${bounds.pageItemsMax}`;

/** Query members of every list. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^[1-9]\d{0,5}$/, LIMIT_WORDS)
    .transform((text) => parseWholeNumber(text) ?? 0)
    .refine((limit) => limit <= bounds.pageItemsMax, LIMIT_WORDS)
    .default(100)
    .openapi({ type: 'integer', minimum: 1, maximum: bounds.pageItemsMax, default: 100 }),
  cursor: z
    .string()
    .optional()
    .openapi({
      description: 'The `next_cursor` of the previous page.',
      pattern: `^[0-9A-Za-z_-]+\\.[0-9A-Za-z_-]{${PROOF_CHARACTERS}}$`,
    }),
};

export type PageCall = Call<unknown, { limit: number; cursor?: string | undefined }>;

/** A page of rows of this shape. */
export type PageResponse<Json> = Response & { readonly row?: Json };

/**
 * The text in the request's cursor; null without one. A cursor is authenticated for its principal and path, so that
 * nobody can probe for rows of others. Throws invalid_request for a cursor that this list did not return.
 */
export function afterText(call: PageCall): string | null {
  const { cursor } = call.query;
  if (cursor === undefined) return null;
  const position = Buffer.from(cursor.slice(0, cursor.indexOf('.')), 'base64url').toString();
  if (cursorAfter(call, position) === cursor) return position;
  // A cursor made under the former installation secret, during a rotation.
  const { previous } = call.vault;
  if (previous !== null && cursorAfter(call, position, previous) === cursor) return position;
  throw invalidCursor();
}

export function invalidCursor(): TurnpikeError {
  return new TurnpikeError('invalid_request', 'cursor: must be the next_cursor of a previous page of this list');
}

/** The number in the request's cursor, likewise. */
export function after(call: PageCall): number | null {
  const position = afterText(call);
  if (position === null) return null;
  const number = parseWholeNumber(position);
  if (number === null) throw invalidCursor(); // the cursor of a sorted list
  return number;
}

export function cursorAfter(call: PageCall, position: string | number, { hash }: Pick<Vault, 'hash'> = call.vault) {
  const { principal, context } = call;
  const scope = `${principal.accountId} ${makerOf(principal)} ${context.req.path}`;
  const proof = hash(`cursor ${scope} ${position}`).slice(-PROOF_CHARACTERS);
  return `${Buffer.from(String(position)).toString('base64url')}.${proof}`;
}

type SearchCall = Call<unknown, PageCall['query'] & { search?: string | undefined }>;

/** A page of objects in memory, in name order: those with the text of a search in one of their `texts`, by default the name. */
export function answerByName<Row extends { name: string }, Json>(
  call: SearchCall,
  all: Iterable<Row>,
  json: (row: Row) => Json,
  texts: (row: Row) => readonly string[] = ({ name }) => [name],
): Promise<PageResponse<Json>> {
  const last = afterText(call);
  const rows = [...all]
    .filter(({ name }) => last === null || name > last)
    .filter((row) => hasText(texts(row), call.query.search))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, call.query.limit);
  return answerPage(call, rows, json, ({ name }) => name);
}

/** Whether one of the texts has a part, in upper or lower case. */
export function hasText(texts: readonly string[], part = ''): boolean {
  return texts.some((text) => asciiLower(text).includes(asciiLower(part)));
}

/** Query members of lists that can be sorted by more than the creation. */
export function sortQuery<const Orders extends readonly ['created', ...string[]]>(orders: Orders) {
  const words = `must be ${orders.join(' or ')}`;
  return {
    sort: z
      .enum(orders, { error: words })
      .default('created' as never)
      .describe('The column to sort by.'),
    order: z.enum(['asc', 'desc'], { error: 'must be asc or desc' }).default('asc').describe('asc: lowest first.'),
  };
}

/** The last row in the request's cursor of a list sorted by this column; null without one. */
export function afterSorted(call: PageCall, by: string): SortedRow | null {
  const position = sortedPosition<[SortedRow['value'], number]>(call, by);
  return position && { value: position[0], id: position[1] };
}

/** The position in the request's cursor of a list sorted by this column; null without one. */
export function sortedPosition<Position extends readonly unknown[]>(call: PageCall, by: string): Position | null {
  const text = afterText(call);
  if (text === null) return null;
  const parsed = JSON.parse(text) as readonly [string, ...Position] | number;
  // A cursor that was made for another order of the list has values of another type, or is a number.
  if (typeof parsed === 'number' || parsed[0] !== by) throw invalidCursor();
  const [, ...position] = parsed;
  return position as unknown as Position;
}

export function sortedCursor(call: PageCall, by: string, position: readonly unknown[]): string {
  return cursorAfter(call, JSON.stringify([by, ...position]));
}

/** A page of the objects with these ids, in their order. */
export async function answerSorted<Row, Json>(
  call: PageCall,
  by: string,
  sorted: readonly SortedRow[],
  find: (id: number) => Promise<Row | null>,
  json: (row: Row) => Json | Promise<Json>,
): Promise<PageResponse<Json>> {
  const rows = (await Promise.all(sorted.map(({ id }) => find(id)))).filter((row) => row !== null);
  const last = sorted.length < call.query.limit ? undefined : sorted.at(-1);
  return answerRows(rows, json, last === undefined ? null : sortedCursor(call, by, [last.value, last.id]));
}

/** The page of these rows, with a cursor when it is full. */
export function answerPage<Row, Json>(
  call: PageCall,
  rows: readonly Row[],
  json: (row: Row) => Json | Promise<Json>,
  positionOf: (row: Row) => string | number,
): Promise<PageResponse<Json>> {
  const last = rows.length < call.query.limit ? undefined : rows.at(-1);
  return answerRows(rows, json, last === undefined ? null : cursorAfter(call, positionOf(last)));
}

/** A page of these rows, each converted by `json`. */
export async function answerRows<Row, Json>(
  rows: readonly Row[],
  json: (row: Row) => Json | Promise<Json>,
  next: string | null,
  more: Readonly<Record<string, string | null>> = {},
): Promise<PageResponse<Json>> {
  const parts: string[] = [];
  for (let at = 0; at < rows.length; at += bounds.rowsAtOnce) {
    if (at > 0) await nextTurn();
    const written = await Promise.all(rows.slice(at, at + bounds.rowsAtOnce).map(json));
    if (written.length > 0) parts.push(JSON.stringify(written).slice(1, -1));
  }
  const others = JSON.stringify({ next_cursor: next, ...more }).slice(1);
  const body = `{"data":[${parts.join(',')}],${others}`;
  return new Response(body, { headers: { 'content-type': 'application/json' } });
}

export function requesterOf({ context, principal }: Call): Requester {
  return { requesterId: principal.id, signal: context.req.raw.signal };
}
