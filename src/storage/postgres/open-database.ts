// Brings the tables of a PostgreSQL database to the present version, forward only, and makes the months ahead. Nodes that start at
// once do it one after the other; those that run meanwhile go on.

import type { ReservedSQL, SQL } from 'bun';
import { bounds } from '../../config.ts';
import { migrations } from '../migrations/migrations.ts';
import { openClient } from './read-pool.ts';
import { monthOf } from './usage-months.ts';
import { makeMonthText, nextMonth } from './usage-partitions.ts';

const LOCK = 'pg_advisory_lock(7416, 0)';
const LOCK_NOT_HAD = '55P03';

/** Throws where the database cannot be had, or a later release made tables that this one does not know. */
export async function prepareDatabase(url: string): Promise<void> {
  const client = openClient(url, { application_name: 'turnpike migrations', timezone: 'UTC' });
  try {
    // Reserved: the lock is the session's, and goes with it.
    const session = await client.reserve();
    await run(session, `SET lock_timeout = ${bounds.migrationWaitMsMax}`);
    await run(session, `SELECT ${LOCK}`);
    await migrate(session);
    await makeMonthsAhead(session);
  } finally {
    await client.close({ timeout: 0 });
  }
}

/** The present month and the next ones, by the database's time. */
async function makeMonthsAhead(session: ReservedSQL): Promise<void> {
  const [row] = await run(session, 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms');
  for (const month of monthsAhead((row as { now_ms: number }).now_ms)) await run(session, makeMonthText(month));
}

/** The month of that time, and as many after it as are made ahead. */
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
  const [row] = await run(
    session,
    'SELECT max(version) AS version, max(least_known) AS least_known FROM schema_versions',
  );
  const made = row as { version: number | null; least_known: number | null };
  refuseLaterVersion(made.version ?? 0, made.least_known ?? 0);
  for (const migration of migrations) {
    if (migration.version <= (made.version ?? 0)) continue;
    const { version, name, leastKnown } = migration;
    const text = `BEGIN; SET LOCAL lock_timeout = ${bounds.migrationLockMsMax}; ${migration.postgres};
      INSERT INTO schema_versions VALUES (${version}, '${name}', ${leastKnown}); COMMIT`;
    await runWhenFree(session, text);
  }
}

/** Tables that a later release made are used where they still serve this one, and are left as they are. */
function refuseLaterVersion(version: number, leastKnown: number): void {
  const latest = migrations.at(-1)?.version ?? 0;
  if (leastKnown <= latest) return;
  throw new Error(
    `the database is of version ${version}, this program knows versions up to ${latest}: it was made by a later release`,
  );
}

/** Waits a short time for its locks, again and again: who writes waits behind who waits for a lock. */
async function runWhenFree(session: ReservedSQL, text: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await run(session, text);
      return;
    } catch (failure) {
      await run(session, 'ROLLBACK');
      if ((failure as { errno?: unknown }).errno !== LOCK_NOT_HAD || tries >= bounds.migrationTriesMax) throw failure;
      await Bun.sleep(bounds.migrationRestMs);
    }
  }
}

/** Statements without values, by the simple protocol: several at once, and none of them prepared. */
async function run(session: SQL, text: string): Promise<unknown[]> {
  return await session.unsafe(text).simple();
}
