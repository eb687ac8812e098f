// Lists come in pages: `limit` and an opaque `cursor` in, `data` and `next_cursor` out. The cursor
// is where the page before ended, so that rows which come meanwhile neither repeat nor hide any.

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Vault } from '../secrets/secrets.ts';
import type { AdminEnvironment } from './admin-app.ts';
import type { AdminDependencies } from './dependencies.ts';
import { makerOf } from './principal.ts';

const PROOF_CHARACTERS = 22;

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
  cursor: z
    .string()
    .optional()
    .openapi({
      description: 'The `next_cursor` of the page before.',
      pattern: `^[0-9A-Za-z_-]+\\.[0-9A-Za-z_-]{${PROOF_CHARACTERS}}$`,
    }),
};

export interface Page {
  data: object[];
  next_cursor: string | null;
}

/** The pages of one list, as one caller sees it. */
export interface Pages {
  /** The number in a cursor; null without one. Throws invalid_request for what no answer of this list gave. */
  after(cursor: string | undefined): number | null;
  /** The text in a cursor, likewise. */
  afterText(cursor: string | undefined): string | null;
  /** The cursor after the row at `position`; a page that was not filled is the last one. */
  next(rows: number, limit: number, position: number | string | undefined): string | null;
}

/**
 * Of the path that is asked, for those who see what this principal sees. A cursor carries a proof of that, so
 * that nobody can look for the places of rows which are not theirs.
 */
export function pagesOf({ vault }: AdminDependencies, context: Context<AdminEnvironment>): Pages {
  const principal = context.get('principal');
  const scope = `${principal.accountId} ${makerOf(principal)} ${context.req.path}`;
  const makeUnder = ({ hash }: Pick<Vault, 'hash'>, position: string) => {
    const proof = hash(`cursor ${scope} ${position}`).slice(-PROOF_CHARACTERS);
    return `${Buffer.from(position).toString('base64url')}.${proof}`;
  };
  const make = (position: string) => makeUnder(vault, position);
  const afterText = (cursor: string | undefined) => {
    if (cursor === undefined) return null;
    const position = Buffer.from(cursor.slice(0, cursor.indexOf('.')), 'base64url').toString();
    if (make(position) === cursor) return position;
    // Of another node, or of this one before its restart, while the installation's secret is being replaced.
    if (vault.previous !== null && makeUnder(vault.previous, position) === cursor) return position;
    throw new TurnpikeError('invalid_request', 'cursor: is not the next_cursor of an earlier page of this list');
  };
  return {
    afterText,
    after(cursor) {
      const position = afterText(cursor);
      return position === null ? null : Number(position);
    },
    next: (rows, limit, position) => (rows < limit || position === undefined ? null : make(String(position))),
  };
}

/** A page of what stands in memory, in the order of its names. */
export function pageByName<T extends { name: string }>(
  pages: Pages,
  all: Iterable<T>,
  query: { limit: number; cursor?: string | undefined },
): { rows: T[]; next: string | null } {
  const after = pages.afterText(query.cursor);
  const rows = [...all]
    .filter((one) => after === null || one.name > after)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, query.limit);
  return { rows, next: pages.next(rows.length, query.limit, rows.at(-1)?.name) };
}
