// The doctor on real PostgreSQL servers and databases: a sound one, and one with each problem that it reports.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bounds, readConfig } from '../../../src/config/config.ts';
import type { Facts } from '../../../src/maintenance/facts.ts';
import { gatherFacts } from '../../../src/maintenance/gather-facts.ts';
import { diagnose } from '../../../src/maintenance/maintenance.ts';
import { latestVersion as LATEST } from '../../../src/storage/migrations/migrations.ts';
import { expected } from '../../../src/storage/postgres/examine-database.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { cannotStartPgbouncer, startPgbouncer } from '../../support/start-pgbouncer.ts';
import { cannotStartPostgres, runOn, startPostgres, type TestPostgres } from '../../support/start-postgres.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';

/** Besides those of pools: of the lanes for messages and for leases, of changes, and of upkeep. */
const CONNECTIONS_PER_NODE = bounds.signInConnections + bounds.readConnections + bounds.reportConnections + 4;
const OF_THIS_MACHINE = ['open_files_low', 'disk_nearly_full'];
const PASSWORD = 'hunter2-of-the-database';
const SECRET = Buffer.alloc(32, 5).toString('base64');
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
    server = await startPostgres();
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

  /** Applies this SQL to a copy of a sound database with a live node, and returns its address. */
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

  /** Findings while the server has this setting. */
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

  /** New sessions have the setting. */
  async function reload(): Promise<void> {
    await runOn(server.url, 'SELECT pg_reload_conf()');
    await Bun.sleep(100);
  }

  /** A role without superuser rights that owns a copy and has these settings. */
  async function ownedBy(role: string, ...settings: string[]): Promise<string> {
    await runOn(server.url, `CREATE ROLE ${role} LOGIN`);
    for (const setting of settings) await runOn(server.url, `ALTER ROLE ${role} ${setting}`);
    const url = await copyWith();
    const tables = `SELECT format('ALTER TABLE %I OWNER TO ${role}', tablename) AS text FROM pg_tables WHERE schemaname = 'public'
      UNION ALL SELECT format('ALTER SEQUENCE %I OWNER TO ${role}', sequencename) FROM pg_sequences`;
    for (const { text } of (await runOn(url, tables)) as { text: string }[]) await runOn(url, text).catch(() => {}); // Objects that belong to a column are dropped with its table.
    await runOn(url, `ALTER SCHEMA public OWNER TO ${role}`);
    return url.replace('turnpike@', `${role}@`);
  }

  describe('a sound database', () => {
    test('with a running node has no findings, and the node stays within its connections', async () => {
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
      if (codes.length === 0) expect(words.out).toMatch(/^No problems found in the database copy_/);
      expect(words.error).toContain('The disks of the database server cannot be checked from here');
      const mine = `SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'turnpike%'`;
      const [{ count } = { count: 0 }] = (await runOn(variables.TURNPIKE_DATABASE_URL, mine)) as { count: number }[];
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(CONNECTIONS_PER_NODE);
    });

    test('has no findings for an owner that is not a superuser', async () => {
      expect(await examine(await ownedBy('owner'))).toEqual([]);
    });

    test('without a running node is reported', async () => {
      expect(await examine(await copyWith('UPDATE leases SET expires_at_ms = 1'))).toEqual(['service_not_running']);
    });
  });

  test('checks every table and every guard trigger', async () => {
    const tables = `SELECT c.relname::text AS name FROM pg_class c
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`;
    const guards = `SELECT t.tgname::text AS name FROM pg_trigger t WHERE NOT t.tgisinternal AND t.tgname LIKE '%never%'`;
    for (const [text, names] of [[tables, expected.tables] as const, [guards, expected.guards] as const]) {
      const found = (await runOn(urlOf('sound'), text)) as { name: string }[];
      expect(found.map(({ name }) => name).sort()).toEqual([...names].sort());
    }
  });

  describe('a server that cannot be reached', () => {
    test('is reported with its cause', async () => {
      const withPassword = urlOf('sound', `turnpike:${PASSWORD}`);
      expect(await examine(withPassword.replace(String(server.port), '9'))).toEqual(['database_unreachable']);
      expect(await examine(withPassword.replace('/sound', '/nowhere'))).toEqual(['database_refused']);
      expect(await examine(`${withPassword}?sslmode=require`)).toEqual(['database_tls_failed']);
    });

    test('because its address is invalid is a fault of the settings, and no other store is checked', async () => {
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

  test('a server that does not wait for its disk is reported', async () => {
    expect(await whileSet('fsync = off')).toEqual(['fsync_off']);
  });

  test.skipIf(cannotStartPgbouncer)('a pooler that refuses the settings of nodes is reported', async () => {
    await using pooler = await startPgbouncer(server.port, { pool_mode: 'session' });
    expect(await examine((await copyWith()).replace(String(server.port), String(pooler.port)))).toEqual([
      'database_refused',
    ]);
  });

  describe('a role', () => {
    test('that finds no tables, or may not read them', async () => {
      expect(await examine(await ownedBy('lost', 'SET search_path = elsewhere'))).toEqual(['tables_missing']);
      await runOn(server.url, 'CREATE ROLE guest LOGIN');
      expect(await examine((await copyWith()).replace('turnpike@', 'guest@'))).toEqual(['database_unreadable']);
    });
  });

  describe('a database', () => {
    test('that is empty or misses a table', async () => {
      await runOn(server.url, 'CREATE DATABASE hollow');
      expect(await examine(urlOf('hollow'))).toEqual(['tables_missing']);
      expect(await examine(await copyWith('DROP TABLE claims, learned'))).toEqual(['tables_missing']);
    });

    test('with tables of another version', async () => {
      const earlier = await copyWith(`DELETE FROM schema_versions WHERE version >= ${LATEST}`);
      expect(await examine(earlier)).toEqual(['database_of_earlier_version']);
      const later = `INSERT INTO schema_versions VALUES (${LATEST + 1}, 'later', ${LATEST + 1})`;
      expect(await examine(await copyWith(later))).toEqual(['database_of_later_version']);
      const compatible = `INSERT INTO schema_versions VALUES (${LATEST + 1}, 'later', ${LATEST})`;
      expect(await examine(await copyWith(compatible))).toEqual([]);
    });

    test('with missing guard triggers', async () => {
      expect(await examine(await copyWith('ALTER TABLE entries DISABLE TRIGGER entries_are_never_updated'))).toEqual([
        'guards_missing',
      ]);
      expect(await examine(await copyWith('DROP TRIGGER audit_is_never_deleted ON audit_records'))).toEqual([
        'guards_missing',
      ]);
    });

    test('with a locked table', async () => {
      const url = await copyWith();
      const locking = runOn(url, `SET application_name = 'an upgrade'; BEGIN; LOCK TABLE keys; SELECT pg_sleep(60)`);
      const ended = locking.catch(() => {});
      await Bun.sleep(300);
      expect(await examine(url)).toEqual(['database_unreadable']);
      await runOn(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'an upgrade'`);
      await ended;
    });

    test('with an unbalanced ledger, or records from the future', async () => {
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
    test('is not set here although nodes have it, or is lost', async () => {
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
