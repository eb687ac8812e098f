// The doctor at real databases and servers of PostgreSQL: a sound one, and each thing that can be wrong with one, brought about.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config.ts';
import { diagnose } from '../../src/maintenance/diagnose.ts';
import type { Facts } from '../../src/maintenance/facts.ts';
import { gatherFacts } from '../../src/maintenance/gather-facts.ts';
import { migrations } from '../../src/storage/migrations/migrations.ts';
import { expected } from '../../src/storage/postgres/examine-database.ts';
import { connectionsPerNode, examineActivity } from '../../src/storage/postgres/postgres.ts';
import { runTurnpike } from '../support/run-turnpike.ts';
import { cannotStartPgbouncer, startPgbouncer } from '../support/start-pgbouncer.ts';
import { cannotStartPostgres, runOn, startPostgres, type TestPostgres } from '../support/start-postgres.ts';
import { spawnTurnpike } from '../support/start-turnpike.ts';

const OF_THIS_MACHINE = ['open_files_low', 'disk_nearly_full'];
const PASSWORD = 'hunter2-of-the-database';
const SECRET = Buffer.alloc(32, 5).toString('base64');
const LATEST = migrations.at(-1)?.version ?? 0;
const NO_SERVICE = {
  url: null,
  foundBy: null,
  health: null,
  ready: null,
  token: null,
  providersDown: [],
  certificateEndsAtMs: null,
} as const;

describe.skipIf(cannotStartPostgres)('the doctor at PostgreSQL', () => {
  let directory: string;
  let server: TestPostgres;
  let copies = 0;
  const urlOf = (name: string, role = 'turnpike') => `postgres://${role}@127.0.0.1:${server.port}/${name}`;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'turnpike-doctor-postgres-'));
    server = await startPostgres({ max_prepared_transactions: '4', archive_mode: 'on' });
    await runOn(server.url, `ALTER SYSTEM SET archive_command = '/bin/true'`);
    await reload();
    await runOn(server.url, 'CREATE DATABASE sound');
    const node = await spawnTurnpike(join(directory, 'node'), {
      TURNPIKE_DATABASE_URL: urlOf('sound'),
      TURNPIKE_SECRET: SECRET,
    });
    await node.stop();
    await runOn(urlOf('sound'), `DELETE FROM leases; INSERT INTO leases VALUES ('node_a', 1, 9007199254740991)`);
  });
  afterAll(async () => {
    await server.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  /** A copy of a sound database on which a node is alive, with that done to it; gives its address. */
  async function copyWith(statement = 'SELECT 1'): Promise<string> {
    const name = `copy_${++copies}`;
    await runOn(server.url, `CREATE DATABASE ${name} TEMPLATE sound`);
    await runOn(urlOf(name), statement);
    return urlOf(name);
  }

  async function factsOf(url: string, variables: Record<string, string> = { TURNPIKE_SECRET: SECRET }): Promise<Facts> {
    const config = readConfig({ database: url, data: join(directory, 'nowhere') }, variables);
    return gatherFacts(config, [], NO_SERVICE, Date.now());
  }

  function codesOf(facts: Facts): string[] {
    const { findings } = diagnose(facts);
    const told = JSON.stringify(findings);
    for (const unsaid of [PASSWORD, SECRET, '    at ', 'src/']) expect(told).not.toContain(unsaid);
    return findings.map(({ code }) => code).filter((code) => !OF_THIS_MACHINE.includes(code));
  }

  const examine = async (url: string, variables?: Record<string, string>) => codesOf(await factsOf(url, variables));

  /** What is found while the server has that setting. */
  async function whileSet(setting: string, url?: string): Promise<string[]> {
    const [name] = setting.split(' ');
    await runOn(server.url, `ALTER SYSTEM SET ${setting}`);
    await reload();
    try {
      return await examine(url ?? urlOf('sound'));
    } finally {
      await runOn(server.url, `ALTER SYSTEM RESET ${name}`);
      await reload();
    }
  }

  /** Sessions that begin from then on have it. */
  async function reload(): Promise<void> {
    await runOn(server.url, 'SELECT pg_reload_conf()');
    await Bun.sleep(100);
  }

  /** A role that owns a copy, is no superuser, and has that set. */
  async function ownedBy(role: string, ...settings: string[]): Promise<string> {
    await runOn(server.url, `CREATE ROLE ${role} LOGIN`);
    for (const setting of settings) await runOn(server.url, `ALTER ROLE ${role} ${setting}`);
    const url = await copyWith();
    const tables = `SELECT format('ALTER TABLE %I OWNER TO ${role}', tablename) AS text FROM pg_tables WHERE schemaname = 'public'
      UNION ALL SELECT format('ALTER SEQUENCE %I OWNER TO ${role}', sequencename) FROM pg_sequences`;
    for (const { text } of (await runOn(url, tables)) as { text: string }[]) await runOn(url, text).catch(() => {}); // what belongs to a column goes with its table
    await runOn(url, `ALTER SCHEMA public OWNER TO ${role}`);
    return url.replace('turnpike@', `${role}@`);
  }

  describe('a sound database', () => {
    test('with a node that runs has nothing wrong, is said to have none, and the node keeps to its connections', async () => {
      const variables = { TURNPIKE_DATABASE_URL: await copyWith('DELETE FROM leases'), TURNPIKE_SECRET: SECRET };
      await using node = await spawnTurnpike(join(directory, 'running'), variables);
      await node.makeKey();
      const given = ['doctor', '--data', join(directory, 'elsewhere')];
      const [words, json] = await Promise.all([
        runTurnpike(given, variables),
        runTurnpike([...given, '--json'], variables),
      ]);
      const codes = (JSON.parse(json.out) as { code: string }[]).map(({ code }) => code);
      expect([codes.filter((code) => !OF_THIS_MACHINE.includes(code)), json.exitCode]).toEqual([[], 0]);
      if (codes.length === 0)
        expect(words.out).toMatch(/^Nothing is wrong with the installation in the database copy_/);
      expect(words.error).toContain('How full the disks of the database server are');
      const mine = `SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'turnpike%'`;
      const [{ count } = { count: 0 }] = (await runOn(variables.TURNPIKE_DATABASE_URL, mine)) as { count: number }[];
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(connectionsPerNode);
    });

    test('is sound for its owner too, who is no superuser', async () => {
      expect(await examine(await ownedBy('owner'))).toEqual([]);
    });

    test('without a node that is alive is said to have none, with the holds that wait for one', async () => {
      const url = await copyWith(
        `UPDATE leases SET expires_at_ms = 1; INSERT INTO holds VALUES ('req_1', 9, 9, 'node_a', 1, NULL, 1, '{}')`,
      );
      const facts = await factsOf(url);
      const { findings } = diagnose(facts);
      expect(findings.find(({ code }) => code === 'service_not_running')?.message).toContain('1 holds');
    });
  });

  test('looks for every table and every guard that there is', async () => {
    const tables = `SELECT c.relname::text AS name FROM pg_class c
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`;
    const guards = `SELECT t.tgname::text AS name FROM pg_trigger t WHERE NOT t.tgisinternal AND t.tgname LIKE '%never%'`;
    for (const [text, names] of [[tables, expected.tables] as const, [guards, expected.guards] as const]) {
      const found = (await runOn(urlOf('sound'), text)) as { name: string }[];
      expect(found.map(({ name }) => name).sort()).toEqual([...names].sort());
    }
  });

  describe('a server that cannot be had', () => {
    test('is told apart by what stands against it', async () => {
      const withPassword = urlOf('sound', `turnpike:${PASSWORD}`);
      expect(await examine(withPassword.replace(String(server.port), '9'))).toEqual(['database_unreachable']);
      expect(await examine(withPassword.replace('/sound', '/nowhere'))).toEqual(['database_refused']);
      expect(await examine(`${withPassword}?sslmode=require`)).toEqual(['database_tls_failed']);
    });

    test('nor named is a fault of the settings, and no other store is looked at', async () => {
      const variables = { TURNPIKE_DATABASE_URL: `mysql://a:${PASSWORD}@b/c`, TURNPIKE_SECRET: SECRET };
      const { out, exitCode } = await runTurnpike(
        ['doctor', '--data', join(directory, 'nowhere'), '--json'],
        variables,
      );
      const codes = (JSON.parse(out) as { code: string }[]).map(({ code }) => code);
      expect([exitCode, codes.filter((code) => !OF_THIS_MACHINE.includes(code))]).toEqual([1, ['setting_wrong']]);
      expect(out).not.toContain(PASSWORD);
    });
  });

  describe('a server', () => {
    test('that does not wait for its disk, or may tear its pages', async () => {
      expect(await whileSet('fsync = off')).toEqual(['fsync_off']);
      expect(await whileSet('full_page_writes = off')).toEqual(['full_page_writes_off']);
    });

    test('whose commits wait for a standby that is not there', async () => {
      expect(await whileSet("synchronous_standby_names = 'nobody'")).toEqual(['standby_missing']);
    });

    test('that nobody cleans up', async () => {
      expect(await whileSet('autovacuum = off')).toEqual(['autovacuum_off']);
      expect(await whileSet('track_counts = off')).toEqual(['autovacuum_off']);
      expect(await examine(await copyWith('ALTER TABLE holds SET (autovacuum_enabled = off)'))).toEqual([
        'autovacuum_off',
      ]);
    });

    test('that is a standby', async () => {
      const standby = await startPostgres();
      try {
        await runOn(standby.url, 'CREATE DATABASE sound');
        const url = standby.url.replace(/\/postgres$/, '/sound');
        const [row] = await runOn(standby.url, `SELECT current_setting('data_directory') AS directory`);
        const data = String(row?.['directory']);
        await standby.stop();
        await Bun.write(join(data, 'standby.signal'), '');
        await standby.start();
        expect(await examine(url)).toEqual(['server_is_standby', 'tables_missing']);
      } finally {
        await standby.remove();
      }
    });

    test('that cannot archive its log', async () => {
      await runOn(server.url, `ALTER SYSTEM SET archive_command = '/bin/false'`);
      await reload();
      await runOn(server.url, 'SELECT pg_switch_wal()');
      const failed = 'SELECT failed_count > 0 AS has_failed FROM pg_stat_archiver';
      for (let looks = 0; looks < 200; looks++) {
        if ((await runOn(server.url, failed))[0]?.['has_failed'] === true) break;
        await Bun.sleep(50);
      }
      expect(await examine(urlOf('sound'))).toEqual(['archiving_fails']);
      await runOn(server.url, 'ALTER SYSTEM RESET archive_command');
      await reload();
      expect(await examine(urlOf('sound'))).toEqual(['archiving_fails']); // it goes nowhere, and is kept
      await runOn(server.url, `ALTER SYSTEM SET archive_command = '/bin/true'`);
      await runOn(server.url, `SELECT pg_stat_reset_shared('archiver')`);
      await reload();
    });

    test('that keeps its log for somebody who does not come', async () => {
      await runOn(server.url, `SELECT pg_create_physical_replication_slot('left_behind', true)`);
      const facts = await factsOf(urlOf('sound'));
      await runOn(server.url, `SELECT pg_drop_replication_slot('left_behind')`);
      expect([codesOf(facts), diagnose(facts).findings[0]?.message]).toEqual([
        ['replication_slot_idle'],
        expect.stringContaining('left_behind'),
      ]);
    });

    test('on which transactions were left open, or prepared', async () => {
      const url = await copyWith();
      const idle = runOn(url, `SET application_name = 'a report'; BEGIN; SELECT 1; SELECT pg_sleep(20)`).catch(
        () => {},
      );
      await runOn(url, `BEGIN; CREATE TABLE beside (); PREPARE TRANSACTION 'forgotten'`);
      await Bun.sleep(300);
      const facts = await factsOf(url);
      const activity = { is: await examineActivity(url, { longTransactionMs: 100, deadRowsMany: 1 }) };
      await runOn(url, `ROLLBACK PREPARED 'forgotten'`);
      await runOn(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'a report'`);
      await idle;
      expect(codesOf(facts)).toEqual([]); // for so short a time it is nothing
      const { postgres } = facts;
      const changed = { ...facts, postgres: postgres && { ...postgres, activity } };
      expect(codesOf(changed)).toEqual(['transaction_long_open', 'prepared_transaction_left']);
      expect(
        diagnose(changed)
          .findings.map(({ message }) => message)
          .join(),
      ).toMatch(/a report .*"forgotten"/);
    });

    test('whose vacuum does not keep up', async () => {
      const url = await copyWith(`ALTER TABLE claims SET (autovacuum_enabled = off);
        INSERT INTO claims SELECT n, 'one', 'req_' || n, 'hash', n, 1 FROM generate_series(1, 5000) n; DELETE FROM claims`);
      const dead = async () => (await examineActivity(url, { longTransactionMs: 1e9, deadRowsMany: 1_000 })).deadRows;
      for (let looks = 0; looks < 100 && (await dead()).length === 0; looks++) await Bun.sleep(100);
      const facts = await factsOf(url);
      const { postgres } = facts;
      const activity = { is: await examineActivity(url, { longTransactionMs: 1e9, deadRowsMany: 1_000 }) };
      expect(activity.is.deadRows).toEqual([{ table: 'claims', dead: 5_000, live: 0 }]);
      expect(codesOf({ ...facts, postgres: postgres && { ...postgres, activity } })).toEqual([
        'autovacuum_off',
        'dead_rows',
      ]);
    });
  });

  describe.skipIf(cannotStartPgbouncer)('a pooler', () => {
    const throughPooler = async (settings: Record<string, string>) => {
      await using pooler = await startPgbouncer(server.port, settings);
      return await examine((await copyWith()).replace(String(server.port), String(pooler.port)));
    };
    const IGNORED = [
      'application_name,default_transaction_isolation,synchronous_commit,lock_timeout,statement_timeout',
      'idle_in_transaction_session_timeout,client_connection_check_interval,tcp_user_timeout,plan_cache_mode',
      'enable_seqscan,enable_bitmapscan,enable_hashjoin,enable_mergejoin,jit,timezone',
    ].join();

    test('that does not know the settings of nodes', async () => {
      expect((await throughPooler({ pool_mode: 'session' }))[0]).toBe('sessions_refused');
    });

    test('that leaves the settings of nodes out', async () => {
      expect(await throughPooler({ pool_mode: 'session', ignore_startup_parameters: IGNORED })).toEqual([
        'session_settings_lost',
      ]);
    });

    test('that lends its connections for transactions alone, one or several', async () => {
      const lending = { pool_mode: 'transaction', ignore_startup_parameters: IGNORED };
      for (const default_pool_size of ['20', '1'])
        expect(await throughPooler({ ...lending, default_pool_size })).toContain('sessions_shared');
    });
  });

  describe('a role', () => {
    test('that only reads unless it asks for more', async () => {
      expect(await examine(await ownedBy('reader', 'SET default_transaction_read_only = on'))).toEqual([
        'database_read_only',
      ]);
    });

    test('with limits of its own', async () => {
      const url = await ownedBy('hurried', `SET idle_session_timeout = '1h'`, `SET statement_timeout = '1h'`);
      const facts = await factsOf(url);
      expect(codesOf(facts)).toEqual(['session_limits']);
      expect(diagnose(facts).findings[0]?.message).toContain('idle_session_timeout = 1h, statement_timeout = 1h');
    });

    test('for which no trigger works', async () => {
      expect(await examine(await ownedBy('unguarded', 'SET session_replication_role = replica'))).toEqual([
        'triggers_off',
      ]);
    });

    test('that finds no schema, or may make no table, or may not read', async () => {
      expect(await examine(await ownedBy('lost', 'SET search_path = elsewhere'))).toEqual([
        'schema_missing',
        'tables_missing',
      ]);
      await runOn(server.url, 'CREATE ROLE guest LOGIN');
      const guest = (url: string) => url.replace('turnpike@', 'guest@');
      const readable = await copyWith('GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest');
      expect(await examine(guest(readable))).toEqual(['tables_not_owned']);
      expect(await examine(guest(await copyWith()))).toEqual(['database_unreadable']);
    });

    test('that may have too few connections for the nodes that are alive', async () => {
      const url = await ownedBy('crowded', `CONNECTION LIMIT ${connectionsPerNode + 3}`);
      expect(codesOf(await factsOf(url))).toEqual(['connections_too_few']);
      expect(diagnose(await factsOf(url)).findings[0]?.severity).toBe('warning');
      await runOn(url, `INSERT INTO leases VALUES ('node_b', 1, 9007199254740991)`);
      expect(diagnose(await factsOf(url)).findings[0]).toMatchObject({
        severity: 'error',
        code: 'connections_too_few',
      });
    });
  });

  describe('a database', () => {
    test('that is empty, or lost a table', async () => {
      await runOn(server.url, 'CREATE DATABASE hollow');
      expect(await examine(urlOf('hollow'))).toEqual(['tables_missing']);
      expect(await examine(await copyWith('DROP TABLE claims, learned'))).toEqual(['tables_missing']);
    });

    test('with tables of another version', async () => {
      const earlier = await copyWith(`DELETE FROM schema_versions WHERE version = ${LATEST}`);
      expect(await examine(earlier)).toEqual(['database_of_earlier_version']);
      const later = `INSERT INTO schema_versions VALUES (${LATEST + 1}, 'later', ${LATEST + 1})`;
      expect(await examine(await copyWith(later))).toEqual(['database_of_later_version']);
      const compatible = `INSERT INTO schema_versions VALUES (${LATEST + 1}, 'later', ${LATEST})`;
      expect(await examine(await copyWith(compatible))).toEqual([]);
    });

    test('whose guards are gone', async () => {
      expect(await examine(await copyWith('ALTER TABLE entries DISABLE TRIGGER entries_are_never_updated'))).toEqual([
        'guards_missing',
      ]);
      expect(await examine(await copyWith('DROP TRIGGER audit_is_never_deleted ON audit_records'))).toEqual([
        'guards_missing',
      ]);
    });

    test('in an encoding that cannot hold all names', async () => {
      await runOn(server.url, `CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`);
      expect(await examine(urlOf('latin'))).toEqual(['database_encoding', 'tables_missing']);
    });

    test('with the tables of another installation beside', async () => {
      const url = await copyWith(
        'CREATE SCHEMA older; CREATE TABLE older.schema_versions (); CREATE TABLE older.account_meters ()',
      );
      const facts = await factsOf(url);
      expect([codesOf(facts), diagnose(facts).findings[0]?.message]).toEqual([
        ['another_installation'],
        expect.stringContaining('schema older'),
      ]);
    });

    test('whose months were not made ahead, or not dropped', async () => {
      const lastMonth = `SELECT max(c.relname) AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'usage_records'::regclass`;
      const url = await copyWith();
      await runOn(url, `DROP TABLE ${(await runOn(url, lastMonth))[0]?.['name']}`);
      expect(await examine(url)).toEqual(['usage_months_missing']);
      const overdue =
        await copyWith(`CREATE TABLE usage_records_202001 PARTITION OF usage_records FOR VALUES IN (202001);
        INSERT INTO installation VALUES ('usage_kept_since_ms', '${Date.UTC(2020, 5, 1)}')`);
      expect(await examine(overdue)).toEqual(['usage_months_overdue']);
    });

    test('of which a table is locked, or may not be read, by whoever looks', async () => {
      const url = await copyWith();
      const locking = runOn(url, `SET application_name = 'an upgrade'; BEGIN; LOCK TABLE keys; SELECT pg_sleep(60)`);
      const ended = locking.catch(() => {});
      await Bun.sleep(300);
      expect(await examine(url)).toEqual(['database_unreadable']);
      await runOn(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'an upgrade'`);
      await ended;
    });

    test('with holds of nodes that are gone, which nobody ended', async () => {
      const left = `INSERT INTO holds VALUES ('req_1', 9, 9, 'node_a', 7, NULL, 1, '{}')`;
      expect((await examine(await copyWith(left)))[0]).toBe('holds_of_gone_nodes');
    });

    test('whose ledger is not in balance, or was written by a clock that was ahead', async () => {
      expect(await examine(await copyWith('UPDATE account_meters SET balance = balance + 1'))).toEqual([
        'ledger_out_of_balance',
      ]);
      const ahead = await copyWith(
        `INSERT INTO audit_records (at_ms, actor, role, address, action, object) VALUES (9007199254740, 'a', 'admin', '::1', 'x', 'y')`,
      );
      expect(await examine(ahead)).toEqual(['clock_behind']);
    });
  });

  describe('the secret', () => {
    test('is not given here although nodes have it, or nobody has it any more', async () => {
      expect(await examine(await copyWith(), {})).toEqual(['secret_not_given']);
      expect(await examine(await copyWith('DELETE FROM leases'), {})).toEqual([
        'secret_missing',
        'service_not_running',
      ]);
    });

    test("is another installation's", async () => {
      const another = { TURNPIKE_SECRET: Buffer.alloc(32, 6).toString('base64') };
      expect((await examine(await copyWith(), another))[0]).toBe('secret_wrong');
      const coming = { TURNPIKE_SECRET: another.TURNPIKE_SECRET, TURNPIKE_PREVIOUS_SECRET: SECRET };
      expect(await examine(await copyWith(), coming)).toEqual(['secret_change_pending']);
    });
  });
});
