// Copies of the kept states. STATES must not be states/ itself.

import { Database } from 'bun:sqlite';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { $ } from 'bun';
import { runOn, type TestPostgres } from '../../support/start-postgres.ts';
import type { State } from './state-upstream.ts';

/** The states of this repository; otherwise just made ones. */
export const isKept = process.env['STATES'] === undefined;
const directory = process.env['STATES'] ?? join(import.meta.dir, 'states');

/** Such as version-16 and version-16-postgres. */
export const stateNames = readdirSync(directory)
  .filter((name) => name.endsWith('-facts.gz'))
  .map((name) => name.replace('-facts.gz', ''))
  .sort();

export function isOfPostgres(name: string): boolean {
  return name.endsWith('-postgres');
}

export function readState(name: string): State {
  return JSON.parse(gunzipSync(readFileSync(join(directory, `${name}-facts.gz`))).toString()) as State;
}

/** A new directory with the files of a state on SQLite. The caller removes it. */
export async function unpackState(name: string): Promise<string> {
  const data = mkdtempSync(join(tmpdir(), 'turnpike-state-'));
  await $`tar -C ${data} -xzf ${join(directory, `${name}.tgz`)}`;
  return data;
}

/** The variables that name the files beside a state on PostgreSQL, which are copied into `data`. */
export async function unpackFiles(name: string, data: string): Promise<Record<string, string>> {
  const packed = join(directory, `${name}-files.tgz`);
  if (!existsSync(packed)) return {};
  await $`tar -C ${data} -xzf ${packed}`;
  return { TURNPIKE_FILES: join(data, 'files') };
}

/** A copy, and the variables with which a service finds it. */
export interface Opened {
  data: string;
  environment: Record<string, string>;
}

/** Runs a statement while no service does. Returns its rows. */
export async function runOnCopy({ data, environment }: Opened, statement: string): Promise<Record<string, unknown>[]> {
  const { TURNPIKE_DATABASE_URL: url } = environment;
  if (url !== undefined) return runOn(url, statement);
  using database = new Database(join(data, 'turnpike.db'));
  return database.query<Record<string, unknown>, []>(statement).all();
}

/** Replaces a text in the documents of a table. */
export async function replaceText(copy: Opened, table: string, from: string, to: string): Promise<void> {
  await runOnCopy(copy, `UPDATE ${table} SET document = replace(document, '${from}', '${to}')`);
}

/** A new database with the rows of a state on PostgreSQL. Returns its URL. */
export async function loadState(postgres: TestPostgres, name: string, database: string): Promise<string> {
  await runOn(postgres.url, `CREATE DATABASE ${database} TEMPLATE template0 ENCODING 'UTF8'`);
  const url = databaseUrl(postgres, database);
  await runOn(url, gunzipSync(readFileSync(join(directory, `${name}.gz`))).toString());
  return url;
}

export function databaseUrl(postgres: TestPostgres, database: string): string {
  const url = new URL(postgres.url);
  url.pathname = `/${database}`;
  return url.href;
}
