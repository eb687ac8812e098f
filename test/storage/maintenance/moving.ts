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
import { readRecorded } from '../stored-shapes/shapes.ts';
import { sharedInstallation } from './installation-to-move.ts';

/** A document as this program writes it, in SQL. */
const sampleOf = (table: string, column = 'document') =>
  `'${JSON.stringify(readRecorded()[table]?.[column]?.at(-1)?.samples[0]?.stored ?? null).replaceAll("'", "''")}'`;

/** Rows of the tables that the installation has none of. */
export const ROWS_OF_LATER_TABLES = `
  INSERT INTO directory_groups VALUES (1, 'engineers', 'oidc', 1, ${sampleOf('directory_groups')});
  INSERT INTO scim_users VALUES (1, 'ada', 'ada@example.com', NULL, NULL, 1, ${sampleOf('scim_users')});
  INSERT INTO scim_groups VALUES (1, 'engineers', NULL, 1, ${sampleOf('scim_groups')});
  INSERT INTO unit_totals VALUES (0, 1, 1, 'm', '', '', 0, 0, 'images', 2, 3);
  INSERT INTO tag_sets VALUES (1, 2, 3, ${sampleOf('tag_sets', 'tags')});
  INSERT INTO exports VALUES (1, NULL, 1, 'enabled', 1, 1, ${sampleOf('exports')});
  INSERT INTO export_runs VALUES (1, 1, 'done', NULL, 1, ${sampleOf('export_runs')});
  INSERT INTO provider_bill_sources VALUES ('anthropic', ${sampleOf('provider_bill_sources')});
  INSERT INTO provider_bills VALUES ('anthropic', 1, ${sampleOf('provider_bills')}, ${sampleOf('provider_bills', 'models')});
  INSERT INTO incidents (name, began_at_ms, seen_at_ms, document) VALUES ('backup', 1, 1, ${sampleOf('incidents')});
  INSERT INTO files VALUES (1, 1, 1, 1, NULL, 'stored', 1, NULL, 1, 'a.txt', 'text/plain', 'user_data', 'sealed');
  INSERT INTO batches VALUES (1, 1, 1, 1, 'messages', 'running', 1, 1, ${sampleOf('batches')});
  INSERT INTO batch_parts VALUES (1, 0, 'running', ${sampleOf('batch_parts')});
  INSERT INTO batch_results VALUES (1, 0, 'succeeded', 'sealed', 5);
  INSERT INTO person_meters VALUES (1, 1, 1, 0, ${sampleOf('person_meters', 'windows')}, '[]');
  INSERT INTO scim_members VALUES (1, 1);
  INSERT INTO agent_grants VALUES (1, 1, 1, 1, 'codex', 'active', 1, 'x', '127.0.0.1', 1, 1, 1);
  INSERT INTO agent_keys VALUES (1, 'codex', 1);
  INSERT INTO saved_views VALUES (1, 0, 'person_000000001', '/usage', 'x', 'range=7d', 1, 1);
  INSERT INTO device_codes VALUES ('x', 'x', 'codex', 'pending', '127.0.0.1', 1, 1, NULL);`;

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
  copying: 'CREATE TRIGGER wait_here BEFORE INSERT ON grouped_totals FOR EACH STATEMENT EXECUTE FUNCTION wait_here()',
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
