// What the thread of sign-in needs of a database: where better-auth keeps its tables, and counters of guesses that all nodes share.

import type { BetterAuthOptions } from 'better-auth';

export interface Throttle {
  makeTable(): Promise<void>;
  /** Counts one more under the key, in one statement; refuses where there were `max` within `windowMs`. */
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
  /** Runs it while no other node makes tables. */
  lockMigrations(run: () => Promise<void>): Promise<void>;
}

/** One statement: its rows, for values that stand as $1, $2 … in it. */
export type RunStatement = (text: string, values: readonly (string | number)[]) => Promise<unknown[]>;

/** The same statements for both databases. `schema` stands before the table's name, with its dot, or is empty. */
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
      const retryAfterMs = Math.min(windowMs, Math.max(0, Number(since_ms) + windowMs - nowMs));
      return { isAllowed: Number(taken) <= max, retryAfterMs };
    },
    async forget(key) {
      await run(`DELETE FROM ${table} WHERE name = $1`, [key]);
    },
    async dropBefore(beforeMs) {
      await run(`DELETE FROM ${table} WHERE since_ms < $1`, [beforeMs]);
    },
  };
}
