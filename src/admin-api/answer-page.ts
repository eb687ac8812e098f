// Answers a list a few rows at a time: a page of a thousand takes milliseconds to write, for which
// no message should have to wait.

import type { TypedResponse } from 'hono';
import type { JSONParsed } from 'hono/utils/types';
import { nextTurn } from '../base/next-turn.ts';
import { bounds } from '../config.ts';

type PageResponse<Json> = Response &
  TypedResponse<JSONParsed<{ data: Json[]; next_cursor: string | null }>, 200, 'json'>;

/** A page of these rows, each as `json` has it. */
export async function answerPage<Row, Json>(
  rows: readonly Row[],
  json: (row: Row) => Json | Promise<Json>,
  next: string | null,
): Promise<PageResponse<Json>> {
  const parts: string[] = [];
  for (let at = 0; at < rows.length; at += bounds.rowsAtOnce) {
    if (at > 0) await nextTurn();
    const written = await Promise.all(rows.slice(at, at + bounds.rowsAtOnce).map(json));
    parts.push(written.map((one) => JSON.stringify(one)).join(','));
  }
  const body = `{"data":[${parts.join(',')}],"next_cursor":${JSON.stringify(next)}}`;
  return new Response(body, { headers: { 'content-type': 'application/json' } }) as PageResponse<Json>;
}
