// Brings the tables up to date without serving. With PostgreSQL it runs under the role that owns them, while nodes run under another
// role; with SQLite the service must be stopped.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { MigrationReport } from '../commands/commands.ts';
import type { Config } from '../config/config.ts';
import * as postgres from '../storage/postgres/postgres.ts';
import * as sqlite from '../storage/sqlite/sqlite.ts';
import type { SignInDatabase } from '../storage/storage.ts';

/** `say` is called with the progress. Throws an error for the operator. */
export async function migrate(
  config: Config,
  role: string | null,
  say: (line: string) => void,
): Promise<MigrationReport> {
  const { databaseUrl, databaseWaitSeconds } = config;
  if (databaseUrl === null) return await migrateFile(resolve(config.dataDirectory));
  return await postgres.awaitDatabase(
    databaseWaitSeconds,
    () => migrateServer(databaseUrl, role),
    (failure) => say(`${(failure as Error).message}; waiting for up to ${databaseWaitSeconds} seconds`),
  );
}

/** Each step can be repeated. */
async function migrateServer(url: string, role: string | null): Promise<MigrationReport> {
  const database = postgres.nameDatabase(url);
  try {
    await postgres.refuseLending(url);
    const before = await postgres.migrateDatabase(url);
    await migrateSignIn(await postgres.openSignIn(url));
    if (role !== null) await postgres.grantRole(url, role);
    const { stored } = await postgres.readTablesVersion(url);
    return { database, version_before: before === 0 ? null : before, version: stored, granted_to: role };
  } catch (cause) {
    const { words } = postgres.describeDatabaseFailure(cause, url);
    throw new Error(`the database ${database} (TURNPIKE_DATABASE_URL or --database) cannot be migrated: ${words}`, {
      cause,
    });
  }
}

async function migrateFile(directory: string): Promise<MigrationReport> {
  const path = sqlite.databasePath(directory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}: the first start of the service creates it`);
  const lock = sqlite.lockDirectory(directory);
  try {
    const { stored, known } = sqlite.readStoredVersion(path);
    sqlite.closeForWriting(sqlite.openForWriting(path));
    const signInPath = sqlite.signInPath(directory);
    if (existsSync(signInPath)) await migrateSignIn(sqlite.openSignIn(signInPath));
    return { database: `file ${path}`, version_before: stored, version: known, granted_to: null };
  } catch (cause) {
    throw new Error(`the database ${path} cannot be migrated: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  } finally {
    lock.close();
  }
}

/** The library of sign-ins is loaded only here. */
async function migrateSignIn(database: SignInDatabase): Promise<void> {
  try {
    await (await import('../auth/auth.ts')).migrateSignIn(database);
  } finally {
    await database.close();
  }
}
