// Read connections: a few, with one statement at a time on each, so that a silent one delays no other statement. A
// statement whose connection was lost is repeated once on a new connection, because it only reads.

import { SQL } from 'bun';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config/config.ts';
import { TurnpikeError } from '../../errors.ts';
import type { ReadValue } from '../sql-reader.ts';
import { suitValue } from './columns.ts';

/** Runs one statement on the data committed when it began. */
export interface Reader {
  read<Row>(text: string, ...values: readonly ReadValue[]): Promise<Row[]>;
}

interface ReadLimits {
  connections: number;
  /** The server cancels longer statements; if it does not respond, the connection is closed soon after. */
  statementMsMax: number;
}

/**
 * Every list uses an index that has its order. Other plans are made expensive, because a plan is made once for a connection, whatever
 * the values, and would otherwise stay as it was made for an empty table.
 */
export const READ_SETTINGS = {
  application_name: 'turnpike reads',
  default_transaction_read_only: 'on',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  timezone: 'UTC',
};

export class ReadPool implements Reader {
  readonly #idle: ReadConnection[];
  readonly #all: readonly ReadConnection[];
  /** Requests for a connection, oldest first. */
  readonly #waiting: PromiseWithResolvers<ReadConnection>[] = [];
  readonly #waitMsMax: number;
  #isClosed = false;

  /** Connects at the first statement, and again after a connection was lost. */
  constructor(url: string, limits: ReadLimits) {
    this.#all = Array.from({ length: limits.connections }, () => new ReadConnection(url, limits.statementMsMax));
    this.#idle = [...this.#all];
    this.#waitMsMax = limits.statementMsMax;
  }

  /** Throws overloaded if too many wait; otherwise the driver's error. */
  async read<Row>(text: string, ...values: readonly ReadValue[]): Promise<Row[]> {
    const connection = this.#idle.pop() ?? (await this.#wait());
    try {
      return await connection.read(text, values);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(connection);
      else next.resolve(connection);
    }
  }

  /** Ends all connections; statements in progress fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const one of this.#waiting.splice(0)) one.reject(new Error('the read pool is closed'));
    await Promise.all(this.#all.map((connection) => connection.close()));
  }

  async #wait(): Promise<ReadConnection> {
    if (this.#isClosed) throw new Error('the read pool is closed');
    if (this.#waiting.length >= bounds.readsWaitingMax) throw tooManyReads();
    const place = Promise.withResolvers<ReadConnection>();
    this.#waiting.push(place);
    const timer = setTimeout(() => {
      const at = this.#waiting.indexOf(place);
      if (at < 0) return; // it has one
      this.#waiting.splice(at, 1);
      place.reject(tooManyReads());
    }, this.#waitMsMax);
    try {
      return await place.promise;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A client of one connection, reopened when it is lost. */
class ReadConnection {
  readonly #url: string;
  readonly #statementMsMax: number;
  #client: SQL | null = null;
  #answeredMs = 0;
  #isClosed = false;

  constructor(url: string, statementMsMax: number) {
    this.#url = url;
    this.#statementMsMax = statementMsMax;
  }

  async read<Row>(text: string, values: readonly ReadValue[]): Promise<Row[]> {
    try {
      return await this.#ask<Row>(text, values);
    } catch (failure) {
      if (!isToAskAgain(failure) || this.#isClosed) throw failure;
      return await this.#ask<Row>(text, values);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#giveUp();
  }

  async #ask<Row>(text: string, values: readonly ReadValue[]): Promise<Row[]> {
    if (this.#isClosed) throw new Error('the read pool is closed');
    if (this.#client !== null && performance.now() - this.#answeredMs > bounds.readRestMs)
      await this.#wake(this.#client);
    this.#client ??= openClient(this.#url, { ...READ_SETTINGS, statement_timeout: this.#statementMsMax });
    const answer = this.#client.unsafe(text, values.map(suitValue)) as Promise<Row[]>;
    const rows = await within(machineTimers, this.#statementMsMax + bounds.storeSilenceMsMax, answer, () => {
      void this.#giveUp(); // a silent connection cannot be waited for
      return silent();
    });
    this.#answeredMs = performance.now();
    return rows;
  }

  /** An idle connection may have been lost silently: a quick statement tests it, with a short timeout. */
  async #wake(client: SQL): Promise<void> {
    try {
      await answerIn(bounds.storeSilenceMsMax, client.unsafe('SELECT 1') as Promise<unknown>);
    } catch {
      await this.#giveUp(); // another one is opened
    }
  }

  async #giveUp(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.close({ timeout: 0 }).catch(() => {}); // it is closed either way
  }
}

/** A client of one connection, opened at the first statement. Settings apply to the session. */
export function openClient(url: string, settings: Record<string, string | number>): SQL {
  return new SQL({
    url,
    max: 1,
    connectionTimeout: bounds.storeConnectSecondsMax,
    idleTimeout: 0,
    maxLifetime: 0,
    connection: settings,
  });
}

/** Rejects if there is no answer within `ms`, such as that of a statement that the server should have cancelled before. */
export function answerIn<Value>(ms: number, answer: Promise<Value>): Promise<Value> {
  return within(machineTimers, ms, answer, silent);
}

function silent(): Error {
  return new Error('the database does not answer');
}

/**
 * The connection ended: the server restarted or failed over, or the connection was idle for too long. Or the statement was ended for a
 * deadlock with a migration or a dropped month, which lock whole tables.
 */
function isToAskAgain(failure: unknown): boolean {
  const { code, errno } = failure as { code?: unknown; errno?: unknown };
  return String(code).startsWith('ERR_POSTGRES_CONNECTION') || /^(?:57P0[125]|40P01)$/.test(String(errno));
}

function tooManyReads(): TurnpikeError {
  return new TurnpikeError('overloaded', 'Too many reads are in progress. Try again shortly.', {
    retryAfterMs: bounds.reportRetryMs,
  });
}

// Statements that read all rows use the server's default planner settings.
const SETTINGS = { application_name: 'turnpike check', timezone: 'UTC' };

/**
 * Reads in one snapshot, whether others write or not. Throws the driver's error, also for a statement that takes too
 * long.
 */
export async function readSnapshot<Value>(
  url: string,
  read: (reader: Reader) => Promise<Value>,
  statementMsMax: number = bounds.snapshotStatementMsMax,
): Promise<Value> {
  const client = openClient(url, { ...SETTINGS, statement_timeout: statementMsMax });
  const inTime = <Answer>(answer: Promise<Answer>) => answerIn(statementMsMax + bounds.storeSilenceMsMax, answer);
  try {
    // Reserved, because a client continues on another connection after losing one, even within a transaction.
    const reserved = await client.reserve();
    await inTime(reserved.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'));
    return await read({
      read: async <Row>(text: string, ...values: readonly ReadValue[]) =>
        [...(await inTime(reserved.unsafe(text, [...values])))] as Row[],
    });
  } finally {
    await client.close({ timeout: 0 });
  }
}

/** Preparing an installation; the hourly retention run; creating the sign-in tables. */
const numbers = { start: 3, retention: 4, 'sign-in': 5 } as const;

export type LockName = keyof typeof numbers;

export interface SessionLock extends AsyncDisposable {}

/** Waits for the lock, bounded. Throws if it cannot be acquired. */
export async function takeLock(url: string, name: LockName): Promise<SessionLock> {
  const text = `SELECT true AS had FROM pg_advisory_lock(7416, ${numbers[name]})`;
  return (await lock(url, text, bounds.startWaitMsMax)) as SessionLock;
}

/** The lock, or null if another process has it. Throws if the database is unavailable. */
export function tryLock(url: string, name: LockName): Promise<SessionLock | null> {
  return lock(url, `SELECT pg_try_advisory_lock(7416, ${numbers[name]}) AS had`, bounds.readStatementMsMax);
}

/** If the server is silent, fails a little later than the maximum wait. */
async function lock(url: string, text: string, waitMsMax: number): Promise<SessionLock | null> {
  const client = openClient(url, { application_name: 'turnpike lock', lock_timeout: waitMsMax });
  const close = () => client.close({ timeout: 0 });
  const inTime = <Value>(answer: Promise<Value>) => answerIn(waitMsMax + bounds.storeSilenceMsMax, answer);
  try {
    const session = await inTime(client.reserve());
    const [row] = (await inTime(session.unsafe(text) as Promise<unknown>)) as { had: boolean }[];
    // Kept with the session: an unreferenced one may be collected, with its transaction.
    if (row?.had === true) return Object.assign({ session }, { [Symbol.asyncDispose]: close });
  } catch (failure) {
    await close();
    throw failure;
  }
  await close();
  return null;
}
