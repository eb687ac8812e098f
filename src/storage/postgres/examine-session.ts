// What the doctor asks a server of PostgreSQL before it asks for tables: what it is, how it is set, and what comes of a session
// that a node has. Statements go by the simple protocol, which also a pooler takes that nodes could not work through.

import type { SQL } from 'bun';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config.ts';
import { connectionLimits, settingsOf } from './connection.ts';
import { openClient } from './read-pool.ts';

/** What a server is, as a session sees it to which no node gave settings. */
export interface ServerState {
  /** Such as 150018. */
  version: number;
  nowMs: number;
  /** How long it took to ask for that time. */
  roundTripMs: number;
  /** This machine's time, when the server's was read, as nearly as can be told. */
  askedAtMs: number;
  isStandby: boolean;
  encoding: string;
  /** By their names, as `SHOW` has them. */
  settings: Readonly<Record<string, string>>;
  isEncrypted: boolean;
  /** Null over a socket of the machine. */
  serverAddress: string | null;
  isSuperuser: boolean;
  /** -1: no limit of its own. */
  roleConnectionsMax: number;
  databaseConnectionsMax: number;
  schema: string | null;
  mayMakeTables: boolean;
}

/** What comes of a node's session. */
export interface SessionState {
  /** Two sessions had one connection to the server between them, or one had two. */
  isShared: boolean;
  /** What a node sets for its sessions, and did not find set. */
  settingsLost: string[];
}

const SETTINGS = [
  'archive_command',
  'archive_library',
  'archive_mode',
  'autovacuum',
  'default_transaction_read_only',
  'fsync',
  'full_page_writes',
  'idle_session_timeout',
  'max_connections',
  'reserved_connections',
  'session_replication_role',
  'statement_timeout',
  'superuser_reserved_connections',
  'synchronous_standby_names',
  'track_counts',
  'transaction_timeout',
];

const SERVER = `
  SELECT current_setting('server_version_num')::int AS version,
    (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms, pg_is_in_recovery() AS is_standby,
    current_setting('server_encoding') AS encoding,
    (SELECT json_object_agg(name, current_setting(name)) FROM pg_settings
      WHERE name IN (${SETTINGS.map((name) => `'${name}'`).join(', ')}))::text AS settings,
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted,
    host(inet_server_addr()) AS server_address, r.rolsuper AS is_superuser, r.rolconnlimit AS role_connections_max,
    d.datconnlimit AS database_connections_max, current_schema()::text AS schema,
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_make_tables
  FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()`;

/** Throws what the driver throws. */
export function examineServer(url: string): Promise<ServerState> {
  return withSession(url, {}, async (ask) => {
    await ask('SELECT 1'); // what a first statement takes longer is no difference of clocks
    const askedAtMs = Date.now();
    const startedAt = performance.now();
    const [row = {}] = await ask(SERVER);
    const roundTripMs = performance.now() - startedAt;
    return describeServer(row, askedAtMs + roundTripMs / 2, roundTripMs);
  });
}

function describeServer(row: Record<string, unknown>, askedAtMs: number, roundTripMs: number): ServerState {
  return {
    version: Number(row['version']),
    nowMs: Number(row['now_ms']),
    roundTripMs,
    askedAtMs,
    isStandby: row['is_standby'] === true,
    encoding: String(row['encoding']),
    settings: JSON.parse(String(row['settings'])),
    isEncrypted: row['is_encrypted'] === true,
    serverAddress: row['server_address'] === null ? null : String(row['server_address']),
    isSuperuser: row['is_superuser'] === true,
    roleConnectionsMax: Number(row['role_connections_max']),
    databaseConnectionsMax: Number(row['database_connections_max']),
    schema: row['schema'] === null ? null : String(row['schema']),
    mayMakeTables: row['may_make_tables'] === true,
  };
}

const BACKEND = 'SELECT pg_backend_pid() AS pid';

/**
 * Has two sessions as nodes have them. While the one is in a transaction, a pooler that lends connections for transactions alone has to
 * give the other one another. Throws what the driver throws.
 */
export function examineSessions(url: string): Promise<SessionState> {
  const settings = settingsOf(connectionLimits);
  return withSession(url, settings, (askOne) =>
    withSession(url, settings, async (askOther) => {
      const pidOf = async (ask: Ask) => (await ask(BACKEND))[0]?.['pid'];
      const before = await pidOf(askOne);
      await askOther('BEGIN');
      const between = await pidOf(askOther);
      // Where the pooler has no other connection, it does not answer.
      const after = await pidOf(askOne).catch(() => null);
      await askOther('ROLLBACK');
      return {
        isShared: before !== after || before === between,
        settingsLost: after === null ? [] : await findLostSettings(askOne, settings),
      };
    }),
  );
}

// Poolers may add to the name; the limit is none of a socket of the machine.
const OFTEN_OTHER = ['application_name', 'tcp_user_timeout'];

async function findLostSettings(ask: Ask, settings: Readonly<Record<string, string | number>>): Promise<string[]> {
  const names = Object.keys(settings).filter((name) => !OFTEN_OTHER.includes(name));
  const rows = await ask(
    `SELECT name, setting FROM pg_settings WHERE name IN (${names.map((name) => `'${name}'`).join(', ')})`,
  );
  const found = new Map(rows.map(({ name, setting }) => [String(name), String(setting)]));
  return names.filter((name) => found.has(name) && found.get(name) !== String(settings[name]));
}

type Ask = (text: string) => Promise<Record<string, unknown>[]>;

async function withSession<Value>(
  url: string,
  settings: Readonly<Record<string, string | number>>,
  use: (ask: Ask) => Promise<Value>,
): Promise<Value> {
  const client: SQL = openClient(url, { application_name: 'turnpike doctor', ...settings });
  const late = () => new Error('the database does not answer');
  try {
    const session = await within(machineTimers, bounds.doctorAnswerWaitMs, client.reserve(), late);
    return await use(async (text) => [
      ...(await within(machineTimers, bounds.doctorAnswerWaitMs, session.unsafe(text).simple(), late)),
    ]);
  } finally {
    await client.close({ timeout: 0 });
  }
}
