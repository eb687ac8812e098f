// One connection to PostgreSQL that writes, which can be given up: every round trip has a time limit, and the next connection ends
// what the one before may still be doing before it takes work. So nothing that was given up is made later.

import type { ReservedSQL, SQL } from 'bun';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config.ts';
import { openClient } from './read-pool.ts';
import { suitValue } from './suit-text.ts';

export interface Asked {
  text: string;
  values: readonly (string | number | null)[];
}

/** The rows of an answer, with what the server calls what it did, and to how many rows. */
export type Answered = Record<string, unknown>[] & { command: string; count: number };

/** Why there was no answer. What was asked may have been done or not; `silent`: it may still be done until the next connection is had. */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost';
  readonly isSilent: boolean;

  constructor(message: string, options: ErrorOptions & { isSilent: boolean }) {
    super(message, options);
    this.isSilent = options.isSilent;
  }
}

/** How long the server takes at most, and the node waits. The server's come first, so that it is mostly the server that gives up. */
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
  readonly #warmUp: readonly Asked[];
  readonly #limits: ConnectionLimits;
  #client: SQL | null = null;
  /** Reserved: a client goes on over another connection when it loses one, in the midst of a transaction and outside of it. */
  #session: ReservedSQL | null = null;
  #backend: Backend | null = null;
  /** Of a connection that was given up: it may still be working. */
  #lost: Backend | null = null;

  /** Connects when it is asked first. `warmUp` is asked of each new connection, in a transaction that is rolled back. */
  constructor(url: string, warmUp: readonly Asked[], limits: ConnectionLimits = connectionLimits) {
    this.#url = url;
    this.#warmUp = warmUp;
    this.#limits = limits;
  }

  /** The history of the server that the last connection was to: in another one, numbers mean other transactions. */
  get timeline(): string | null {
    return (this.#backend ?? this.#lost)?.timeline ?? null;
  }

  /** Of the server, from one crash to the next: in another one, what was not on the disk never was, and its numbers are given again. */
  get life(): string | null {
    return (this.#backend ?? this.#lost)?.life ?? null;
  }

  /** Asks all of it in one round trip. Throws what the server said of the first that failed; ConnectionLost where it said nothing. */
  async ask(...asked: readonly Asked[]): Promise<Answered[]> {
    const session = this.#session ?? (await this.#open());
    return await this.#answersTo(session, asked);
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = this.#session = null;
    await client?.close({ timeout: 0 });
  }

  /** A new connection, which takes no work before the one that was given up is gone, and what that made is where commits have to be. */
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
      throw failure instanceof ConnectionLost ? failure : lost('no connection can be had', failure);
    }
  }

  async #endBackend(session: ReservedSQL, backend: Backend): Promise<void> {
    const values = [backend.pid, backend.startedAt];
    await this.#answersTo(session, [{ text: END_BACKEND, values }]);
    const [left] = await this.#answersTo(session, [{ text: FIND_BACKEND, values }]);
    if (left !== undefined && left.length > 0) throw lost('a connection that was given up still works');
  }

  async #answersTo(session: ReservedSQL, asked: readonly Asked[]): Promise<Answered[]> {
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
    // Closed without a wait, which fails what is under way. Whether that is done is not waited for long: nobody is there.
    const closed = client?.close({ timeout: 0 }) ?? Promise.resolve();
    await within(machineTimers, bounds.storeSilenceMsMax, closed, silent).catch(() => {});
  }
}

export const BEGIN: Asked = { text: 'BEGIN', values: [] };
export const COMMIT: Asked = { text: 'COMMIT', values: [] };
export const ROLLBACK: Asked = { text: 'ROLLBACK', values: [] };

// The timeline is that of what is written now; a standby has none, and cannot be written. A crash begins statistics anew, an orderly
// stop does not; where somebody else does, what can be told is only less.
const READ_BACKEND: Asked = {
  text: `SELECT a.pid, a.backend_start::text AS "startedAt", left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline,
      pg_stat_get_bgwriter_stat_reset_time()::text AS life
    FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()`,
  values: [],
};
// Its commit is told when all before it are, also where commits wait for a standby: what was ended in such a wait is made on this server
// alone, and to whoever reads here it looks like any other.
const WRITE_NOTHING: Asked = { text: "SELECT pg_logical_emit_message(true, 'turnpike', '') AS at", values: [] };
const THIS_BACKEND = 'FROM pg_stat_activity a WHERE a.pid = $1::int AND a.backend_start = $2::text::timestamptz';
const END_BACKEND = `SELECT pg_terminate_backend(a.pid, ${bounds.writeEndMsMax}) ${THIS_BACKEND}`;
const FIND_BACKEND = `SELECT a.pid ${THIS_BACKEND}`;

/**
 * Plans are made once for a connection, whatever the values, and go by the index that each statement is written for: one that is
 * made while a table is empty stays.
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

/** The driver sends a text without values by itself, unless it comes as a template: then it is prepared and goes with the others. */
async function send(session: ReservedSQL, { text, values }: Asked): Promise<Answered> {
  if (values.length > 0) return await session.unsafe(text, values.map(suitValue));
  let template = templates.get(text);
  if (template === undefined) {
    template = Object.defineProperty([text], 'raw', { value: [text] }) as unknown as TemplateStringsArray;
    templates.set(text, template);
  }
  return await session(template);
}

/** By their text: there are few without values. */
const templates = new Map<string, TemplateStringsArray>();

/** All that is not said of a statement: an end of the session, and whatever goes wrong in the driver. */
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
