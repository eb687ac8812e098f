// Store of the services in tests: SQLite in their data directory, or, with TEST_STORE=postgres, a database of their
// own on the PostgreSQL server of this process, under a role with rights on rows only. A data directory always maps to the same
// database.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { databasePath, openForReading } from '../../src/storage/sqlite/sqlite.ts';
import { runOn, sharedPostgres, type TestPostgres } from './start-postgres.ts';

const STORES = ['sqlite', 'postgres'] as const;
const named = process.env['TEST_STORE'] || 'sqlite';
if (!STORES.some((store) => store === named)) throw new Error(`TEST_STORE must be sqlite or postgres, not "${named}"`);

export const isOverPostgres = named === 'postgres';

/** Used by every test installation: a service over PostgreSQL has no file with a secret. */
const SECRET = Buffer.alloc(32, 'turnpike').toString('base64');

const HOLDS_MS_MAX = 20_000;

type NodeDatabase = Awaited<ReturnType<TestPostgres['newNodeDatabase']>>;

const databases = new Map<string, Promise<NodeDatabase>>();

/** Environment variables by which a service on this data directory, and its commands, find their store. */
export async function storeVariables(dataDirectory: string): Promise<Record<string, string>> {
  if (!isOverPostgres) return {};
  if (!databases.has(dataDirectory)) {
    await dropAbandoned();
    databases.set(dataDirectory, makeDatabase());
  }
  const { nodeUrl } = await (databases.get(dataDirectory) as Promise<NodeDatabase>);
  const files = join(dataDirectory, 'files'); // as with SQLite
  return { TURNPIKE_DATABASE_URL: nodeUrl, TURNPIKE_SECRET: SECRET, TURNPIKE_FILES: files };
}

/** The database of a data directory under the role that owns its tables; null over SQLite. */
export async function ownerUrl(dataDirectory: string): Promise<string | null> {
  await storeVariables(dataDirectory);
  return (await databases.get(dataDirectory))?.url ?? null;
}

/** Preloads of a service process: over PostgreSQL, shorter leases, so that holds of a killed service end soon. */
export function storeFlags({ TURNPIKE_DATABASE_URL }: Record<string, string>): string[] {
  return TURNPIKE_DATABASE_URL === undefined ? [] : ['--preload', join(import.meta.dir, 'short-leases.ts')];
}

/**
 * Number of holds that a check reports right after a restart from a kill: none over SQLite; unknown over PostgreSQL,
 * where they end with the lease (`untilHoldsEnd`).
 */
export const endedAtStart: { open_holds?: number } = isOverPostgres ? {} : { open_holds: 0 };

/** Waits until there are no holds. Resolves to the last check. */
export async function untilHoldsEnd<Report extends { open_holds: number }>({
  check,
}: {
  check(): Promise<Report>;
}): Promise<Report> {
  for (const endMs = Date.now() + HOLDS_MS_MAX; ; await Bun.sleep(100)) {
    const report = await check();
    if (report.open_holds === 0) return report;
    if (Date.now() > endMs) throw new Error('there are still holds');
  }
}

/** Runs a query that both databases support on the store of a data directory; its service may run. */
export async function readRows<Row>(dataDirectory: string, text: string): Promise<Row[]> {
  const url = await ownerUrl(dataDirectory);
  if (url !== null) return (await runOn(url, text)) as Row[];
  const database = openForReading(databasePath(dataDirectory));
  try {
    return database.query(text).all() as Row[];
  } finally {
    database.close();
  }
}

async function makeDatabase(): Promise<NodeDatabase> {
  return (await sharedPostgres()).newNodeDatabase();
}

/** The database is dropped when the test removes its data directory. */
async function dropAbandoned(): Promise<void> {
  for (const [directory, database] of databases) {
    if (existsSync(directory)) continue;
    databases.delete(directory);
    await (await database)[Symbol.asyncDispose]();
  }
}
