// The connections that only read: a few, with one statement at a time on each, so that one that falls silent costs no
// other its answer. What was cut off is asked again once, over a new connection: it only reads.

import { SQL } from 'bun';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config.ts';
import { TurnpikeError } from '../../errors.ts';
import { suitValue } from './suit-text.ts';

export type ReadValue = string | number | null;

/** Asks one statement, which sees what was committed when it began. */
export interface Reader {
  read<Row>(text: string, ...values: readonly ReadValue[]): Promise<Row[]>;
}

export interface ReadLimits {
  connections: number;
  /** The server gives a statement up that takes longer; where it says nothing, the connection is given up soon after. */
  statementMsMax: number;
}

/**
 * Every list goes by an index that has its order, so whatever does not is made dear: a plan that is made while a table is empty
 * stays. Plans are made once for a connection, whatever the values.
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
  /** Those who wait for a connection, oldest first. */
  readonly #waiting: PromiseWithResolvers<ReadConnection>[] = [];
  readonly #waitMsMax: number;
  #isClosed = false;

  /** Connects when it is asked first, and again whenever a connection was lost. */
  constructor(url: string, limits: ReadLimits) {
    this.#all = Array.from({ length: limits.connections }, () => new ReadConnection(url, limits.statementMsMax));
    this.#idle = [...this.#all];
    this.#waitMsMax = limits.statementMsMax;
  }

  /** Throws overloaded where too many wait; else what the driver throws. */
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

  /** Ends all connections; what is under way fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const one of this.#waiting.splice(0)) one.reject(new Error('the reads were closed'));
    await Promise.all(this.#all.map((connection) => connection.close()));
  }

  async #wait(): Promise<ReadConnection> {
    if (this.#isClosed) throw new Error('the reads were closed');
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

/** A client of one connection, which it makes again when that is lost. */
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
      if (!isCut(failure) || this.#isClosed) throw failure;
      return await this.#ask<Row>(text, values);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#giveUp();
  }

  async #ask<Row>(text: string, values: readonly ReadValue[]): Promise<Row[]> {
    if (this.#isClosed) throw new Error('the reads were closed');
    if (this.#client !== null && performance.now() - this.#answeredMs > bounds.readRestMs)
      await this.#wake(this.#client);
    this.#client ??= openClient(this.#url, { ...READ_SETTINGS, statement_timeout: this.#statementMsMax });
    const silentMs = this.#statementMsMax + bounds.storeSilenceMsMax;
    const rows = await within(
      machineTimers,
      silentMs,
      this.#client.unsafe(text, values.map(suitValue)) as Promise<Row[]>,
      () => {
        void this.#giveUp(); // nobody can wait for what is silent
        return new Error('the database does not answer');
      },
    );
    this.#answeredMs = performance.now();
    return rows;
  }

  /** One that rested may lead nowhere by now, of which nothing tells: what takes no time is asked of it first, and it is given up soon. */
  async #wake(client: SQL): Promise<void> {
    const silent = () => new Error('the database does not answer');
    try {
      await within(machineTimers, bounds.storeSilenceMsMax, client.unsafe('SELECT 1') as Promise<unknown>, silent);
    } catch {
      await this.#giveUp(); // another is made
    }
  }

  async #giveUp(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.close({ timeout: 0 }).catch(() => {}); // it is gone either way
  }
}

/** A client of one connection, made when it is asked first. Settings are of the session. */
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

/** Whether the connection ended, as it does when the server is restarted, another takes over, or it was idle for too long. */
function isCut(failure: unknown): boolean {
  const { code, errno } = failure as { code?: unknown; errno?: unknown };
  return String(code).startsWith('ERR_POSTGRES_CONNECTION') || /^57P0[125]$/.test(String(errno));
}

function tooManyReads(): TurnpikeError {
  return new TurnpikeError('overloaded', 'The store is asked for too much at the moment. Try again shortly.', {
    retryAfterMs: bounds.reportRetryMs,
  });
}
