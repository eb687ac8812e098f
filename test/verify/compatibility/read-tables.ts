// All tables of a store, to compare the state after a killed migration with those before and after a whole one.

import { Database } from 'bun:sqlite';
import { SQL } from 'bun';

export interface Tables {
  /** 0: no migration is complete. */
  version: number;
  /** Tables, columns, indexes, constraints and triggers, as text. */
  schema: string[];
  /** By table: its columns, and its rows as text, in order. */
  columns: Record<string, string[]>;
  rows: Record<string, string[]>;
}

/** `columns`: only these tables and columns are read. */
export function readSqlite(path: string, columns?: Tables['columns']): Tables {
  using database = new Database(path, { safeIntegers: true });
  const version = Number((database.query('PRAGMA user_version').get() as { user_version: bigint }).user_version);
  const schema = database
    .query("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
    .all() as { name: string; sql: string }[];
  const tables = schema.filter(({ sql }) => /^\s*CREATE TABLE/i.test(sql)).map(({ name }) => name);
  const found =
    columns ??
    Object.fromEntries(
      tables.map((table) => {
        const all = database.query(`SELECT name FROM pragma_table_info('${table}') ORDER BY cid`).all();
        return [table, (all as { name: string }[]).map(({ name }) => name)];
      }),
    );
  const rows = Object.fromEntries(
    Object.entries(found).map(([table, names]) => {
      const list = names.map((name) => `'${name}', "${name}"`).join(', ');
      const all = database.query(`SELECT json_object(${list}) AS row FROM "${table}" ORDER BY 1`).all();
      return [table, (all as { row: string }[]).map(({ row }) => row)];
    }),
  );
  return { version, schema: schema.map(({ name, sql }) => `${name}: ${sql}`), columns: found, rows };
}

/** Partitions are read through their table: whether a month has one already makes no difference. */
const IS_TABLE = `c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'schema_versions'
  AND n.nspname IN ('public', 'sign_in')`;
const COLUMNS = `
  SELECT n.nspname || '.' || c.relname AS table, a.attname AS name,
    format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '') AS type
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE ${IS_TABLE} ORDER BY 1, a.attname`;
const OTHERS = `
  WITH t AS (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${IS_TABLE})
  SELECT pg_get_indexdef(i.indexrelid) AS text FROM pg_index i WHERE i.indrelid IN (SELECT oid FROM t)
  UNION ALL SELECT conrelid::regclass || ': ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN (SELECT oid FROM t)
  UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM t)
  UNION ALL SELECT pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'public' AND p.prokind = 'f'
  ORDER BY 1`;

export async function readPostgres(url: string, columns?: Tables['columns']): Promise<Tables> {
  const client = new SQL({ url, max: 1 });
  try {
    const ask = async (text: string) => [...(await client.unsafe(text).simple())] as Record<string, string>[];
    const [stored] = await ask(`SELECT to_regclass('schema_versions') IS NOT NULL AS "isThere"`);
    const [version] = stored?.['isThere'] ? await ask('SELECT max(version)::int AS version FROM schema_versions') : [];
    const described = await ask(COLUMNS);
    const others = await ask(OTHERS);
    const found = columns ?? groupColumns(described);
    const rows: Record<string, string[]> = {};
    const texts = Object.entries(found).map(([table, names]) => {
      const list = names.map((name) => `"${name}"`).join(', ');
      return `SELECT '${table}' AS name, to_jsonb(t)::text AS row FROM (SELECT ${list} FROM ${quote(table)}) t`;
    });
    for (const table of Object.keys(found)) rows[table] = [];
    if (texts.length > 0)
      for (const { name, row } of await ask(`${texts.join(' UNION ALL ')} ORDER BY 1, 2`))
        rows[name ?? '']?.push(row ?? '');
    const schema = [
      ...described.map(({ table, name, type }) => `${table}.${name}: ${type}`),
      ...others.map(({ text }) => text ?? ''),
    ];
    return { version: Number(version?.['version'] ?? 0), schema, columns: found, rows };
  } finally {
    await client.close({ timeout: 0 });
  }
}

function groupColumns(described: readonly Record<string, string>[]): Tables['columns'] {
  const columns: Tables['columns'] = {};
  for (const { table = '', name = '' } of described) columns[table] = [...(columns[table] ?? []), name];
  return columns;
}

function quote(table: string): string {
  return table
    .split('.')
    .map((part) => `"${part}"`)
    .join('.');
}
