// `turnpike check` of a PostgreSQL database: the same report as for SQLite; failures name the setting and no password.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { latestVersion as LATEST } from '../../../src/storage/migrations/migrations.ts';
import { prepareDatabase } from '../../../src/storage/postgres/postgres.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { cannotStartPostgres, runOn, startPostgres, type TestPostgres } from '../../support/start-postgres.ts';

const PASSWORD = 'hunter2-of-the-database';

describe.skipIf(cannotStartPostgres)('check of a database of PostgreSQL', () => {
  let server: TestPostgres;
  let withPassword: (name?: string) => string;
  beforeAll(async () => {
    server = await startPostgres({ fsync: 'off' });
    withPassword = (name = 'postgres') => `postgres://turnpike:${PASSWORD}@127.0.0.1:${server.port}/${name}`;
  });
  afterAll(() => server.remove());

  async function check(url: string, environment: Record<string, string> = {}) {
    const [words, json] = await Promise.all([
      runTurnpike(['check', '--database', url], environment),
      runTurnpike(['check', '--json'], { ...environment, TURNPIKE_DATABASE_URL: url }),
    ]);
    const report = JSON.parse(json.out);
    expect([words.exitCode, json.exitCode]).toEqual(report.ok ? [0, 0] : [1, 1]);
    const said = words.out + words.error + json.out + json.error;
    for (const unsaid of [PASSWORD, 'src/', '    at ']) expect(said).not.toContain(unsaid);
    return { ...report, words: words.out + words.error };
  }

  /** Reason why it could not be checked. */
  async function faultOf(url: string): Promise<string> {
    const { ok, faults, words } = await check(url);
    expect([ok, faults.length, words]).toEqual([false, 1, `turnpike check: ${faults[0]}\n`]);
    expect(faults[0]).toContain('TURNPIKE_DATABASE_URL');
    return faults[0];
  }

  const documentOf = (id: number) =>
    JSON.stringify({ id, name: '', groups: ['default'], status: 'enabled', createdAtMs: 1 });
  const credited = (account: number) => `
    INSERT INTO accounts (id, created_at_ms, document) VALUES (${account}, 1, '${documentOf(account)}');
    INSERT INTO account_meters VALUES (${account}, 1, 0, 7, 0, NULL, 'total', 0, 0, 0, '{}');
    INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind) VALUES (${account}, 5, 1, ${account}, 7, 'payment')`;

  test('reports what a check of any store reports, and a fault with exit code 1', async () => {
    await using database = await server.newDatabase();
    await runOn(database.url, credited(9));
    const sound = { ok: true, accounts: 1, entries: 1, open_holds: 0, usage_since: null, journal_since: null };
    expect(await check(database.url)).toMatchObject({ ...sound, faults: [] });
    await runOn(database.url, 'UPDATE account_meters SET balance = 8');
    const { ok, faults, words } = await check(database.url);
    expect([ok, faults]).toEqual([
      false,
      [expect.stringContaining('balance is not the sum'), expect.stringContaining('the opening balance of its last')],
    ]);
    expect(words).toContain(faults[0]);
  });

  test('reads one snapshot while nodes write', async () => {
    await using database = await server.newDatabase();
    let isOver = false;
    const writing = (async () => {
      for (let account = 100; !isOver; account++) await runOn(database.url, `BEGIN; ${credited(account)}; COMMIT`);
    })();
    try {
      for (let look = 0; look < 3; look++) expect(await check(database.url)).toMatchObject({ ok: true, faults: [] });
    } finally {
      isOver = true;
      await writing;
    }
  });

  test('names a database that it could not reach or that refused it', async () => {
    expect(await faultOf(withPassword().replace(String(server.port), '9'))).toContain('cannot connect to 127.0.0.1:9');
    expect(await faultOf(withPassword('nowhere'))).toContain('database "nowhere" does not exist');
    expect(await faultOf(withPassword().replace('turnpike:', 'stranger:'))).toContain('role "stranger" does not exist');
    expect(await faultOf(`${withPassword()}?sslmode=require`)).toContain('does not support TLS');
    const stranger = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('no database') });
    expect(await faultOf(`postgres://a:${PASSWORD}@127.0.0.1:${stranger.port}/b`)).toContain('not PostgreSQL');
    await stranger.stop(true);
    const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    expect(await faultOf(`postgres://a:${PASSWORD}@127.0.0.1:${silent.port}/b`)).toContain('does not answer within');
    silent.stop(true);
  });

  test('never prints a password, even when the address is badly encoded or the server repeats it', async () => {
    const said = async (url: string) => (await runTurnpike(['check', '--database', url])).error;
    for (const url of [`${PASSWORD}%`, `${PASSWORD}/a`, `12345/${PASSWORD}`, `${PASSWORD}#b`, `${PASSWORD}?c`].map(
      (password) => `postgres://turnpike:${password}@127.0.0.1:${server.port}/postgres`,
    ))
      expect([url, await said(url)]).toEqual([url, expect.not.stringContaining(PASSWORD)]);
    expect(await said(`postgres://turnpike:12345/x@127.0.0.1:${server.port}/postgres`)).not.toContain('12345');
    expect(await faultOf(`${withPassword()}?${PASSWORD}=1`)).toContain('unrecognized configuration parameter "…"');
  });

  test('reports a wrong password, and a server that requires TLS', async () => {
    const [{ file: rules } = { file: '' }] = (await runOn(
      server.url,
      `SELECT current_setting('hba_file') AS file`,
    )) as {
      file: string;
    }[];
    await runOn(server.url, `CREATE ROLE guest LOGIN PASSWORD 'another'`);
    const before = await Bun.file(rules).text();
    const letIn = async (text: string) => {
      await Bun.write(rules, text);
      await runOn(server.url, 'SELECT pg_reload_conf()');
    };
    const url = withPassword().replace('turnpike:', 'guest:');
    await letIn(`host all guest 127.0.0.1/32 scram-sha-256\n${before}`);
    expect(await faultOf(url)).toContain('password authentication failed for user "guest"');
    await letIn(`hostssl all guest 127.0.0.1/32 trust\nhost all turnpike 127.0.0.1/32 trust\n`);
    expect(await faultOf(url)).toContain('no pg_hba.conf entry');
    await letIn(before);
  });

  test('reports an untrusted certificate', async () => {
    const [{ directory } = { directory: '' }] = (await runOn(
      server.url,
      `SELECT current_setting('data_directory') AS directory`,
    )) as { directory: string }[];
    await Bun.write(`${directory}/server.crt`, selfSigned.cert);
    await Bun.write(`${directory}/server.key`, selfSigned.key);
    await runOn(server.url, 'ALTER SYSTEM SET ssl = on');
    const owner = Bun.spawnSync(['stat', '-c', '%u:%g', directory]).stdout.toString().trim();
    Bun.spawnSync(['chown', owner, `${directory}/server.key`, `${directory}/server.crt`]);
    Bun.spawnSync(['chmod', '600', `${directory}/server.key`]);
    await runOn(server.url, 'SELECT pg_reload_conf()');
    expect(await faultOf(`${withPassword()}?sslmode=verify-full`)).toContain('certificate');
  });

  test('requires tables of this version, or of a compatible one', async () => {
    await runOn(server.url, 'CREATE DATABASE hollow');
    const hollow = withPassword('hollow');
    expect(await faultOf(hollow)).toContain('it has no tables of this service');
    await prepareDatabase(hollow);
    expect(await check(hollow)).toMatchObject({ ok: true });
    await runOn(hollow, `INSERT INTO schema_versions VALUES (${LATEST + 1}, 'later', ${LATEST})`);
    expect(await check(hollow)).toMatchObject({ ok: true });
    await runOn(hollow, `INSERT INTO schema_versions VALUES (${LATEST + 2}, 'too-late', ${LATEST + 2})`);
    expect(await faultOf(hollow)).toContain(`have version ${LATEST + 2}, this release uses version ${LATEST}: use the`);
    await runOn(hollow, `DELETE FROM schema_versions WHERE version >= ${LATEST}`);
    expect(await faultOf(hollow)).toContain('start the service once to migrate them');
  });

  test('fails with the same message as a start of the service', async () => {
    const url = withPassword('nowhere');
    const given = [
      'serve',
      '--listen',
      '127.0.0.1:0',
      '--data',
      mkdtempSync(join(tmpdir(), 'turnpike-start-')),
      '--database',
      url,
    ];
    const { exitCode, error } = await runTurnpike(given, { TURNPIKE_SECRET: Buffer.alloc(32, 1).toString('base64') });
    expect([exitCode, error]).toEqual([1, expect.stringContaining('database "nowhere" does not exist')]);
    expect([error.includes('TURNPIKE_DATABASE_URL'), error.includes(PASSWORD)]).toEqual([true, false]);
    rmSync(given[4] as string, { recursive: true });
  });

  test('reports a role without read permission', async () => {
    await using database = await server.newDatabase();
    await runOn(server.url, 'CREATE ROLE onlooker LOGIN');
    expect(await faultOf(database.url.replace('turnpike@', 'onlooker@'))).toContain('permission denied');
  });
});
