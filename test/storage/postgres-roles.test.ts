// The role of a node with rights on rows only: what it may do, what it may not, and how it is refused when something is missing.

import { describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { migrateSignIn } from '../../src/auth/auth.ts';
import { bounds } from '../../src/config/config.ts';
import { latestVersion } from '../../src/storage/migrations/migrations.ts';
import { expected } from '../../src/storage/postgres/examine-database.ts';
import {
  examineTables,
  grantRole,
  maintainDatabase,
  migrateDatabase,
  openSignIn,
  PostgresGate,
  prepareDatabase,
} from '../../src/storage/postgres/postgres.ts';
import { ask, failureOf } from '../money/ledger/workbench.ts';
import { cannotStartPostgres, NODE_ROLE, runOn, sharedPostgres } from '../support/start-postgres.ts';

const FORBIDDEN = '42501';
const ENTRY = `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind) VALUES (9, 5, 1, 9, 7, 'payment')`;

const newNodeDatabase = async () => (await sharedPostgres()).newNodeDatabase();
const refusalOf = async (attempt: Promise<unknown>) => String(await failureOf(attempt));
const codeOf = async (url: string, text: string) => ((await failureOf(runOn(url, text))) as { errno?: string })?.errno;

async function rightsOn(url: string, table: string): Promise<string> {
  const all = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER'];
  const text = `SELECT string_agg(r, ' ') AS rights FROM unnest(ARRAY['${all.join("','")}']) r
    WHERE has_table_privilege('${NODE_ROLE}', '${table}', r)`;
  return String((await runOn(url, text))[0]?.['rights'] ?? '');
}

describe.skipIf(cannotStartPostgres)('the role of a node', () => {
  test('may add to the journal and the audit log, and change rows of no table that it only reads', async () => {
    await using database = await newNodeDatabase();
    const rights = new Map<string, string>();
    for (const table of expected.tables) rights.set(table, await rightsOn(database.url, table));
    expect(rights.get('entries')).toBe('SELECT INSERT');
    expect(rights.get('audit_records')).toBe('SELECT INSERT');
    expect(rights.get('schema_versions')).toBe('SELECT');
    expect(rights.get('carried_credits')).toBe('SELECT');
    expect(rights.get('carried_entries')).toBe('');
    expect(rights.get('account_meters')).toBe('SELECT INSERT UPDATE');
    expect([...rights.values()].filter((all) => /TRUNCATE|REFERENCES|TRIGGER/.test(all))).toEqual([]);
    expect(await rightsOn(database.url, 'sign_in."twoFactor"')).toBe('SELECT INSERT UPDATE DELETE');
  });

  const attempts = [
    'UPDATE entries SET amount = 1',
    'DELETE FROM entries',
    'TRUNCATE entries',
    'DROP TABLE entries',
    'ALTER TABLE entries DISABLE TRIGGER ALL',
    'ALTER TABLE entries DROP COLUMN note',
    'DROP TRIGGER entries_are_never_deleted ON entries',
    'CREATE TRIGGER mine BEFORE INSERT ON entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
    'CREATE RULE mine AS ON INSERT TO entries DO INSTEAD NOTHING',
    'INSERT INTO carried_entries VALUES (1)',
    'UPDATE audit_records SET actor = actor',
    'DELETE FROM audit_records',
    'TRUNCATE audit_records',
    'ALTER TABLE audit_records DISABLE TRIGGER ALL',
    `CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
    `CREATE OR REPLACE FUNCTION carry_entries(of_account bigint, before_ms bigint, entries_max int) RETURNS void LANGUAGE sql AS ''`,
    'DROP FUNCTION carry_entries',
    'ALTER FUNCTION carry_entries RESET ALL',
    'ALTER TABLE accounts ADD COLUMN mine text',
    'DROP TABLE usage_records',
    'CREATE TABLE mine (id int)',
    'CREATE SCHEMA mine',
    'CREATE INDEX mine ON entries (note)',
    'SET session_replication_role = replica',
    'SET ROLE turnpike',
    'UPDATE schema_versions SET version = 1',
    `UPDATE pg_trigger SET tgenabled = 'D'`,
  ];
  test('is refused by the server whatever would change the journal, the audit log or what guards them', async () => {
    await using database = await newNodeDatabase();
    await runOn(database.nodeUrl, ENTRY);
    for (const attempt of attempts)
      expect([attempt, await codeOf(database.nodeUrl, attempt)]).toEqual([attempt, FORBIDDEN]);
    const months = await runOn(database.url, `SELECT count(*)::int AS months FROM pg_inherits`);
    expect(await runOn(database.url, 'SELECT amount::int AS amount FROM entries')).toEqual([{ amount: 7 }]);
    expect(months[0]?.['months']).toBeGreaterThan(0);
  });

  test('carries entries forward only past retention, and with their sum', async () => {
    await using database = await newNodeDatabase();
    const { nodeUrl } = database;
    await runOn(nodeUrl, `${ENTRY}; ${ENTRY}`);
    const carry = 'SELECT carry_entries(9, 6, 100)';
    expect(await refusalOf(runOn(nodeUrl, carry))).toContain('a journal entry is never deleted');
    await runOn(nodeUrl, `INSERT INTO installation VALUES ('journal_kept_since_ms', '6')`);
    await runOn(nodeUrl, `${carry}; ${carry}`);
    const left = `SELECT account_id::int AS account, amount::int AS amount, kind FROM entries ORDER BY account_id`;
    expect(await runOn(nodeUrl, left)).toEqual([
      { account: 1, amount: 14, kind: 'carried_forward' },
      { account: 9, amount: 14, kind: 'carried_forward' },
    ]);
  });

  test('carries forward no entry of this month or the last, whatever it takes for the retention boundary', async () => {
    const server = await sharedPostgres();
    await using prepared = await server.newNodeDatabase(); // for the role
    await runOn(server.url, 'CREATE DATABASE by_the_clock');
    const url = server.url.replace(/\/postgres$/, '/by_the_clock');
    await migrateDatabase(url);
    const signIn = await openSignIn(url);
    await migrateSignIn(signIn);
    await signIn.close();
    await grantRole(url, NODE_ROLE);
    const nodeUrl = prepared.nodeUrl.replace(prepared.name, 'by_the_clock');
    await runOn(nodeUrl, `${ENTRY}; INSERT INTO installation VALUES ('journal_kept_since_ms', '9007199254740991')`);
    const now = new Date();
    const lastMonthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1);
    for (const beforeMs of [Date.now(), lastMonthMs + 1]) {
      const carried = runOn(nodeUrl, `SELECT carry_entries(9, ${beforeMs}, 100)`);
      expect(await refusalOf(carried)).toContain('entries of this month and the last are never carried forward');
    }
    await runOn(nodeUrl, `SELECT carry_entries(9, ${lastMonthMs}, 100)`);
    expect(await runOn(nodeUrl, 'SELECT DISTINCT kind FROM entries')).toEqual([{ kind: 'carried_forward' }]);
  });

  test('may do all that a node does to connections, months and leases', async () => {
    await using database = await newNodeDatabase();
    const { url, nodeUrl } = database;
    const months = `SELECT max(relname::text) AS last FROM pg_class WHERE relname ~ '^usage_records_[0-9]{6}$'`;
    const [{ last } = {}] = await runOn(url, months);
    await runOn(url, `DROP TABLE ${last}; INSERT INTO leases VALUES ('gone', 1, 1)`);
    const month = Number(String(last).slice(-6));
    expect(await maintainDatabase(nodeUrl)).toEqual({
      monthsMade: [month],
      monthsDropped: [],
      daysRolledUp: 0,
      monthsLeft: [],
      leasesDropped: 1,
    });
    const gate = new PostgresGate(nodeUrl);
    const renew = { kind: 'renew', node: 'mine', epoch: null, leaseMs: 60_000 } as const;
    expect(await ask(gate, renew)).toMatchObject({ ok: true });
    // The next connection ends the abandoned one, and learns its outcome.
    await runOn(
      url,
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '${NODE_ROLE}' AND datname = current_database()`,
    );
    expect(await ask(gate, { ...renew, node: 'other' })).toMatchObject({ ok: true });
    await gate.close();
  });

  test('cannot mislead the functions of the owner with tables of its own', async () => {
    await using database = await newNodeDatabase();
    const [{ month } = {}] = await runOn(
      database.url,
      `SELECT min(right(relname, 6)) AS month FROM pg_class WHERE relname ~ '^usage_records_[0-9]{6}$'`,
    );
    const client = new SQL({ url: database.nodeUrl, max: 1 });
    try {
      await client
        .unsafe(`CREATE TEMPORARY TABLE installation (name text, value text);
        INSERT INTO installation VALUES ('usage_kept_since_ms', '9007199254740991'), ('journal_kept_since_ms', '9007199254740991')`)
        .simple();
      await client.unsafe(`SELECT drop_usage_month(${month})`).simple();
      await client
        .unsafe(
          `INSERT INTO public.entries (account_id, at_ms, debit, credit, amount, kind) VALUES (9, 5, 1, 9, 7, 'payment')`,
        )
        .simple();
      expect(await refusalOf(client.unsafe('SELECT carry_entries(9, 6, 100)').simple())).toContain('never deleted');
    } finally {
      await client.close({ timeout: 0 });
    }
    const there = `SELECT to_regclass('usage_records_${month}') IS NOT NULL AS there`;
    expect(await runOn(database.url, there)).toEqual([{ there: true }]);
  });

  test('makes no month that is none, and drops none that is retained', async () => {
    await using database = await newNodeDatabase();
    for (const month of ['0', '-1', '1000000'])
      expect(await refusalOf(runOn(database.nodeUrl, `SELECT make_usage_month(${month})`))).toContain('YYYYMM');
    await runOn(database.nodeUrl, `INSERT INTO installation VALUES ('usage_kept_since_ms', '${Date.UTC(2030, 1, 1)}')`);
    const months = [203001, 203002, 203099];
    for (const month of months) await runOn(database.nodeUrl, `SELECT make_usage_month(${month})`);
    for (const month of months) await runOn(database.nodeUrl, `SELECT drop_usage_month(${month})`);
    const left = `SELECT relname::text AS name FROM pg_class WHERE relname ~ '^usage_records_2030[0-9]{2}$' ORDER BY 1`;
    expect(await runOn(database.url, left)).toEqual([
      { name: 'usage_records_203002' },
      { name: 'usage_records_203099' },
    ]);
  });

  test('only the roles that were granted it may call the functions of the owner', async () => {
    await using database = await newNodeDatabase();
    await runOn(database.url, 'CREATE ROLE stranger LOGIN');
    const stranger = database.url.replace('turnpike@', 'stranger@');
    for (const call of ['make_usage_month(203001)', 'drop_usage_month(203001)', 'carry_entries(9, 6, 100)'])
      expect([call, await codeOf(stranger, `SELECT ${call}`)]).toEqual([call, FORBIDDEN]);
  });
});

describe.skipIf(cannotStartPostgres)('a start under the role of a node', () => {
  test('changes no definition of the database', async () => {
    await using database = await newNodeDatabase();
    // Raised in the transaction of each CREATE, ALTER and DROP.
    await runOn(
      database.url,
      `CREATE FUNCTION refuse_definitions() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a definition: %', tg_tag; END $$;
       CREATE EVENT TRIGGER no_definitions ON ddl_command_start EXECUTE FUNCTION refuse_definitions()`,
    );
    expect(await refusalOf(prepareDatabase(database.url))).toContain('a definition: CREATE TABLE');
    await prepareDatabase(database.nodeUrl);
    const signIn = await openSignIn(database.nodeUrl);
    await migrateSignIn(signIn);
    await signIn.close();
  });

  test('names what the role lacks, and works when it is granted again', async () => {
    await using database = await newNodeDatabase();
    await runOn(
      database.url,
      `REVOKE INSERT ON entries FROM ${NODE_ROLE}; REVOKE DELETE ON sign_in.session FROM ${NODE_ROLE};
       REVOKE EXECUTE ON FUNCTION carry_entries FROM ${NODE_ROLE}; REVOKE USAGE ON SEQUENCE usage_records_seq FROM ${NODE_ROLE}`,
    );
    const refusal = await refusalOf(prepareDatabase(database.nodeUrl));
    expect(refusal).toContain(
      'the role "turnpike_node" lacks INSERT on entries, DELETE on sign_in.session, USAGE on the sequence usage_records_seq, EXECUTE on the function carry_entries: run "turnpike migrate --grant turnpike_node"',
    );
    const { role } = await examineTables(database.nodeUrl);
    expect(role?.missing).toHaveLength(4);
    await grantRole(database.url, NODE_ROLE);
    await prepareDatabase(database.nodeUrl);
    expect((await examineTables(database.nodeUrl)).role).toEqual({
      role: NODE_ROLE,
      owner: 'turnpike',
      schema: 'public',
      owns: false,
      missing: [],
      excess: [],
    });
  });

  test('lists some of the rights of a role that has none', async () => {
    await using database = await newNodeDatabase();
    await runOn(database.url, 'CREATE ROLE nobody_yet LOGIN');
    const url = database.url.replace('turnpike@', 'nobody_yet@');
    const refusal = await refusalOf(prepareDatabase(url));
    expect(refusal).toMatch(/lacks USAGE on the schema sign_in, SELECT on account_totals, .* and \d+ more: run/);
    expect(refusal.match(/ on /g)).toHaveLength(bounds.rightsListedMax);
    expect(await refusalOf(examineTables(url))).toContain('the role "nobody_yet" lacks USAGE on the schema sign_in');
  });

  test('on tables of an earlier version is refused with both versions', async () => {
    await using database = await newNodeDatabase();
    await runOn(database.url, `DELETE FROM schema_versions WHERE version = ${latestVersion}`);
    const refusal = await refusalOf(prepareDatabase(database.nodeUrl));
    expect(refusal).toMatch(
      new RegExp(
        `its tables have version \\d+; this release uses version ${latestVersion}, and the role "turnpike_node" may not migrate them: run "turnpike migrate"`,
      ),
    );
  });

  test('on tables of a later version is refused only if that release says so', async () => {
    await using database = await newNodeDatabase();
    await runOn(database.url, `INSERT INTO schema_versions VALUES (${latestVersion + 1}, 'later', ${latestVersion})`);
    await prepareDatabase(database.nodeUrl);
    await runOn(
      database.url,
      `INSERT INTO schema_versions VALUES (${latestVersion + 2}, 'much later', ${latestVersion + 1})`,
    );
    expect(await refusalOf(prepareDatabase(database.nodeUrl))).toContain('a later release wrote it');
  });

  test('on an empty database is refused, and creates nothing', async () => {
    const server = await sharedPostgres();
    await (await server.newNodeDatabase())[Symbol.asyncDispose](); // the role exists
    await runOn(server.url, 'CREATE DATABASE still_empty');
    const url = server.url.replace('/postgres', '/still_empty');
    await runOn(url, 'REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    const nodeUrl = url.replace('turnpike@', `${NODE_ROLE}@`);
    const words =
      'the role "turnpike_node" sees no tables of this service and may not create any: run "turnpike migrate"';
    expect(await refusalOf(prepareDatabase(nodeUrl))).toContain(words);
    expect(await refusalOf(migrateDatabase(nodeUrl))).toContain(words);
    expect(await runOn(url, `SELECT to_regclass('schema_versions') IS NULL AS is_empty`)).toEqual([{ is_empty: true }]);
  });

  test('whose sign-in tables are missing names the command that creates them', async () => {
    await using database = await newNodeDatabase();
    await runOn(database.url, 'DROP SCHEMA sign_in CASCADE');
    expect(await refusalOf(prepareDatabase(database.nodeUrl))).toContain('lacks SELECT on sign_in.account');
    const signIn = await openSignIn(database.nodeUrl);
    const refusal = await refusalOf(signIn.migrateTogether(async () => {}));
    await signIn.close();
    expect(refusal).toContain('the sign-in tables are not those of this release, and its role may not create them');
    expect(refusal).toContain('run "turnpike migrate"');
  });
});

describe.skipIf(cannotStartPostgres)('a migration', () => {
  test('takes back what a node should not have, and grants nothing while others give it more', async () => {
    await using database = await newNodeDatabase();
    await runOn(
      database.url,
      `GRANT ALL ON entries, installation TO ${NODE_ROLE}; GRANT CREATE ON SCHEMA public TO ${NODE_ROLE}`,
    );
    expect((await examineTables(database.nodeUrl)).role?.excess).toEqual(
      [
        'CREATE on the schema public',
        'DELETE on installation',
        'TRUNCATE on installation',
        'TRIGGER on installation',
        'UPDATE on entries',
        'DELETE on entries',
        'TRUNCATE on entries',
        'TRIGGER on entries',
      ].sort((one, other) => placeOf(one) - placeOf(other)),
    );
    await grantRole(database.url, NODE_ROLE);
    expect(await rightsOn(database.url, 'entries')).toBe('SELECT INSERT');
    expect((await examineTables(database.nodeUrl)).role?.excess).toEqual([]);
    await runOn(database.url, `GRANT DELETE ON entries TO PUBLIC; REVOKE INSERT ON people FROM ${NODE_ROLE}`);
    expect(await refusalOf(grantRole(database.url, NODE_ROLE))).toContain('DELETE on entries. Nothing was granted');
    expect(await rightsOn(database.url, 'people')).toBe('SELECT UPDATE');
    await runOn(database.url, 'REVOKE DELETE ON entries FROM PUBLIC; GRANT CREATE ON SCHEMA public TO PUBLIC');
    const refusal = await refusalOf(grantRole(database.url, NODE_ROLE));
    expect(refusal).toContain('CREATE on the schema public');
    expect(refusal).toContain('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
  });

  test('gives rights to no role that does not exist, is a superuser or may become the owner', async () => {
    await using database = await newNodeDatabase();
    expect(await refusalOf(grantRole(database.url, `no"body`))).toContain(
      'there is no role "no"body": create it with CREATE ROLE "no""body" LOGIN',
    );
    expect(await refusalOf(grantRole(database.url, 'turnpike'))).toContain('nodes need another role');
    await runOn(database.url, 'CREATE ROLE deputy LOGIN NOINHERIT; GRANT turnpike TO deputy');
    expect(await refusalOf(grantRole(database.url, 'deputy'))).toContain('may become their owner (turnpike)');
  });

  test('gives rights to no role that may make itself the owner or a superuser', async () => {
    await using database = await newNodeDatabase();
    await runOn(database.url, 'CREATE ROLE maker LOGIN CREATEROLE; CREATE ROLE runner LOGIN');
    await runOn(database.url, 'GRANT pg_execute_server_program TO runner');
    expect(await refusalOf(grantRole(database.url, 'maker'))).toContain(
      'the attribute CREATEROLE. Nothing was granted',
    );
    expect(await refusalOf(grantRole(database.url, 'runner'))).toContain('membership in pg_execute_server_program');
  });

  test('gives rights to a role with an unusual name', async () => {
    await using database = await newNodeDatabase();
    await runOn(database.url, `CREATE ROLE "node's ""own""" LOGIN`);
    await grantRole(database.url, `node's "own"`);
    const [row] = await runOn(database.url, `SELECT has_table_privilege('node''s "own"', 'entries', 'INSERT') AS may`);
    expect(row).toEqual({ may: true });
  });

  test('is made by the owner of the tables alone', async () => {
    await using database = await newNodeDatabase();
    await runOn(database.url, 'CREATE ROLE other_root LOGIN SUPERUSER');
    const refusal = await refusalOf(migrateDatabase(database.url.replace('turnpike@', 'other_root@')));
    expect(refusal).toContain('the tables belong to the role "turnpike", not to "other_root"');
    expect(await refusalOf(migrateDatabase(database.nodeUrl))).toContain('run this command under their owner');
    expect(await migrateDatabase(database.url)).toBe(latestVersion);
  });

  test('by a node that may become the owner leaves everything with the owner', async () => {
    const server = await sharedPostgres();
    await runOn(server.url, 'CREATE ROLE estate; CREATE ROLE member LOGIN; GRANT estate TO member');
    await runOn(server.url, 'CREATE DATABASE of_estate OWNER estate');
    const url = server.url.replace('/postgres', '/of_estate').replace('turnpike@', 'member@');
    const asOwner = `SET ROLE estate; CREATE TABLE schema_versions (version int PRIMARY KEY, name text NOT NULL, least_known int NOT NULL)`;
    await runOn(url, asOwner);
    await prepareDatabase(url);
    const owners = `SELECT DISTINCT pg_get_userbyid(relowner)::text AS owner FROM pg_class WHERE relnamespace = 'public'::regnamespace
      UNION SELECT pg_get_userbyid(proowner)::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace`;
    expect(await runOn(url, owners)).toEqual([{ owner: 'estate' }]);
  });

  test('and grants of several programs at once take turns', async () => {
    await using database = await newNodeDatabase();
    await runOn(database.url, `REVOKE ALL ON entries, accounts FROM ${NODE_ROLE}`);
    const both = async () => {
      await migrateDatabase(database.url);
      await grantRole(database.url, NODE_ROLE);
    };
    await Promise.all([both(), both(), both(), both()]);
    await prepareDatabase(database.nodeUrl);
  });
});

/** The order of the report: schemas, then tables as they are listed, then rights. */
function placeOf(right: string): number {
  return ['schema public', 'entries', 'installation'].findIndex((table) => right.endsWith(table));
}
