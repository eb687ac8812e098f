// A writing connection to PostgreSQL that can be abandoned: every round trip has a time limit, and a new connection ends
// the backend of the abandoned one before it takes work. So no abandoned statement takes effect later.

import type { ReservedSQL, SQL } from 'bun';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config/config.ts';
import { suitValue } from './columns.ts';
import { openClient } from './read-pool.ts';

export interface Statement {
  text: string;
  values: readonly (string | number | null)[];
}

/** The rows of a result, with the server's command tag and row count. */
export type Answered = Record<string, unknown>[] & { command: string; count: number };

/**
 * There was no answer: the statement may have been executed or not; `silent`: it may still be executed until the next
 * connection is open.
 */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost';
  readonly isSilent: boolean;

  constructor(message: string, options: ErrorOptions & { isSilent: boolean }) {
    super(message, options);
    this.isSilent = options.isSilent;
  }
}

/** Time limits of server and node. The server's are shorter, so that usually the server gives up first. */
export interface ConnectionLimits {
  lockMsMax: number;
  statementMsMax: number;
  /** In a transaction, between two round trips. */
  idleMsMax: number;
  roundTripMsMax: number;
}

export const connectionLimits: ConnectionLimits = {
  lockMsMax: bounds.writeLockMsMax,
  statementMsMax: bounds.writeStatementMsMax,
  idleMsMax: bounds.writeIdleMsMax,
  roundTripMsMax: bounds.writeRoundTripMsMax,
};

interface Backend {
  pid: number;
  startedAt: string;
  timeline: string;
  life: string;
}

export class Connection {
  readonly #url: string;
  readonly #warmUp: readonly Statement[];
  readonly #limits: ConnectionLimits;
  #client: SQL | null = null;
  /** Reserved, because a client continues on another connection after losing one, even within a transaction. */
  #session: ReservedSQL | null = null;
  #backend: Backend | null = null;
  /** The backend of an abandoned connection: it may still be working. */
  #lost: Backend | null = null;

  /**
   * Connects at the first statement. `warmUp` is run on each new connection, in a transaction that is rolled back.
   */
  constructor(url: string, warmUp: readonly Statement[], limits: ConnectionLimits = connectionLimits) {
    this.#url = url;
    this.#warmUp = warmUp;
    this.#limits = limits;
  }

  /** The timeline of the last connection's server: transaction numbers are valid only within it. */
  get timeline(): string | null {
    return (this.#backend ?? this.#lost)?.timeline ?? null;
  }

  /**
   * Identifies the server process between crashes: after a crash, transactions that were not on disk are lost and
   * their numbers reused.
   */
  get life(): string | null {
    return (this.#backend ?? this.#lost)?.life ?? null;
  }

  /**
   * Runs all statements in one round trip. Throws the server's error for the first that failed, or ConnectionLost.
   */
  async ask(...asked: readonly Statement[]): Promise<Answered[]> {
    const session = this.#session ?? (await this.#open());
    return await this.#answersTo(session, asked);
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = this.#session = null;
    await client?.close({ timeout: 0 });
  }

  /** A new connection. It takes no work before the abandoned backend has ended and its commits are durable. */
  async #open(): Promise<ReservedSQL> {
    try {
      this.#client = openClient(this.#url, settingsOf(this.#limits));
      const session = await this.#inTime(this.#client.reserve());
      const [[backend] = []] = await this.#answersTo(session, [READ_BACKEND]);
      const isAfterLoss = this.#lost !== null;
      if (this.#lost !== null) await this.#endBackend(session, this.#lost);
      this.#lost = null;
      this.#backend = backend as unknown as Backend;
      if (isAfterLoss) await this.#answersTo(session, [WRITE_NOTHING]);
      await this.#answersTo(session, [BEGIN, ...this.#warmUp, ROLLBACK, BEGIN, COMMIT]);
      this.#session = session;
      return session;
    } catch (failure) {
      await this.#giveUp();
      throw failure instanceof ConnectionLost ? failure : lost('cannot open a connection', failure);
    }
  }

  async #endBackend(session: ReservedSQL, backend: Backend): Promise<void> {
    const values = [backend.pid, backend.startedAt];
    await this.#answersTo(session, [{ text: END_BACKEND, values }]);
    const [left] = await this.#answersTo(session, [{ text: FIND_BACKEND, values }]);
    if (left !== undefined && left.length > 0) throw lost('an abandoned connection is still active');
  }

  async #answersTo(session: ReservedSQL, asked: readonly Statement[]): Promise<Answered[]> {
    const answers = await this.#inTime(Promise.allSettled(asked.map((one) => send(session, one))));
    for (const answer of answers) {
      if (answer.status === 'fulfilled') continue;
      if (!isLoss(answer.reason)) throw answer.reason;
      await this.#giveUp();
      throw lost('the connection was lost', answer.reason);
    }
    return answers.map((answer) => (answer as PromiseFulfilledResult<Answered>).value);
  }

  async #inTime<Value>(answer: Promise<Value>): Promise<Value> {
    try {
      return await within(machineTimers, this.#limits.roundTripMsMax, answer, silent);
    } catch (failure) {
      if (failure instanceof ConnectionLost) await this.#giveUp();
      throw failure;
    }
  }

  async #giveUp(): Promise<void> {
    const client = this.#client;
    this.#lost = this.#backend ?? this.#lost;
    this.#client = this.#session = this.#backend = null;
    // Closed without waiting, which fails statements in progress. The wait for that is short.
    const closed = client?.close({ timeout: 0 }) ?? Promise.resolve();
    await within(machineTimers, bounds.storeSilenceMsMax, closed, silent).catch(() => {});
  }
}

export const BEGIN: Statement = { text: 'BEGIN', values: [] };
export const COMMIT: Statement = { text: 'COMMIT', values: [] };
export const ROLLBACK: Statement = { text: 'ROLLBACK', values: [] };

// The current timeline; a standby has none and cannot be written to. A crash resets the statistics, an orderly stop
// does not; if another client resets them, fewer outcomes can be determined.
const READ_BACKEND: Statement = {
  text: `SELECT a.pid, a.backend_start::text AS "startedAt", left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline,
      pg_stat_get_bgwriter_stat_reset_time()::text AS life
    FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()`,
  values: [],
};
// Its commit is acknowledged after all earlier ones, also with synchronous replication: a commit that was cancelled
// while waiting for a standby exists only on this server, and readers here cannot tell.
const WRITE_NOTHING: Statement = { text: "SELECT pg_logical_emit_message(true, 'turnpike', '') AS at", values: [] };
const THIS_BACKEND = 'FROM pg_stat_activity a WHERE a.pid = $1::int AND a.backend_start = $2::text::timestamptz';
const END_BACKEND = `SELECT pg_terminate_backend(a.pid, ${bounds.writeEndMsMax}) ${THIS_BACKEND}`;
const FIND_BACKEND = `SELECT a.pid ${THIS_BACKEND}`;

/**
 * Every statement uses the index that it was written for. Other plans are disabled, because a plan is made once for a connection,
 * whatever the values, and would otherwise stay as it was made for an empty table.
 */
export function settingsOf(limits: ConnectionLimits): Record<string, string | number> {
  return {
    application_name: 'turnpike ledger',
    default_transaction_isolation: 'read committed',
    synchronous_commit: 'on',
    lock_timeout: limits.lockMsMax,
    statement_timeout: limits.statementMsMax,
    idle_in_transaction_session_timeout: limits.idleMsMax,
    client_connection_check_interval: bounds.writeCallerCheckMs,
    tcp_user_timeout: bounds.writeUnacknowledgedMsMax,
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_bitmapscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    jit: 'off',
    timezone: 'UTC',
  };
}

/**
 * The driver sends a text without parameters separately unless it is a template: then it is prepared and pipelined.
 */
async function send(session: ReservedSQL, { text, values }: Statement): Promise<Answered> {
  if (values.length > 0) return await session.unsafe(text, values.map(suitValue));
  let template = templates.get(text);
  if (template === undefined) {
    template = Object.defineProperty([text], 'raw', { value: [text] }) as unknown as TemplateStringsArray;
    templates.set(text, template);
  }
  return await session(template);
}

/** By text: there are few without parameters. */
const templates = new Map<string, TemplateStringsArray>();

/** Anything but an error of the statement itself: the end of the session, or a failure of the driver. */
export function isLoss(failure: unknown): boolean {
  const { errno } = failure as { errno?: unknown };
  return typeof errno !== 'string' || !/^[0-9A-Z]{5}$/.test(errno) || /^(?:57P|08|25P0[34])/.test(errno);
}

function silent(): ConnectionLost {
  return new ConnectionLost('the database does not answer', { isSilent: true });
}

function lost(message: string, cause?: unknown): ConnectionLost {
  return new ConnectionLost(message, { cause, isSilent: false });
}
