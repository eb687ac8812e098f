// Migrates the tables of a PostgreSQL database, under the role that owns them, and creates the partitions of the next months. Nodes that
// start at the same time take turns; running nodes continue meanwhile. A node under another role only verifies that it can work.

import type { ReservedSQL, SQL } from 'bun';
import { bounds } from '../../config/config.ts';
import type { Owner } from '../../ledger/ledger.ts';
import { retainedSinceNames } from '../../ledger/ledger.ts';
import { latestVersion as known, latestVersion, migrationsAfter } from '../migrations/migrations.ts';
import { DAYS_TO_ROLL_UP } from '../rolled-totals.ts';
import type { MaintenanceResult } from '../stores.ts';
import { dropMonthText, LIST_MONTHS, makeMonthText, monthOf, nextMonth } from './columns.ts';
import { answerIn, openClient, type Reader, readSnapshot } from './read-pool.ts';
import { grantRights, quoted, type RoleState, readRole, requireRights } from './roles.ts';

const LOCK = 'pg_advisory_lock(7416, 0)';
// lock_not_available and deadlock_detected.
const IN_USE: readonly unknown[] = ['55P03', '40P01'];
const ANSWER_MS_MAX = bounds.reportStatementMsMax + bounds.storeSilenceMsMax;

/**
 * For the start of a node: migrates the tables if its role owns them, or if there are none and it may create some. Otherwise throws an
 * error for the operator unless the tables are current and the role has its rights. Throws the driver's error if the database is
 * unavailable, and an error if its tables are of a version that this program cannot use.
 */
export async function prepareDatabase(url: string): Promise<void> {
  await withMigrationLock(url, async (session) => {
    const found = await readRole(readerOver(session));
    if (found === null ? await mayCreate(session) : found.owns) await migrateAs(session, found);
    else await refuseUnprepared(session, found);
  });
}

/** For `turnpike migrate`: migrates the tables, which the role must own. Resolves to the version before, 0 without tables. */
export async function migrateDatabase(url: string): Promise<number> {
  let before = 0;
  await withMigrationLock(url, async (session) => {
    const found = await readRole(readerOver(session));
    const role = await currentRole(session);
    if (found === null && !(await mayCreate(session))) throw new Error(describeNoTables(role));
    // Even a superuser: what it makes would belong to it.
    if (found !== null && found.owner !== role)
      throw new Error(
        `the tables belong to the role ${quoted(found.owner)}, not to ${quoted(role)}: run this command under their owner`,
      );
    if (found !== null) ({ stored: before } = await readVersion(readerOver(session)));
    await migrateAs(session, found);
  });
  return before;
}

/** For `turnpike migrate --grant`: under the owner of the tables, which exist, as do those of sign-ins. */
export async function grantRole(url: string, role: string): Promise<void> {
  await withMigrationLock(url, (session) => grantRights(readerOver(session), role));
}

/** Runs it in a session of its own, which holds the lock of migrations and releases it when it closes. */
async function withMigrationLock(url: string, use: (session: ReservedSQL) => Promise<void>): Promise<void> {
  const client = openClient(url, { application_name: 'turnpike migrations', timezone: 'UTC' });
  try {
    const session = await client.reserve();
    await run(session, `SET lock_timeout = ${bounds.migrationWaitMsMax}`);
    await run(session, `SELECT ${LOCK}`);
    await use(session);
  } finally {
    await client.close({ timeout: 0 });
  }
}

/** The owner makes everything, so that one role owns all of it: a member of that role, or a superuser, becomes the owner. */
async function migrateAs(session: ReservedSQL, found: RoleState | null): Promise<void> {
  if (found !== null && found.owner !== found.role)
    await run(session, `SET ROLE "${found.owner.replaceAll('"', '""')}"`);
  await migrate(session);
  await makeMonthsAhead(session);
}

async function mayCreate(session: ReservedSQL): Promise<boolean> {
  const [row] = await run(session, "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may");
  return (row as { may: boolean }).may;
}

async function currentRole(session: ReservedSQL): Promise<string> {
  const [row] = await run(session, 'SELECT current_user::text AS role');
  return (row as { role: string }).role;
}

/** Throws an error for the operator unless a role that does not own the tables can work with them. */
async function refuseUnprepared(session: ReservedSQL, found: RoleState | null): Promise<void> {
  if (found === null) throw new Error(describeNoTables(await currentRole(session)));
  if (found.missing.includes('SELECT on schema_versions')) requireRights(found);
  const { stored, leastKnown } = await readVersion(readerOver(session));
  refuseLaterVersion(stored, leastKnown);
  if (stored < known)
    throw new Error(
      `its tables have version ${stored}; this release uses version ${known}, and the role ${quoted(found.role)} may not migrate them: run "turnpike migrate" of this release under the role that owns them (${found.owner})`,
    );
  requireRights(found);
}

function describeNoTables(role: string): string {
  return `the role ${quoted(role)} sees no tables of this service and may not create any: run "turnpike migrate" under the role that owns the database`;
}

/** Creates the partitions of the current month and the next ones, by the database's clock. */
async function makeMonthsAhead(session: ReservedSQL): Promise<void> {
  const [row] = await run(session, 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms');
  for (const month of monthsAhead((row as { now_ms: number }).now_ms)) await run(session, makeMonthText(month));
}

/** The month of `nowMs` and the months after it that are created in advance. */
export function monthsAhead(nowMs: number): number[] {
  const months = [monthOf(nowMs)];
  while (months.length <= bounds.usageMonthsAhead) months.push(nextMonth(months.at(-1) as number));
  return months;
}

async function migrate(session: ReservedSQL): Promise<void> {
  await run(
    session,
    'CREATE TABLE IF NOT EXISTS schema_versions (version int PRIMARY KEY, name text NOT NULL, least_known int NOT NULL)',
  );
  const made = await readVersion(readerOver(session));
  refuseLaterVersion(made.stored, made.leastKnown);
  for (const { version, name, leastKnown, postgres } of migrationsAfter(made.stored)) {
    const text = `BEGIN; SET LOCAL lock_timeout = ${bounds.migrationLockMsMax}; ${postgres};
      INSERT INTO schema_versions VALUES (${version}, '${name}', ${leastKnown}); COMMIT`;
    await runWhenFree(session, text);
  }
}

/** Tables of a later release are used as they are if that release still supports this one. */
function refuseLaterVersion(version: number, leastKnown: number): void {
  if (leastKnown <= latestVersion) return;
  throw new Error(
    `the database has version ${version}; this release supports versions up to ${latestVersion}: a later release wrote it`,
  );
}

function isInUse(failure: unknown): boolean {
  return IN_USE.includes((failure as { errno?: unknown }).errno);
}

/** Retries with a short lock timeout, because readers and writers queue behind a waiting lock request. */
async function runWhenFree(session: ReservedSQL, text: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await run(session, text);
      return;
    } catch (failure) {
      await run(session, 'ROLLBACK');
      if (!isInUse(failure) || tries >= bounds.migrationTriesMax) throw failure;
      await Bun.sleep(bounds.migrationRestMs);
    }
  }
}

function readerOver(session: SQL): Reader {
  return { read: async <Row>(text: string) => (await run(session, text)) as Row[] };
}

/** Runs statements without parameters over the simple protocol, which allows several at once. */
async function run(session: SQL, text: string): Promise<unknown[]> {
  return await session.unsafe(text).simple();
}

/** The version of the tables, and what programs may use them. */
export interface TablesVersion {
  /** 0 without tables. */
  stored: number;
  /** The lowest version that a program must know to use them. */
  leastKnown: number;
  /** The latest version that this program knows. */
  known: number;
}

/** Throws the driver's error. */
export function readTablesVersion(url: string): Promise<TablesVersion> {
  return readSnapshot(url, readVersion);
}

export async function readVersion(reader: Reader): Promise<TablesVersion> {
  const [found] = await reader.read<{ is_there: boolean }>(
    `SELECT to_regclass('schema_versions') IS NOT NULL AS is_there`,
  );
  if (found?.is_there !== true) return { stored: 0, leastKnown: 0, known };
  const [row] = await reader.read<{ stored: number; least_known: number }>(
    'SELECT coalesce(max(version), 0) AS stored, coalesce(max(least_known), 0) AS least_known FROM schema_versions',
  );
  return { stored: row?.stored ?? 0, leastKnown: row?.least_known ?? 0, known };
}

/** The request ids of a node's open holds. Throws the driver's error. */
export function listHoldsOf(url: string, { node, epoch }: Owner): Promise<string[]> {
  return readSnapshot(url, async (reader) => {
    const rows = await reader.read<{ request_id: string }>(
      'SELECT h.request_id FROM holds h WHERE h.node = $1 AND h.epoch = $2',
      node,
      epoch,
    );
    return rows.map((row) => row.request_id);
  });
}

/** Uses a connection of its own. Throws if the database is unavailable or does not answer. */
export async function maintainDatabase(url: string, signal?: AbortSignal): Promise<MaintenanceResult> {
  const client = openClient(url, {
    application_name: 'turnpike upkeep',
    statement_timeout: bounds.reportStatementMsMax,
    lock_timeout: bounds.writeLockMsMax,
    timezone: 'UTC',
  });
  try {
    const session = await answerIn(ANSWER_MS_MAX, client.reserve());
    const found = await readMonths(session);
    const isTooOld = isBefore(found.retainedSinceMs);
    const wanted = monthsAhead(found.nowMs).filter((month) => !isTooOld(month) && !found.months.includes(month));
    for (const month of wanted) await runInTime(session, makeMonthText(month));
    const { dropped, left } = await dropMonths(session, found.months.filter(isTooOld));
    const leasesDropped = await dropLeases(session);
    const daysRolledUp = await rollUpDays(session, signal);
    return { monthsMade: wanted, monthsDropped: dropped, monthsLeft: left, leasesDropped, daysRolledUp };
  } finally {
    await client.close({ timeout: 0 });
  }
}

const READ_MOMENT = `
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms,
    (SELECT value::float8 FROM installation WHERE name = '${retainedSinceNames.usage}') AS kept_since_ms`;

async function readMonths(session: ReservedSQL) {
  const [moment] = (await runInTime(session, READ_MOMENT)) as { now_ms: number; kept_since_ms: number | null }[];
  const months = (await runInTime(session, LIST_MONTHS)) as { month: number }[];
  return {
    nowMs: moment?.now_ms ?? 0,
    retainedSinceMs: moment?.kept_since_ms ?? null,
    months: months.map(({ month }) => month),
  };
}

/** The month of `keptSinceMs` itself has records that are kept. null: everything is kept. */
function isBefore(retainedSinceMs: number | null): (month: number) => boolean {
  return (month) => retainedSinceMs !== null && month < monthOf(retainedSinceMs);
}

/** Waits only a short time for the lock, because writers queue behind it, and pauses before the next attempt. */
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

async function isDropped(session: ReservedSQL, month: number): Promise<boolean> {
  try {
    await runInTime(session, dropMonthText(month));
    return true;
  } catch (failure) {
    if (isInUse(failure)) return false;
    throw failure;
  }
}

// SKIP LOCKED: another node renews or deletes a locked lease.
const someLeases = (where: string) => `node = ANY(ARRAY(
  SELECT l.node FROM leases l WHERE ${where} AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.node = l.node)
  ORDER BY l.node LIMIT ${bounds.rowsDroppedAtOnce} FOR UPDATE SKIP LOCKED))`;
const NOW_MS = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
// A lease that another node ended has time 0, which does not say when. It becomes the negative current time, which also counts as
// lapsed and is never changed again.
const DATE_LEASES = `UPDATE leases SET expires_at_ms = -${NOW_MS} WHERE ${someLeases('l.expires_at_ms = 0')}`;
const DROP_LEASES = `
  WITH dropped AS (DELETE FROM leases
    WHERE ${someLeases(`l.expires_at_ms <> 0 AND abs(l.expires_at_ms) < ${NOW_MS} - ${bounds.lapsedLeaseKeptMs}`)} RETURNING 1)
  SELECT count(*)::int AS count FROM dropped`;

async function dropLeases(session: ReservedSQL): Promise<number> {
  await runInTime(session, DATE_LEASES);
  let dropped = 0;
  for (;;) {
    const [row] = (await runInTime(session, DROP_LEASES)) as { count: number }[];
    const count = row?.count ?? 0;
    dropped += count;
    if (count < bounds.rowsDroppedAtOnce) return dropped;
  }
}

/** Each day in a transaction of its own, for which only corrections of days of before wait. Another node may roll them up meanwhile. */
async function rollUpDays(session: ReservedSQL, signal?: AbortSignal): Promise<number> {
  const text = DAYS_TO_ROLL_UP.replace('$1', `${NOW_MS} - ${bounds.rolledUpAfterMs}`);
  let rolledUp = 0;
  for (const { day_ms: dayMs } of (await runInTime(session, text)) as { day_ms: number }[]) {
    if (signal?.aborted) break;
    await runInTime(session, `SELECT roll_up_day(${dayMs})`);
    rolledUp++;
    await Bun.sleep(bounds.dropRestMs);
  }
  return rolledUp;
}

/** Runs a statement without parameters over the simple protocol, which prepares nothing. */
function runInTime(session: ReservedSQL, text: string): Promise<unknown[]> {
  return answerIn(ANSWER_MS_MAX, session.unsafe(text).simple() as Promise<unknown[]>);
}
