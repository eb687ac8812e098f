// What a database needs from time to time, whichever node does it, and when several do it at once: months ahead of their time,
// months dropped that are wholly too old, leases dropped of nodes that are long gone.

import type { ReservedSQL } from 'bun';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config.ts';
import { keptSinceNames } from '../../ledger/ledger.ts';
import { monthsAhead } from './open-database.ts';
import { openClient } from './read-pool.ts';
import { monthOf } from './usage-months.ts';
import { dropMonthText, LIST_MONTHS, makeMonthText } from './usage-partitions.ts';

/** What was done, and by whomever: months as 202611. */
export interface Tended {
  monthsMade: number[];
  monthsDropped: number[];
  /** They are too old, and others used the table all the while: to be tried again in a minute. */
  monthsLeft: number[];
  leasesDropped: number;
}

/** Over a connection of its own, which it closes. Throws where the database cannot be asked, or does not answer. */
export async function tendDatabase(url: string): Promise<Tended> {
  const client = openClient(url, {
    application_name: 'turnpike upkeep',
    statement_timeout: bounds.reportStatementMsMax,
    lock_timeout: bounds.writeLockMsMax,
    timezone: 'UTC',
  });
  try {
    const session = await inTime(client.reserve());
    const found = await readMonths(session);
    const isTooOld = isBefore(found.keptSinceMs);
    const wanted = monthsAhead(found.nowMs).filter((month) => !isTooOld(month) && !found.months.includes(month));
    for (const month of wanted) await run(session, makeMonthText(month));
    const { dropped, left } = await dropMonths(session, found.months.filter(isTooOld));
    const leasesDropped = await dropLeases(session);
    return { monthsMade: wanted, monthsDropped: dropped, monthsLeft: left, leasesDropped };
  } finally {
    await client.close({ timeout: 0 });
  }
}

const READ_MOMENT = `
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms,
    (SELECT value::float8 FROM installation WHERE name = '${keptSinceNames.usage}') AS kept_since_ms`;

async function readMonths(session: ReservedSQL) {
  const [moment] = (await run(session, READ_MOMENT)) as { now_ms: number; kept_since_ms: number | null }[];
  const months = (await run(session, LIST_MONTHS)) as { month: number }[];
  return {
    nowMs: moment?.now_ms ?? 0,
    keptSinceMs: moment?.kept_since_ms ?? null,
    months: months.map(({ month }) => month),
  };
}

/** The month of the mark has records that are kept. Nothing is too old where no mark was made. */
function isBefore(keptSinceMs: number | null): (month: number) => boolean {
  return (month) => keptSinceMs !== null && month < monthOf(keptSinceMs);
}

/** The lock is waited for a moment only, since who writes waits behind; where it is not had, they have a rest. */
async function dropMonths(session: ReservedSQL, months: readonly number[]) {
  const left = [...months];
  const dropped: number[] = [];
  for (let tries = 1; left.length > 0; ) {
    if (await isDropped(session, left[0] as number)) dropped.push(left.shift() as number);
    else if (tries++ >= bounds.batchTriesMax) break;
    else await Bun.sleep(bounds.migrationRestMs);
  }
  return { dropped, left };
}

// Of a lock that was not had, and of two who waited for each other.
const IN_USE = ['55P03', '40P01'];

async function isDropped(session: ReservedSQL, month: number): Promise<boolean> {
  try {
    await run(session, dropMonthText(month));
    return true;
  } catch (failure) {
    if (IN_USE.includes(String((failure as { errno?: unknown }).errno))) return false;
    throw failure;
  }
}

// Nothing is waited for: what another has locked is renewed by it, or tended.
const someLeases = (where: string) => `node = ANY(ARRAY(
  SELECT l.node FROM leases l WHERE ${where} AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.node = l.node)
  ORDER BY l.node LIMIT ${bounds.rowsDroppedAtOnce} FOR UPDATE SKIP LOCKED))`;
const NOW_MS = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
// Whose hold was ended by others has a lease of time 0, which does not say since when. From now on it does: below 0, where every
// time has lapsed, and no lease is moved again.
const DATE_LEASES = `UPDATE leases SET expires_at_ms = -${NOW_MS} WHERE ${someLeases('l.expires_at_ms = 0')}`;
const DROP_LEASES = `
  WITH dropped AS (DELETE FROM leases
    WHERE ${someLeases(`l.expires_at_ms <> 0 AND abs(l.expires_at_ms) < ${NOW_MS} - ${bounds.lapsedLeaseKeptMs}`)} RETURNING 1)
  SELECT count(*)::int AS count FROM dropped`;

async function dropLeases(session: ReservedSQL): Promise<number> {
  await run(session, DATE_LEASES);
  let dropped = 0;
  for (;;) {
    const [row] = (await run(session, DROP_LEASES)) as { count: number }[];
    const count = row?.count ?? 0;
    dropped += count;
    if (count < bounds.rowsDroppedAtOnce) return dropped;
  }
}

/** Statements without values, by the simple protocol: none of them is prepared. */
async function run(session: ReservedSQL, text: string): Promise<unknown[]> {
  return await inTime(session.unsafe(text).simple() as Promise<unknown[]>);
}

function inTime<Value>(answer: Promise<Value>): Promise<Value> {
  const silent = () => new Error('the database does not answer');
  return within(machineTimers, bounds.reportStatementMsMax + bounds.storeSilenceMsMax, answer, silent);
}
