// The rights of a node's role: what nodes need on the tables that `turnpike migrate` makes, and no more. The journal and the audit log
// take rows only; functions, which run as the owner, do what needs an owner.

import { bounds } from '../../config/config.ts';
import type { Reader } from './read-pool.ts';

/** The rights on the tables, by their names. */
const ROW_RIGHTS: readonly (readonly [rights: string, tables: string])[] = [
  ['', 'carried_entries'],
  [
    'SELECT',
    'account_totals carried_credits key_four_weeks key_totals key_weeks model_totals model_unit_totals rolled_days rolled_spans schema_versions tag_totals tag_value_totals ' +
      'total_four_weeks total_weeks unit_four_weeks unit_weeks untagged_four_weeks untagged_totals untagged_weeks',
  ],
  ['SELECT, INSERT', 'audit_records entries sign_ups tag_sets'],
  ['SELECT, UPDATE', 'answers_stored change_epoch'],
  ['SELECT, INSERT, DELETE', 'changes mailed_links payment_events'],
  [
    'SELECT, INSERT, UPDATE',
    'account_meters accounts agent_keys answer_shares attributed_totals billing code_batches codes daily_totals destinations directory_groups ' +
      'export_runs exports grouped_totals installation key_meters keys learned month_changes payments people person_meters provider_bill_sources provider_bills tokens unit_totals',
  ],
  [
    'SELECT, INSERT, UPDATE, DELETE',
    'agent_grants answers batch_parts batch_results batches catalog claims creations deliveries device_codes events files holds incidents key_secrets leases mails refusals route_hours saved_views scim_groups ' +
      'scim_members scim_users usage_records',
  ],
];
const SIGN_IN_RIGHTS = 'SELECT, INSERT, UPDATE, DELETE';
const SIGN_IN_TABLES = ['account', 'guesses', 'session', 'twoFactor', 'user', 'verification'];
export const SIGN_IN_SCHEMA = 'sign_in';
const FUNCTIONS = ['carry_entries', 'drop_usage_month', 'make_usage_month', 'roll_up_day'];
const SEQUENCE = 'usage_records_seq';

/** All tables but those of sign-ins. */
export const tableNames = ROW_RIGHTS.flatMap(([, tables]) => tables.split(' ')).sort();

/** Rights with which rows can be changed. */
const CHANGING_RIGHTS = ['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER'];

interface Table {
  /** null: that of the other tables. */
  schema: string | null;
  name: string;
  rights: string[];
}

const tables: readonly Table[] = [
  ...ROW_RIGHTS.flatMap(([rights, names]) =>
    names.split(' ').map((name) => ({ schema: null, name, rights: rights === '' ? [] : rights.split(', ') })),
  ),
  ...SIGN_IN_TABLES.map((name) => ({ schema: SIGN_IN_SCHEMA, name, rights: SIGN_IN_RIGHTS.split(', ') })),
];

/** A role, as the tables' owner sees it. */
export interface RoleState {
  role: string;
  owner: string;
  /** The schema of the tables. */
  schema: string;
  /** It is the owner, may become it, or may do everything. */
  owns: boolean;
  /** Rights that a node lacks: "INSERT on entries". Empty if it owns the tables, like `excess`. */
  missing: string[];
  /** Rights that let it change what is to stay, or become another role: "DELETE on entries". */
  excess: string[];
}

/** null without tables that the session's role can see. Reads catalogs only. */
export async function readRole({ read }: Reader, role: string | null = null): Promise<RoleState | null> {
  const name = role === null ? 'current_user' : literal(role);
  const [found] = await read<RoleState>(`${HOME}
    SELECT r.rolname::text AS role, o.rolname::text AS owner, n.nspname::text AS schema,
      pg_has_role(r.oid, o.oid, 'MEMBER') AS owns
    FROM home JOIN pg_namespace n ON n.oid = home.oid JOIN pg_roles o ON o.oid = home.relowner JOIN pg_roles r ON r.rolname = ${name}`);
  if (found === undefined) return null;
  const listOf = async (text: string) => (await read<{ found: string }>(text)).map((row) => row.found);
  return {
    ...found,
    missing: found.owns ? [] : await listOf(missingText(name)),
    excess: found.owns ? [] : await listOf(excessText(name)),
  };
}

const HOME = `WITH home AS (
  SELECT c.relowner, c.relnamespace AS oid FROM pg_class c WHERE c.oid = to_regclass('schema_versions'))`;

/** By catalogs, because the name of an object in a schema without USAGE is an error. */
const RELATION = `SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = t.name AND CASE WHEN t.schema IS NULL THEN n.oid = (SELECT oid FROM home) ELSE n.nspname = t.schema END`;

function missingText(role: string): string {
  const wanted = valuesOf(({ rights }) => rights);
  return `${HOME}
    SELECT 'USAGE on the schema ' || n.nspname AS found FROM pg_namespace n
    WHERE (n.oid = (SELECT oid FROM home) OR n.nspname = '${SIGN_IN_SCHEMA}') AND NOT has_schema_privilege(${role}, n.oid, 'USAGE')
    UNION ALL
    SELECT t.wanted || ' on ' || concat_ws('.', t.schema, t.name) FROM ${wanted}
    WHERE NOT EXISTS (${RELATION} AND has_table_privilege(${role}, c.oid, t.wanted))
    UNION ALL
    SELECT 'USAGE on the sequence ' || t.name FROM (VALUES ('${SEQUENCE}', NULL)) t (name, schema)
    WHERE NOT EXISTS (${RELATION} AND CASE c.relkind WHEN 'S' THEN has_sequence_privilege(${role}, c.oid, 'USAGE') END)
    UNION ALL
    SELECT 'EXECUTE on the function ' || t.name FROM (VALUES ${FUNCTIONS.map((name) => `('${name}')`).join(', ')}) t (name)
    WHERE NOT EXISTS (SELECT 1 FROM pg_proc p WHERE p.proname = t.name AND p.pronamespace = (SELECT oid FROM home)
      AND has_function_privilege(${role}, p.oid, 'EXECUTE'))`;
}

function excessText(role: string): string {
  const others = valuesOf(({ rights }) => CHANGING_RIGHTS.filter((right) => !rights.includes(right)));
  return `${HOME}
    SELECT 'CREATE on the schema ' || n.nspname AS found FROM pg_namespace n
    WHERE (n.oid = (SELECT oid FROM home) OR n.nspname = '${SIGN_IN_SCHEMA}') AND has_schema_privilege(${role}, n.oid, 'CREATE')
    UNION ALL
    SELECT t.wanted || ' on ' || concat_ws('.', t.schema, t.name) FROM ${others}
    WHERE EXISTS (${RELATION} AND has_table_privilege(${role}, c.oid, t.wanted))
    UNION ALL
    SELECT 'the attribute CREATEROLE' FROM pg_roles r WHERE r.rolname = ${role} AND r.rolcreaterole
    UNION ALL
    SELECT 'membership in ' || r.rolname FROM pg_roles r
    WHERE r.rolname IN ('pg_execute_server_program', 'pg_write_server_files') AND pg_has_role(${role}, r.oid, 'MEMBER')`;
}

function valuesOf(rightsOf: (table: Table) => readonly string[]): string {
  const rows = tables.flatMap((table) =>
    rightsOf(table).map((right) => `(${nullable(table.schema)}, '${table.name}', '${right}')`),
  );
  return `(VALUES ${rows.join(', ')}) t (schema, name, wanted)`;
}

/**
 * Gives a role exactly the rights of a node, in one transaction, so that running nodes lose none meanwhile. Throws an error for the
 * operator if the role does not exist, or could still change what is to stay.
 */
export async function grantRights(session: Reader, role: string): Promise<void> {
  const before = await readRole(session, role);
  if (before === null)
    throw new Error(`there is no role ${quoted(role)}: create it with CREATE ROLE ${identifier(role)} LOGIN`);
  if (before.owns)
    throw new Error(
      `the role ${quoted(role)} is a superuser, or it owns the tables or may become their owner (${before.owner}): nodes need another role`,
    );
  await session.read('BEGIN');
  try {
    for (const text of grantTexts(identifier(role), before.schema)) await session.read(text);
    const { excess, missing } = (await readRole(session, role)) as RoleState;
    if (excess.length > 0)
      throw new Error(
        `the role ${quoted(role)} has more rights than a node needs, by PUBLIC, by another role or from somebody else: ${listed(excess)}. Nothing was granted; revoke them first${remedyOf(excess)}`,
      );
    if (missing.length > 0) throw new Error(`these rights could not be granted: ${listed(missing)}`);
    await session.read('COMMIT');
  } catch (failure) {
    await session.read('ROLLBACK');
    throw failure;
  }
}

function* grantTexts(role: string, schema: string): Generator<string> {
  const schemas = `${identifier(schema)}, ${SIGN_IN_SCHEMA}`;
  yield `REVOKE CREATE ON SCHEMA ${schemas} FROM ${role}`;
  yield `GRANT USAGE ON SCHEMA ${schemas} TO ${role}`;
  yield `REVOKE ALL ON ${tables.map(printTable).join(', ')} FROM ${role}`;
  for (const [rights, names] of ROW_RIGHTS)
    if (rights !== '') yield `GRANT ${rights} ON ${names.split(' ').join(', ')} TO ${role}`;
  yield `GRANT ${SIGN_IN_RIGHTS} ON ${tables
    .filter(({ schema }) => schema !== null)
    .map(printTable)
    .join(', ')} TO ${role}`;
  yield `GRANT USAGE ON SEQUENCE ${SEQUENCE} TO ${role}`;
  yield `GRANT EXECUTE ON FUNCTION ${FUNCTIONS.join(', ')} TO ${role}`;
}

const printTable = ({ schema, name }: Table) => (schema === null ? name : `${schema}.${identifier(name)}`);

/** PostgreSQL 14 lets everybody create objects in the schema public. */
function remedyOf(excess: readonly string[]): string {
  const created = excess.flatMap((right) => /^CREATE on the schema (.+)$/.exec(right)?.[1] ?? []);
  return created.length === 0 ? '' : ` (REVOKE CREATE ON SCHEMA ${created.join(', ')} FROM PUBLIC)`;
}

/** Throws an error for the operator if the node's role lacks rights. */
export function requireRights({ role, missing }: RoleState): void {
  if (missing.length > 0) throw new Error(describeMissing(role, missing));
}

export function describeMissing(role: string, missing: readonly string[]): string {
  return `the role ${quoted(role)} lacks ${listed(missing)}: run "turnpike migrate --grant ${role}" under the role that owns the tables`;
}

/** Bounded: a role without any right lacks a hundred. */
export function listed(rights: readonly string[]): string {
  const shown = rights.slice(0, bounds.rightsListedMax).join(', ');
  return rights.length > bounds.rightsListedMax ? `${shown} and ${rights.length - bounds.rightsListedMax} more` : shown;
}

export function quoted(role: string): string {
  return `"${role}"`;
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function nullable(text: string | null): string {
  return text === null ? 'NULL' : literal(text);
}
