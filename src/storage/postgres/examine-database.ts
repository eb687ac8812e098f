// What the doctor asks a database of PostgreSQL with tables in it: which there are, months, nodes, who is connected, and what
// keeps the server from cleaning up. Facts alone; what they mean is judged elsewhere.

import { bounds } from '../../config.ts';
import { keptSinceNames } from '../../ledger/ledger.ts';
import type { Reader } from './read-pool.ts';
import { readSnapshot } from './read-snapshot.ts';
import { readVersion, type TablesVersion } from './stored-version.ts';
import { LIST_MONTHS } from './usage-partitions.ts';

/** What there is of the installation's tables. */
export interface TablesState {
  version: TablesVersion;
  bytes: number;
  missing: string[];
  /** Guards of the journal and the audit that are gone or switched off. */
  guardsOff: string[];
  /** Tables that months are made for, and which are not of this role. */
  isOwner: boolean;
  /** Other schemas of the database with tables of this service. */
  otherSchemas: string[];
  /** As 202611. */
  months: number[];
  /** From when on usage is kept; null: all of it. */
  usageKeptSinceMs: number | null;
  nodes: NodesState;
}

/** Whose leases stand, and what those left open whose leases lapsed. */
export interface NodesState {
  alive: number;
  /** The holds of nodes whose lease lapsed longer ago than it takes to end them. */
  holdsLeft: number;
  holdsOpen: number;
}

/** Who else is at the server, and what of that keeps rows or log that nobody needs. */
export interface ActivityState {
  /** Connections of other programs: to the server, and to this database. */
  others: { server: number; database: number };
  longTransactions: { pid: number; application: string; seconds: number; isIdle: boolean }[];
  preparedTransactions: { name: string; seconds: number }[];
  idleSlots: string[];
  /** Standbys that are connected, and those of them that commits wait for; null where this role is not told. */
  standbys: { all: number; synchronous: number | null };
  /** The archiver's last try failed. */
  isArchivingFailing: boolean;
  deadRows: { table: string; dead: number; live: number }[];
  /** Tables whose own settings keep the vacuum away. */
  notVacuumed: string[];
  /** The oldest, of transactions and of groups of them. */
  transactionAge: number;
}

const TABLES = [
  'account_meters',
  'accounts',
  'answers',
  'answers_stored',
  'audit_records',
  'carried_credits',
  'carried_entries',
  'catalog',
  'change_epoch',
  'changes',
  'claims',
  'creations',
  'daily_totals',
  'entries',
  'holds',
  'installation',
  'key_meters',
  'key_secrets',
  'keys',
  'learned',
  'leases',
  'month_changes',
  'people',
  'schema_versions',
  'tokens',
  'usage_records',
] as const;

/** Without them what must never happen could. */
const GUARDS = [
  'entries_are_never_updated',
  'entries_are_never_deleted',
  'entries_are_never_truncated',
  'audit_is_never_updated',
  'audit_is_never_deleted',
] as const;

/** Tables and guards that must be there. */
export const expected = { tables: TABLES, guards: GUARDS };

const listed = (names: readonly string[]) => `(VALUES ${names.map((name) => `('${name}')`).join(', ')})`;

const MISSING = `SELECT t.name FROM ${listed(TABLES)} t (name) WHERE to_regclass(t.name) IS NULL`;
const GUARDS_OFF = `
  SELECT g.name FROM ${listed(GUARDS)} g (name) WHERE NOT EXISTS (
    SELECT 1 FROM pg_trigger t WHERE t.tgname = g.name AND t.tgenabled IN ('O', 'A')
      AND t.tgrelid IN (to_regclass('entries'), to_regclass('audit_records')))`;
const OWNED = `
  SELECT pg_has_role(c.relowner, 'USAGE') AS is_owner, pg_database_size(current_database())::float8 AS bytes
  FROM pg_class c WHERE c.oid = to_regclass('usage_records')`;
const OTHER_SCHEMAS = `
  SELECT n.nspname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = 'schema_versions' AND c.oid IS DISTINCT FROM to_regclass('schema_versions')
    AND EXISTS (SELECT 1 FROM pg_class m WHERE m.relnamespace = c.relnamespace AND m.relname = 'account_meters')`;
const KEPT_SINCE = `SELECT value FROM installation WHERE name = '${keptSinceNames.usage}'`;
// A lease that lapsed is marked by whoever ends what its node left: then its epoch is another one than that of its holds.
const NODES = `
  WITH now AS (SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms)
  SELECT (SELECT count(*) FROM leases l, now WHERE l.expires_at_ms > now.ms)::int AS alive,
    (SELECT count(*) FROM holds h)::int AS holds_open,
    (SELECT count(*) FROM holds h, now WHERE NOT EXISTS (
      SELECT 1 FROM leases l WHERE l.node = h.node AND l.epoch = h.epoch AND l.expires_at_ms > now.ms - ${2 * bounds.leaseMs}
    ))::int AS holds_left`;

/** Throws what the driver throws, and for tables that this role may not read. */
export function examineTables(url: string): Promise<TablesState> {
  return readSnapshot(url, readTables, bounds.doctorAnswerWaitMs);
}

async function readTables(reader: Reader): Promise<TablesState> {
  const names = async (text: string) => (await reader.read<{ name: string }>(text)).map(({ name }) => name);
  const version = await readVersion(reader);
  const missing = await names(MISSING);
  const isHere = (...tables: string[]) => tables.every((table) => !missing.includes(table));
  const [owned] = await reader.read<{ is_owner: boolean; bytes: number }>(OWNED);
  const [kept] = isHere('installation') ? await reader.read<{ value: string }>(KEPT_SINCE) : [];
  const [nodes] = isHere('leases', 'holds') ? await reader.read<Record<string, number>>(NODES) : [];
  const months = isHere('usage_records') ? await reader.read<{ month: number }>(LIST_MONTHS) : [];
  return {
    version,
    bytes: owned?.bytes ?? 0,
    missing,
    guardsOff: isHere('entries', 'audit_records') ? await names(GUARDS_OFF) : [],
    isOwner: owned?.is_owner ?? false,
    otherSchemas: await names(OTHER_SCHEMAS),
    months: months.map(({ month }) => month),
    usageKeptSinceMs: kept === undefined ? null : Number(kept.value),
    nodes: {
      alive: nodes?.['alive'] ?? 0,
      holdsLeft: nodes?.['holds_left'] ?? 0,
      holdsOpen: nodes?.['holds_open'] ?? 0,
    },
  };
}

const OTHERS = `
  SELECT count(*)::int AS server, count(*) FILTER (WHERE datname = current_database())::int AS database
  FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name NOT LIKE 'turnpike%'`;
// A check of all rows may take an hour: it is bounded by itself.
const LONG_TRANSACTIONS = `
  SELECT pid, application_name AS application, extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds,
    coalesce(state LIKE 'idle in transaction%', false) AS "isIdle"
  FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    AND application_name <> 'turnpike check' AND xact_start < clock_timestamp() - $1::float8 * interval '1 ms'
  ORDER BY xact_start LIMIT $2`;
const PREPARED = `
  SELECT gid AS name, extract(epoch FROM clock_timestamp() - prepared)::float8 AS seconds FROM pg_prepared_xacts
  WHERE prepared < clock_timestamp() - $1::float8 * interval '1 ms' ORDER BY prepared LIMIT $2`;
const IDLE_SLOTS = `SELECT slot_name::text AS name FROM pg_replication_slots WHERE NOT active ORDER BY 1 LIMIT $1`;
const STANDBYS = `
  SELECT count(*)::int AS "all", CASE WHEN bool_or(sync_state IS NULL) THEN NULL
    ELSE count(*) FILTER (WHERE sync_state IN ('sync', 'quorum'))::int END AS synchronous
  FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'`;
const ARCHIVING = `
  SELECT last_failed_time IS NOT NULL AND last_failed_time > coalesce(last_archived_time, '-infinity') AS is_failing
  FROM pg_stat_archiver`;
const DEAD_ROWS = `
  SELECT relname::text AS table, n_dead_tup::float8 AS dead, n_live_tup::float8 AS live FROM pg_stat_user_tables
  WHERE n_dead_tup >= $1::float8 AND n_dead_tup > n_live_tup AND relid IN (SELECT oid FROM pg_class
    WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('account_meters')))
  ORDER BY n_dead_tup DESC LIMIT $2`;
const NOT_VACUUMED = `
  SELECT relname::text AS name FROM pg_class WHERE relnamespace =
      (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('account_meters'))
    AND reloptions::text ~ 'autovacuum_enabled=(false|off|0|no)' ORDER BY 1 LIMIT $1`;
const AGE = `
  SELECT greatest(age(datfrozenxid), mxid_age(datminmxid))::float8 AS age FROM pg_database
  WHERE datname = current_database()`;

/** Throws what the driver throws. Of sessions of other roles only a superuser and members of pg_monitor see all. */
export function examineActivity(url: string, limits: ActivityLimits = bounds): Promise<ActivityState> {
  return readSnapshot(url, (reader) => readActivity(reader, limits), bounds.doctorAnswerWaitMs);
}

/** From when on a transaction is long, and dead rows are many. */
export type ActivityLimits = Readonly<Record<'longTransactionMs' | 'deadRowsMany', number>>;

async function readActivity({ read }: Reader, limits: ActivityLimits): Promise<ActivityState> {
  const most = bounds.doctorNamesMax;
  const long = limits.longTransactionMs;
  const names = async (text: string) => (await read<{ name: string }>(text, most)).map(({ name }) => name);
  const [others] = await read<ActivityState['others']>(OTHERS);
  const [standbys] = await read<ActivityState['standbys']>(STANDBYS);
  const [archiving] = await read<{ is_failing: boolean }>(ARCHIVING);
  const [age] = await read<{ age: number }>(AGE);
  return {
    others: others ?? { server: 0, database: 0 },
    longTransactions: await read(LONG_TRANSACTIONS, long, most),
    preparedTransactions: await read(PREPARED, long, most),
    idleSlots: await names(IDLE_SLOTS),
    standbys: standbys ?? { all: 0, synchronous: 0 },
    isArchivingFailing: archiving?.is_failing === true,
    deadRows: await read(DEAD_ROWS, limits.deadRowsMany, most),
    notVacuumed: await names(NOT_VACUUMED),
    transactionAge: age?.age ?? 0,
  };
}
