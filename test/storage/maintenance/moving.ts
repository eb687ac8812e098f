// Helpers for tests of moves: copies of one installation, target databases, and a way to pause a move midway.

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import type { MoveReport } from '../../../src/commands/commands.ts';
import { movedTables } from '../../../src/storage/move.ts';
import { databasePath, readMoveMark } from '../../../src/storage/sqlite/sqlite.ts';
import { type RanProcess, runTurnpike } from '../../support/run-turnpike.ts';
import { runOn, sharedPostgres, type TestDatabase } from '../../support/start-postgres.ts';
import { sharedInstallation } from './installation-to-move.ts';

const WAIT_MS_MAX = 20_000;

/** The stopped installation, in a directory of its own. */
export async function copyOfIt(): Promise<{ directory: string } & Disposable> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-moved-'));
  cpSync((await sharedInstallation()).directory, directory, { recursive: true });
  return { directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

export async function newDatabase(): Promise<TestDatabase> {
  return (await sharedPostgres()).newDatabase();
}

export function moveWords(directory: string, url: string): string[] {
  return ['move', '--from', directory, '--to', url, '--json'];
}

/** Runs a move that must succeed. */
export async function move(directory: string, url: string): Promise<MoveReport> {
  const { exitCode, out, error } = await runTurnpike(moveWords(directory, url));
  if (exitCode !== 0) throw new Error(error);
  return JSON.parse(out) as MoveReport;
}

/** Tries to serve the data directory, which must be refused. */
export function serve(directory: string): Promise<RanProcess> {
  return runTurnpike(['serve', '--listen', '127.0.0.1:0', '--data', directory]);
}

/** Row counts by table. */
export async function rowsIn(url: string): Promise<Record<string, number>> {
  const counts = movedTables.map((table) => `(SELECT COUNT(*) FROM ${table})::int AS ${table}`);
  const [row] = await runOn(url, `SELECT ${counts.join()}`);
  return { ...row } as Record<string, number>;
}

export async function isEmpty(url: string): Promise<boolean> {
  return Object.values(await rowsIn(url)).every((count) => count === 0);
}

export function isMarked(directory: string): boolean {
  return readMoveMark(databasePath(directory)) !== null;
}

/** A move that is paused midway. */
export interface Held extends AsyncDisposable {
  /** Resolves to the server process that works for it. */
  reached(): Promise<number>;
  /** Lets it continue. */
  release(): Promise<void>;
}

const HOLD = 99;
const WAITING = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${HOLD} AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

const TRIGGERS = {
  copying: 'CREATE TRIGGER wait_here BEFORE INSERT ON daily_totals FOR EACH STATEMENT EXECUTE FUNCTION wait_here()',
  commit: `CREATE CONSTRAINT TRIGGER wait_here AFTER INSERT ON learned DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION wait_here()`,
} as const;

/** Makes moves to this database wait after half of the copy, or at the commit. */
export async function holdMoves(url: string, where: keyof typeof TRIGGERS): Promise<Held> {
  await runOn(
    url,
    `CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS
     $$ BEGIN PERFORM pg_advisory_xact_lock(${HOLD}); RETURN NULL; END $$; ${TRIGGERS[where]}`,
  );
  const holder = new SQL({ url, max: 1 });
  await holder.unsafe(`SELECT pg_advisory_lock(${HOLD})`);
  const release = () => holder.close({ timeout: 0 });
  return {
    release,
    reached: () => until(async () => (await runOn(url, WAITING))[0]?.['pid'] as number | undefined),
    [Symbol.asyncDispose]: release,
  };
}

const AT_THE_DOOR = `SELECT 1 FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'turnpike migrations' AND wait_event = 'advisory'`;

/** Resolves when a process waits to create the tables. */
export async function atTheDoor(url: string): Promise<void> {
  await until(async () => (await runOn(url, AT_THE_DOOR))[0]);
}

/** Polls until there is a value. */
export async function until<Value>(find: () => Promise<Value | undefined>): Promise<Value> {
  for (const endMs = Date.now() + WAIT_MS_MAX; Date.now() < endMs; await Bun.sleep(20)) {
    const found = await find();
    if (found !== undefined) return found;
  }
  throw new Error('it did not come to be');
}
