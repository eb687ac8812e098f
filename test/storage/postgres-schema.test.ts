// PostgreSQL's tables: migrated by the first node that starts, equal to SQLite's, and guarded against invalid
// changes.

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import type { LedgerGate } from '../../src/ledger/ledger.ts';
import { latestVersion, migrations } from '../../src/storage/migrations/migrations.ts';
import { postgresStores, prepareDatabase } from '../../src/storage/postgres/postgres.ts';
import { failureOf } from '../money/ledger/workbench.ts';
import { cannotStartPostgres, runOn, sharedPostgres, untilLockIsAwaited } from '../support/start-postgres.ts';
import { claimsAfter, claimsOf, formerRows, unclaimed } from './claimed-emails.ts';
import { tablesBefore } from './tables-before.ts';

type Tables = Record<string, string[]>;

/**
 * Tables that only PostgreSQL has: the index of a message's hold, record and answer, changes for other nodes, and
 * versions.
 */
const ONLY_POSTGRES: Tables = {
  answers: ['slot'],
  answers_stored: ['slot'],
  change_epoch: ['epoch', 'is_only', 'kept_after'],
  changes: ['account_id', 'at_ms', 'epoch', 'kind', 'object_id'],
  holds: ['claim', 'epoch', 'node'],
  schema_versions: ['least_known', 'name', 'version'],
  usage_records: ['month'],
};
const ONLY_SQLITE: Tables = { answers_stored: ['is_only'], keys: [] };

function sqliteTables(): Tables {
  using database = new Database(':memory:');
  for (const migration of migrations) database.run(migration.sqlite);
  const tables = database
    .query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY name`)
    .all();
  const columnsOf = (table: string) => database.query(`SELECT name FROM pragma_table_xinfo('${table}')`).all();
  return Object.fromEntries(
    (tables as { name: string }[]).map(({ name }) => [
      name,
      (columnsOf(name) as { name: string }[]).map((column) => column.name).sort(),
    ]),
  );
}

async function postgresTables(url: string): Promise<Tables> {
  const rows = await runOn(
    url,
    `SELECT c.relname::text AS table, array_agg(a.attname::text ORDER BY a.attname COLLATE "C") AS columns
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
       AND c.oid NOT IN (SELECT inhrelid FROM pg_inherits)
     GROUP BY c.relname ORDER BY c.relname COLLATE "C"`,
  );
  return Object.fromEntries((rows as { table: string; columns: string[] }[]).map((row) => [row.table, row.columns]));
}

function without(tables: Tables, left: Tables): Tables {
  const kept = Object.entries(tables).map(([table, columns]): [string, string[]] => [
    table,
    columns.filter((column) => !left[table]?.includes(column)),
  ]);
  return Object.fromEntries(kept.filter(([, columns]) => columns.length > 0));
}

describe.skipIf(cannotStartPostgres)('the tables of PostgreSQL', () => {
  test('are those of SQLite, with the same columns', async () => {
    const server = await sharedPostgres();
    await using database = await server.newDatabase();
    expect(without(await postgresTables(database.url), ONLY_POSTGRES)).toEqual(without(sqliteTables(), ONLY_SQLITE));
  });

  test('are migrated although a reader holds one of them and needs another, and the reader is answered', async () => {
    await using database = await (await sharedPostgres()).newDatabase();
    await runOn(database.url, tablesBefore(19).postgres);
    const client = new SQL({ url: database.url, max: 1 });
    const reader = await client.reserve();
    await reader.unsafe('BEGIN; LOCK TABLE key_meters IN ACCESS SHARE MODE').simple();
    const preparing = prepareDatabase(database.url); // locks accounts, and waits for the meters
    await untilLockIsAwaited(database.url);
    expect(await reader.unsafe('SELECT count(*)::int AS accounts FROM accounts; COMMIT').simple()).toContainEqual([
      { accounts: 0 },
    ]);
    await preparing;
    const [row] = await runOn(database.url, 'SELECT max(version) AS version FROM schema_versions');
    expect(row).toEqual({ version: latestVersion });
    await client.close({ timeout: 0 });
  });

  test('are created once by nodes that start concurrently', async () => {
    const server = await sharedPostgres();
    await runOn(server.url, 'CREATE DATABASE started_at_once');
    const url = server.url.replace(/\/postgres$/, '/started_at_once');
    await Promise.all([prepareDatabase(url), prepareDatabase(url), prepareDatabase(url)]);
    expect(await runOn(url, 'SELECT version, name FROM schema_versions ORDER BY version')).toEqual(
      migrations.map(({ version, name }) => ({ version, name })),
    );
    expect(await runOn(url, 'SELECT count(*)::int AS slots FROM answers_stored')).toEqual([{ slots: 64 }]);
  });

  test('of a later release are used if compatible, and refused otherwise', async () => {
    const server = await sharedPostgres();
    await using database = await server.newDatabase();
    const latest = latestVersion;
    await runOn(database.url, `INSERT INTO schema_versions VALUES (${latest + 1}, 'later', ${latest})`);
    await prepareDatabase(database.url);
    await runOn(database.url, `INSERT INTO schema_versions VALUES (${latest + 2}, 'much-later', ${latest + 2})`);
    expect(String(await failureOf(prepareDatabase(database.url)))).toContain('later release');
    expect(await runOn(database.url, 'SELECT max(version) AS version FROM schema_versions')).toEqual([
      { version: latest + 2 },
    ]);
  });

  test('of a version before the first migration are refused, and left unchanged', async () => {
    await using database = await (await sharedPostgres()).newDatabase();
    await runOn(
      database.url,
      "DELETE FROM schema_versions WHERE version > 9; UPDATE schema_versions SET version = 7; INSERT INTO accounts (id, created_at_ms, document) VALUES (7, 1, '{}')",
    );
    const refusal = await failureOf(prepareDatabase(database.url));
    expect(String(refusal)).toContain('the database has version 7; this release can migrate version 8 and later');
    expect(await runOn(database.url, 'SELECT version, id::int AS id FROM schema_versions, accounts')).toEqual([
      { version: 7, id: 7 },
    ]);
  });

  test('of version 15 are migrated: people of an account who were invited or disabled keep their email from nobody', async () => {
    const server = await sharedPostgres();
    await runOn(server.url, 'CREATE DATABASE version_fifteen');
    const url = server.url.replace(/\/postgres$/, '/version_fifteen');
    await runOn(
      url,
      'CREATE TABLE schema_versions (version int PRIMARY KEY, name text NOT NULL, least_known int NOT NULL)',
    );
    for (const { version, name, leastKnown, postgres } of migrations)
      if (version < 16)
        await runOn(url, `${postgres}; INSERT INTO schema_versions VALUES (${version}, '${name}', ${leastKnown})`);
    await runOn(url, formerRows);
    await prepareDatabase(url);
    expect((await runOn(url, claimsOf)).map(({ id, email }) => ({ id: Number(id), email }))).toEqual(claimsAfter);
    const gate = { submit: () => Promise.reject(new Error('nothing is written')) } as unknown as LedgerGate;
    const stores = postgresStores(url, gate);
    for (const { id, email, status } of unclaimed) {
      const found = await stores.people.listUnclaimed({ email, status, accountId: 7, limit: 9 });
      expect(found.map((person) => person.id)).toEqual([id]);
    }
    await stores.close();
  });

  test('include the months that begin soon', async () => {
    const server = await sharedPostgres();
    await using database = await server.newDatabase();
    const now = new Date();
    const months = [0, 1, 2].map((ahead) => {
      const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead));
      return { partition: `usage_records_${month.toISOString().slice(0, 7).replace('-', '')}` };
    });
    const rows = `SELECT relname::text AS partition FROM pg_class WHERE relispartition AND relkind = 'r' ORDER BY relname`;
    expect(await runOn(database.url, rows)).toEqual(months);
  });
});

describe.skipIf(cannotStartPostgres)('a database of PostgreSQL', () => {
  const entry = `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind) VALUES (9, 5, 1, 9, 7, 'payment')`;

  test('lets no journal entry be changed, deleted or truncated', async () => {
    const server = await sharedPostgres();
    await using database = await server.newDatabase();
    const refusalOf = async (text: string) => String(await failureOf(runOn(database.url, text)));
    await runOn(database.url, entry);
    expect(await refusalOf('UPDATE entries SET amount = 1')).toContain('never updated');
    expect(await refusalOf('DELETE FROM entries')).toContain('never deleted');
    expect(await refusalOf('TRUNCATE entries')).toContain('never deleted');
    expect(await runOn(database.url, 'SELECT amount::int AS amount FROM entries')).toEqual([{ amount: 7 }]);
  });

  test('lets only entries be deleted that are carried forward and past retention', async () => {
    const server = await sharedPostgres();
    await using database = await server.newDatabase();
    await runOn(database.url, `${entry}; ${entry}`);
    const drop =
      'INSERT INTO carried_entries SELECT min(seq) FROM entries; DELETE FROM entries WHERE seq IN (TABLE carried_entries)';
    expect(String(await failureOf(runOn(database.url, drop)))).toContain('never deleted');
    await runOn(database.url, `INSERT INTO installation VALUES ('journal_kept_since_ms', '6')`);
    expect(String(await failureOf(runOn(database.url, 'DELETE FROM entries')))).toContain('never deleted');
    await runOn(database.url, drop);
    expect(await runOn(database.url, 'SELECT count(*)::int AS entries FROM entries')).toEqual([{ entries: 1 }]);
  });

  test('lets no audit record be changed, deleted or truncated', async () => {
    const server = await sharedPostgres();
    await using database = await server.newDatabase();
    const refusalOf = async (text: string) => String(await failureOf(runOn(database.url, text)));
    await runOn(
      database.url,
      `INSERT INTO audit_records (at_ms, actor, role, address, action, object) VALUES (1, 'a', 'admin', '::1', 'x', 'y')`,
    );
    expect(await refusalOf(`UPDATE audit_records SET actor = 'b'`)).toContain('never updated');
    expect(await refusalOf('DELETE FROM audit_records')).toContain('never deleted');
    expect(await refusalOf('TRUNCATE audit_records')).toContain('never deleted');
  });

  test('lets no balance go below its floor', async () => {
    const server = await sharedPostgres();
    await using database = await server.newDatabase();
    const account = (balance: number, held: number) =>
      `INSERT INTO account_meters VALUES (9, 1, 5, ${balance}, ${held}, NULL, 'total', 0, 0, 0, '{}')`;
    expect(String(await failureOf(runOn(database.url, account(-6, 0))))).toContain('check');
    expect(String(await failureOf(runOn(database.url, account(0, 6))))).toContain('check');
    await runOn(database.url, account(-5, 0));
  });

  test('credits a reference of an account once', async () => {
    const server = await sharedPostgres();
    await using database = await server.newDatabase();
    const credit = (kind: string) =>
      runOn(
        database.url,
        `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference) VALUES (9, 5, 1, 9, 7, '${kind}', 'r')`,
      );
    await credit('payment');
    expect(String(await failureOf(credit('adjustment')))).toContain('credits_once');
    await credit('refund');
    await credit('refund');
  });

  test('counts the total size of stored responses', async () => {
    const server = await sharedPostgres();
    await using database = await server.newDatabase();
    const sum = `SELECT sum(bytes)::int AS bytes FROM answers_stored`;
    await runOn(
      database.url,
      `INSERT INTO answers (request_id, at_ms, bytes, sealed, slot) SELECT 'r' || n, n, 10 + n, '', n % 3 FROM generate_series(1, 4) n`,
    );
    expect(await runOn(database.url, sum)).toEqual([{ bytes: 50 }]);
    await runOn(database.url, 'DELETE FROM answers WHERE at_ms < 3');
    expect(await runOn(database.url, sum)).toEqual([{ bytes: 27 }]);
  });
});
