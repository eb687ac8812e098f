// The one connection over which a store is moved into a database. One move at a time is at a database: its lock is the session's, so
// whoever has it knows that those before are over, made or not.

import type { ReservedSQL } from 'bun';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config.ts';
import { isLoss } from './connection.ts';
import { describeDatabaseFailure } from './failure-words.ts';
import { openClient } from './read-pool.ts';

const LOCK = 'pg_advisory_lock(7416, 2)';
const LOCK_NOT_HAD = '55P03';
const VERSION_LEAST = 140_000;

/** What was asked may have been done or not. */
export class MoveCut extends Error {
  override name = 'MoveCut';
}

export interface MoveSession extends AsyncDisposable {
  /** What is done in pieces; where nothing comes back for too long, the connection is given up. */
  ask<Row>(text: string, values?: readonly (string | number | null)[]): Promise<Row[]>;
  /** What looks at all rows. */
  askLong<Row>(text: string, values?: readonly (string | number | null)[]): Promise<Row[]>;
}

/** Throws, in words, where the database cannot be had, is none that the tables can be in, or another move is at it. */
export async function openMoveSession(url: string): Promise<MoveSession> {
  const client = openClient(url, { application_name: 'turnpike move', timezone: 'UTC' });
  const close = () => client.close({ timeout: 0 }).catch(() => {}); // it is gone either way
  try {
    // Reserved: a client goes on over another connection when it loses one, in the midst of a transaction and outside of it.
    const session = sessionOver(await inWords(url, client.reserve()), url, close);
    await refuseServer(session);
    await session.ask(SETTINGS);
    await takeLock(session);
    return session;
  } catch (failure) {
    await close();
    throw failure;
  }
}

function sessionOver(reserved: ReservedSQL, url: string, close: () => Promise<void>): MoveSession {
  const askFor = <Row>(msMax: number, text: string, values?: readonly (string | number | null)[]) => {
    // Without values by the simple protocol: nothing is kept of what is asked once.
    const asked = values === undefined ? reserved.unsafe(text).simple() : reserved.unsafe(text, [...values]);
    const answer = asked as Promise<Row[]>;
    return inWords(url, within(machineTimers, msMax + bounds.storeSilenceMsMax, answer, silent));
  };
  return {
    ask: (text, values) => askFor(bounds.moveStatementMsMax, text, values),
    askLong: (text, values) => askFor(bounds.snapshotStatementMsMax, text, values),
    [Symbol.asyncDispose]: close,
  };
}

async function inWords<Value>(url: string, answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof MoveCut) throw cause;
    const { words } = describeDatabaseFailure(cause, url);
    throw isLoss(cause) ? new MoveCut(words, { cause }) : new Error(words, { cause });
  }
}

async function refuseServer(session: MoveSession): Promise<void> {
  const [is] = await session.ask<{ version: string; number: string; encoding: string }>(`
    SELECT current_setting('server_version') AS version, current_setting('server_version_num') AS number,
      current_setting('server_encoding') AS encoding`);
  if (Number(is?.number) < VERSION_LEAST)
    throw new Error(`it is PostgreSQL ${is?.version}: version 14 or later is needed`);
  if (is?.encoding !== 'UTF8') throw new Error(`it has the encoding ${is?.encoding}: UTF8 is needed`);
}

// Whoever is gone, or stopped in the midst, is ended by the server, and with it what it began.
const SETTINGS = `
  SET default_transaction_isolation = 'read committed';
  SET synchronous_commit = 'on';
  SET jit = 'off';
  SET idle_session_timeout = 0;
  SET lock_timeout = ${bounds.moveWaitMsMax};
  SET statement_timeout = ${bounds.snapshotStatementMsMax};
  SET idle_in_transaction_session_timeout = ${bounds.moveIdleMsMax};
  SET client_connection_check_interval = ${bounds.writeCallerCheckMs};
  SET tcp_user_timeout = ${bounds.moveUnacknowledgedMsMax};
  SET tcp_keepalives_idle = ${bounds.moveUnacknowledgedMsMax / 1000}`;

/** One that was killed a moment ago is waited for. */
async function takeLock(session: MoveSession): Promise<void> {
  try {
    await session.ask(`SELECT ${LOCK}`);
  } catch (failure) {
    const { cause } = failure as { cause?: { errno?: unknown } };
    if (cause?.errno !== LOCK_NOT_HAD) throw failure;
    throw new Error('another move to it is under way', { cause });
  }
}

function silent(): MoveCut {
  return new MoveCut('the database does not answer');
}
