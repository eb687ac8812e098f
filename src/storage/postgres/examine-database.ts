// Reads the state of the tables in a PostgreSQL database for the doctor. It returns facts only, without judging
// them.

import type { SQL } from 'bun';
import { integerOf } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';
import { connectionLimits, settingsOf } from './connection.ts';
import { describeLending } from './failure-words.ts';
import { readVersion, type TablesVersion } from './open-database.ts';
import { answerIn, openClient, READ_SETTINGS, type Reader, readSnapshot } from './read-pool.ts';
import { type RoleState, readRole, requireRights, tableNames } from './roles.ts';

/** The state of the installation's tables. */
export interface TablesState {
  version: TablesVersion;
  bytes: number;
  missing: string[];
  /** Triggers on the journal and the audit log that are missing or disabled. */
  guardsOff: string[];
  /** Nodes whose lease has not expired. */
  nodesAlive: number;
  /** The role that reads this. null without tables. */
  role: RoleState | null;
}

/** Triggers that keep rows from being changed. */
const GUARDS = [
  'entries_are_never_updated',
  'entries_are_never_deleted',
  'entries_are_never_truncated',
  'audit_is_never_updated',
  'audit_is_never_deleted',
] as const;

/** The tables and triggers that must exist. */
export const expected = { tables: tableNames, guards: GUARDS };

const listed = (names: readonly string[]) => `(VALUES ${names.map((name) => `('${name}')`).join(', ')})`;

const MISSING = `SELECT t.name FROM ${listed(tableNames)} t (name) WHERE to_regclass(t.name) IS NULL`;
const GUARDS_OFF = `
  SELECT g.name FROM ${listed(GUARDS)} g (name) WHERE NOT EXISTS (
    SELECT 1 FROM pg_trigger t WHERE t.tgname = g.name AND t.tgenabled IN ('O', 'A')
      AND t.tgrelid IN (to_regclass('entries'), to_regclass('audit_records')))`;
const BYTES = 'SELECT pg_database_size(current_database())::float8 AS bytes';
const NODES_ALIVE =
  'SELECT count(*)::int AS alive FROM leases WHERE expires_at_ms > extract(epoch FROM clock_timestamp()) * 1000';

/** Throws the driver's error, or one for the operator if this role may not read what is needed here. */
export function examineTables(url: string): Promise<TablesState> {
  return readSnapshot(url, readTables, bounds.doctorAnswerWaitMs);
}

async function readTables(reader: Reader): Promise<TablesState> {
  const names = async (text: string) => (await reader.read<{ name: string }>(text)).map(({ name }) => name);
  const role = await readRole(reader);
  const missing = await names(MISSING);
  const isRefused = (table: string) => !missing.includes(table) && role?.missing.includes(`SELECT on ${table}`);
  if (role !== null && ['schema_versions', 'leases'].some(isRefused)) requireRights(role);
  const version = await readVersion(reader);
  const isHere = (...tables: string[]) => tables.every((table) => !missing.includes(table));
  const [size] = await reader.read<{ bytes: number }>(BYTES);
  const [nodes] = isHere('leases') ? await reader.read<{ alive: number }>(NODES_ALIVE) : [];
  return {
    version,
    bytes: size?.bytes ?? 0,
    missing,
    guardsOff: isHere('entries', 'audit_records') ? await names(GUARDS_OFF) : [],
    nodesAlive: nodes?.alive ?? 0,
    role,
  };
}

/** The server as seen by a session without a node's settings. */
export interface ServerState {
  /** Such as 150018. */
  version: number;
  nowMs: number;
  /** "on" or "off". */
  fsync: string;
}

const SERVER = `
  SELECT current_setting('server_version_num')::int AS version, current_setting('fsync') AS fsync,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms`;

/** Throws the driver's error. */
export function examineServer(url: string): Promise<ServerState> {
  return withSession(url, {}, async (ask) => {
    const [row = {}] = await ask(SERVER);
    return { version: integerOf(row['version']), nowMs: integerOf(row['now_ms']), fsync: String(row['fsync']) };
  });
}

/** The pool mode of a pooler that nodes cannot use. */
type Lending = 'transaction' | 'statement';

/** Throws an error that names the setting if nodes cannot use the pooler at `url`; otherwise the driver's error. */
export async function refuseLending(url: string): Promise<void> {
  const lending = await findLending(url);
  if (lending !== null) throw new Error(describeLending(lending));
}

/** Like `refuseLending`, also if the node's session settings are refused. */
export async function refusePooler(url: string): Promise<void> {
  await refuseLending(url);
  await withSession(url, { ...READ_SETTINGS, ...settingsOf(connectionLimits) }, (ask) => ask('SELECT 1'));
}

const BACKEND = 'SELECT pg_backend_pid() AS pid';

/**
 * A session of its own has one server process for as long as it lasts, and no other session has that. A pooler that lends connections
 * has others take turns at it: at once where another session holds one in a transaction, or from one statement to the next. No
 * settings are given, since a pooler may refuse them.
 */
function findLending(url: string): Promise<Lending | null> {
  return withSession(url, {}, (askOne) =>
    withSession(url, {}, async (askOther) => {
      const pidOf = async (ask: Ask) => (await ask(BACKEND))[0]?.['pid'];
      const mine = [await pidOf(askOne), await pidOf(askOne)];
      const refusal = await askOther('BEGIN').then(() => null, asStatementPooling);
      if (refusal !== null) return refusal;
      const others = await pidOf(askOther);
      if (mine.includes(others)) return 'transaction';
      mine.push(await pidOf(askOne));
      return new Set(mine).size > 1 ? 'transaction' : null;
    }),
  );
}

/** PgBouncer refuses BEGIN in this mode. Throws any other failure. */
function asStatementPooling(failure: unknown): Lending {
  if (/statement pooling/.test(String((failure as Error).message))) return 'statement';
  throw failure;
}

type Ask = (text: string) => Promise<Record<string, unknown>[]>;

async function withSession<Value>(
  url: string,
  settings: Readonly<Record<string, string | number>>,
  use: (ask: Ask) => Promise<Value>,
): Promise<Value> {
  const client: SQL = openClient(url, { application_name: 'turnpike doctor', ...settings });
  try {
    const session = await answerIn(bounds.doctorAnswerWaitMs, client.reserve());
    return await use(async (text) => [...(await answerIn(bounds.doctorAnswerWaitMs, session.unsafe(text).simple()))]);
  } finally {
    await client.close({ timeout: 0 });
  }
}
