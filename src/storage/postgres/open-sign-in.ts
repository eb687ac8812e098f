// The sign-in tables in their own schema, over a few connections of their own: password guesses take none from
// messages.

import type { ReservedSQL, SQL } from 'bun';
import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config/config.ts';
import { type SignInDatabase, throttleOver } from '../sign-in-database.ts';
import { suitValue } from './columns.ts';
import { answerIn, openClient, takeLock } from './read-pool.ts';
import { SIGN_IN_SCHEMA } from './roles.ts';

const FORBIDDEN = '42501';
const ANSWER_MS_MAX = bounds.signInStatementMsMax + bounds.storeSilenceMsMax;

/** Connects at the first statement. */
export function openSignIn(url: string): SignInDatabase {
  const pool = new SignInPool(url);
  const run = async (text: string, values: readonly unknown[]) => {
    const client = await pool.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      client.release();
    }
  };
  const throttle = throttleOver(run, `${SIGN_IN_SCHEMA}.`);
  const dialect = new PostgresDialect({ pool });
  return {
    options: { dialect, type: 'postgres', schemaName: SIGN_IN_SCHEMA, transaction: true },
    throttle,
    async migrateTogether(migrate) {
      await using _ = await takeLock(url, 'sign-in');
      try {
        await pool.runTogether(async () => {
          await run(`CREATE SCHEMA IF NOT EXISTS ${SIGN_IN_SCHEMA}`, []);
          await migrate();
        });
      } catch (failure) {
        if ((failure as { errno?: unknown }).errno !== FORBIDDEN) throw failure;
        const words = `the sign-in tables are not those of this release, and its role may not create them (${(failure as Error).message})`;
        throw new Error(`${words}: run "turnpike migrate" under the role that owns the tables`, { cause: failure });
      }
    },
    close: () => pool.end(),
  };
}

/** A bounded connection pool for Kysely. A request that waits too long for a connection fails. */
class SignInPool implements PostgresPool {
  readonly #url: string;
  readonly #idle: SQL[] = [];
  readonly #waiting: ((client: SQL) => void)[] = [];
  #made = 0;
  /** Takes every statement while `runTogether` runs. */
  #shared: PostgresPoolClient | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  /** Runs it in one transaction. */
  async runTogether(work: () => Promise<void>): Promise<void> {
    const client = await this.connect();
    this.#shared = { query: client.query, release: () => {} };
    try {
      await client.query('BEGIN', []);
      await work();
      await client.query('COMMIT', []);
    } catch (failure) {
      await client.query('ROLLBACK', []).catch(() => {}); // the server does so if the connection is lost
      throw failure;
    } finally {
      this.#shared = null;
      client.release();
    }
  }

  async connect(): Promise<PostgresPoolClient> {
    if (this.#shared !== null) return this.#shared;
    const client = await this.#take();
    try {
      const session = await answerIn(ANSWER_MS_MAX, client.reserve());
      return new SignInClient(session, (isWell) => this.#giveBack(isWell ? client : this.#replace(client)));
    } catch (failure) {
      this.#giveBack(this.#replace(client));
      throw failure;
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#idle.map((client) => client.close({ timeout: 0 })));
  }

  #take(): SQL | Promise<SQL> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#made < bounds.signInConnections) {
      this.#made++;
      return this.#open();
    }
    const waiting = Promise.withResolvers<SQL>();
    this.#waiting.push(waiting.resolve);
    return within(machineTimers, bounds.signInStatementMsMax, waiting.promise, () => {
      const at = this.#waiting.indexOf(waiting.resolve);
      if (at >= 0) this.#waiting.splice(at, 1);
      return new Error('no connection became free in time');
    });
  }

  #giveBack(client: SQL): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(client);
    else next(client);
  }

  #replace(client: SQL): SQL {
    void client.close({ timeout: 0 }).catch(() => {}); // it is closed either way
    return this.#open();
  }

  #open(): SQL {
    return openClient(this.#url, {
      application_name: 'turnpike sign-in',
      timezone: 'UTC',
      statement_timeout: bounds.signInStatementMsMax,
      lock_timeout: bounds.signInStatementMsMax,
      idle_in_transaction_session_timeout: bounds.signInStatementMsMax,
      default_transaction_isolation: 'read committed',
    });
  }
}

class SignInClient implements PostgresPoolClient {
  readonly #session: ReservedSQL;
  readonly #giveBack: (isWell: boolean) => void;
  #isWell = true;

  constructor(session: ReservedSQL, giveBack: (isWell: boolean) => void) {
    this.#session = session;
    this.#giveBack = giveBack;
  }

  // Kysely's second form, with a cursor, is not used.
  query = (async (text: string, values: readonly unknown[]) => {
    try {
      const rows = (await answerIn(ANSWER_MS_MAX, this.#session.unsafe(text, values.map(suitValue)))) as Answered;
      return { command: rows.command, rowCount: rows.count, rows: [...rows] };
    } catch (failure) {
      // An error of the server does not concern the connection.
      if (!/^[0-9A-Z]{5}$/.test(String((failure as { errno?: unknown }).errno))) this.#isWell = false;
      throw failure;
    }
  }) as PostgresPoolClient['query'];

  release(): void {
    this.#session.release();
    this.#giveBack(this.#isWell);
  }
}

type Answered = Record<string, unknown>[] & { command: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'; count: number };
