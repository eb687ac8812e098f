// The database of the sign-in thread: better-auth's tables, and counters of guesses shared by all nodes.

import type { BetterAuthOptions } from 'better-auth';
import { integerOf } from '../base/checked-number.ts';

export interface Throttle {
  makeTable(): Promise<void>;
  /** Counts one more under the key, in one statement; refuses if there were `max` within `windowMs`. */
  take(
    key: string,
    max: number,
    windowMs: number,
    nowMs: number,
  ): Promise<{ isAllowed: boolean; retryAfterMs: number }>;
  forget(key: string): Promise<void>;
  dropBefore(beforeMs: number): Promise<void>;
}

export interface SignInDatabase {
  options: NonNullable<BetterAuthOptions['database']>;
  throttle: Throttle;
  /** Runs it while no other node creates tables. */
  lockMigrations(run: () => Promise<void>): Promise<void>;
}

/** Runs one statement; its parameters are $1, $2 … */
export type RunStatement = (text: string, values: readonly (string | number)[]) => Promise<unknown[]>;

/** The same statements for both databases. `schema` precedes the table's name, with its dot, or is empty. */
export function throttleOver(run: RunStatement, schema: string): Throttle {
  const table = `${schema}guesses`;
  return {
    async makeTable() {
      await run(
        `CREATE TABLE IF NOT EXISTS ${table} (name text PRIMARY KEY, taken bigint NOT NULL, since_ms bigint NOT NULL)`,
        [],
      );
    },
    async take(key, max, windowMs, nowMs) {
      const [row] = (await run(
        `INSERT INTO ${table} AS kept (name, taken, since_ms) VALUES ($1, 1, $2)
          ON CONFLICT (name) DO UPDATE SET
            taken = CASE WHEN kept.since_ms <= $3 THEN 1 ELSE kept.taken + 1 END,
            since_ms = CASE WHEN kept.since_ms <= $3 THEN $2 ELSE kept.since_ms END
          RETURNING taken, since_ms`,
        [key, nowMs, nowMs - windowMs],
      )) as { taken: number | string; since_ms: number | string }[];
      const { taken, since_ms } = row as NonNullable<typeof row>;
      const retryAfterMs = Math.min(windowMs, Math.max(0, integerOf(since_ms) + windowMs - nowMs));
      return { isAllowed: integerOf(taken) <= max, retryAfterMs };
    },
    async forget(key) {
      await run(`DELETE FROM ${table} WHERE name = $1`, [key]);
    },
    async dropBefore(beforeMs) {
      await run(`DELETE FROM ${table} WHERE since_ms < $1`, [beforeMs]);
    },
  };
}
