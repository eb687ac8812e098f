// A PostgreSQL database with the rows of a SQLite one, so that both can be asked the same questions.

import type { Database } from 'bun:sqlite';
import { SQL } from 'bun';
import { monthOf } from '../../src/storage/postgres/usage-months.ts';
import { makeMonthText } from '../../src/storage/postgres/usage-partitions.ts';

type Row = Record<string, bigint | string | null>;

/** Those that have rows of their own; how much all answers are is counted as they come. */
const TABLES =
  `accounts keys key_secrets tokens account_meters key_meters holds leases entries usage_records daily_totals
  installation catalog audit_records creations claims answers carried_credits learned`.split(/\s+/);

/** What stands in columns here only. */
const MORE: Record<string, (row: Row) => Record<string, unknown>> = {
  holds: (row) => {
    const { owner, claim } = JSON.parse(String(row['document'])) as { owner: object; claim: string | null };
    return { ...owner, claim };
  },
  usage_records: (row) => ({ month: monthOf(Number(row['at_ms'])) }),
  answers: () => ({ slot: 0 }),
};

export async function copyToPostgres(database: Database, url: string): Promise<void> {
  const client = new SQL({ url, max: 1 });
  try {
    for (const table of TABLES) await copyTable(database, client, table);
  } finally {
    await client.close({ timeout: 0 });
  }
}

async function copyTable(database: Database, client: SQL, table: string): Promise<void> {
  const read = database.prepare(`SELECT * FROM ${table}`).safeIntegers(true);
  const rows = (read.all() as Row[]).map((row) => ({ ...row, ...MORE[table]?.(row) }));
  if (table === 'usage_records')
    for (const month of new Set(rows.map((row) => monthOf(Number(row['at_ms'])))))
      await client.unsafe(makeMonthText(month)).simple();
  if (rows.length === 0) return;
  const columns = Object.keys(rows[0] as Row).join(', ');
  const json = JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  await client.unsafe(
    `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
     SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1::text::json)`,
    [json],
  );
  if (!('seq' in (rows[0] as Row))) return;
  const sequence = table === 'usage_records' ? "'usage_records_seq'" : `pg_get_serial_sequence('${table}', 'seq')`;
  await client.unsafe(`SELECT setval(${sequence}, (SELECT max(seq) FROM ${table}))`).simple();
}
