// The database of the sign-in thread: better-auth's tables, and counters of guesses shared by all nodes.

import type { BetterAuthOptions } from 'better-auth';
import { integerOf } from '../base/checked-number.ts';
import type { Counted } from '../base/fair-limits.ts';

export interface Throttle {
  hasTable(): Promise<boolean>;
  makeTable(): Promise<void>;
  /** Counts one more under the key, in one statement; refuses and does not count if there were `max` within `windowMs`. */
  take(key: string, max: number, windowMs: number, nowMs: number): Promise<Counted>;
  forget(key: string): Promise<void>;
  dropBefore(beforeMs: number): Promise<void>;
}

export interface SignInDatabase {
  options: NonNullable<BetterAuthOptions['database']>;
  throttle: Throttle;
  /**
   * Runs it while no other node creates tables, in one transaction: a table whose indexes were not created with it would never get
   * them. Nothing else uses the database meanwhile. Throws an error for the operator if this role may not create tables.
   */
  migrateTogether(migrate: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Runs one statement; its parameters are $1, $2 … */
export type RunStatement = (text: string, values: readonly (string | number)[]) => Promise<unknown[]>;

/** The same statements for both databases. `schema` precedes the table's name, with its dot, or is empty. */
export function throttleOver(run: RunStatement, schema: string): Throttle {
  const table = `${schema}guesses`;
  return {
    hasTable: () =>
      run(`SELECT 1 FROM ${table} LIMIT 1`, []).then(
        () => true,
        () => false, // or it cannot be read, which creating it reports
      ),
    async makeTable() {
      await run(
        `CREATE TABLE IF NOT EXISTS ${table} (name text PRIMARY KEY, taken bigint NOT NULL, since_ms bigint NOT NULL)`,
        [],
      );
    },
    async take(key, max, windowMs, nowMs) {
      const rows = await run(
        `INSERT INTO ${table} AS kept (name, taken, since_ms) VALUES ($1, 1, $2)
          ON CONFLICT (name) DO UPDATE SET
            taken = CASE WHEN kept.since_ms <= $3 THEN 1 ELSE kept.taken + 1 END,
            since_ms = CASE WHEN kept.since_ms <= $3 THEN $2 ELSE kept.since_ms END
            WHERE kept.since_ms <= $3 OR kept.taken < $4
          RETURNING taken, since_ms`,
        [key, nowMs, nowMs - windowMs, max],
      );
      const isAllowed = rows.length > 0;
      const found = isAllowed ? rows : await run(`SELECT taken, since_ms FROM ${table} WHERE name = $1`, [key]);
      const { taken = 0, since_ms = nowMs } = (found[0] ?? {}) as {
        taken?: number | string;
        since_ms?: number | string;
      };
      const retryAfterMs = Math.min(windowMs, Math.max(0, integerOf(since_ms) + windowMs - nowMs));
      return { isAllowed, taken: integerOf(taken), retryAfterMs };
    },
    async forget(key) {
      await run(`DELETE FROM ${table} WHERE name = $1`, [key]);
    },
    async dropBefore(beforeMs) {
      await run(`DELETE FROM ${table} WHERE since_ms < $1`, [beforeMs]);
    },
  };
}
