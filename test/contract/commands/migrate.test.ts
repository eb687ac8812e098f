// `turnpike migrate`: the tables of PostgreSQL under the role that owns them while nodes run under one with rights on rows only, and
// those of SQLite.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { latestVersion, migrations } from '../../../src/storage/migrations/migrations.ts';
import { databasePath, lockDirectory, openSignIn, signInPath } from '../../../src/storage/sqlite/sqlite.ts';
import { LATER_VERSION } from '../../support/later-version.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { cannotStartPostgres, runOn, startPostgres, type TestPostgres } from '../../support/start-postgres.ts';
import { attachTurnpike, spawnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { Browser, signUp } from '../sign-in/browser.ts';

const ROOT = join(import.meta.dir, '..', '..', '..');
const TURNPIKE_SECRET = Buffer.alloc(32, 9).toString('base64');
const echo = { model: 'sandbox-echo', max_tokens: 16, messages: [{ role: 'user', content: 'Hello there' }] };
const home = mkdtempSync(join(tmpdir(), 'turnpike-migrate-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Runs a command of the later release to its end, or starts its service. */
function spawnLater(given: readonly string[], environment: Record<string, string>) {
  const command = [
    process.execPath,
    '--preload',
    join(ROOT, 'test/support/later-release.ts'),
    join(ROOT, 'src/main.ts'),
  ];
  const env = { PATH: '/usr/bin:/bin', TURNPIKE_LOG: 'off', TURNPIKE_SECRET, ...environment };
  return Bun.spawn([...command, ...given], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
}

/** The statements by which docs/operating.md creates the database and both roles. */
async function runDocumented(url: string): Promise<void> {
  const [, statements = ''] =
    /<<'END'\n(CREATE ROLE turnpike_owner[\s\S]*?)END\n/.exec(readFileSync(join(ROOT, 'docs/operating.md'), 'utf8')) ??
    [];
  let connected = url;
  for (const line of statements.trim().split('\n')) {
    const database = /^\\connect (\w+)$/.exec(line)?.[1];
    if (database === undefined) await runOn(connected, line);
    else connected = url.replace(/\/postgres$/, `/${database}`);
  }
}

describe.skipIf(cannotStartPostgres)('migrate at PostgreSQL', () => {
  let server: TestPostgres;
  let owner: Record<string, string>;
  let node: Record<string, string>;
  const data = (name: string) => join(home, name);
  const urlOf = (role: string) => `postgres://${role}@127.0.0.1:${server.port}/turnpike`;

  beforeAll(async () => {
    server = await startPostgres({ fsync: 'off', full_page_writes: 'off' });
    await runDocumented(server.url);
    owner = { TURNPIKE_DATABASE_URL: urlOf('turnpike_owner') };
    node = { TURNPIKE_DATABASE_URL: urlOf('turnpike_node'), TURNPIKE_SECRET };
  });
  afterAll(() => server?.remove());

  const migrate = (...given: string[]) => runTurnpike(['migrate', ...given, '--json'], owner);
  const serve = (name: string) => spawnTurnpike(data(name), node);

  async function refusalOf(process: ReturnType<typeof spawnLater>): Promise<string> {
    expect(await process.exited).toBe(1);
    return new Response(process.stderr).text();
  }

  test('without tables, a node that may not create them is refused with the command that does', async () => {
    const refused = await runTurnpike(['serve', '--listen', '127.0.0.1:0', '--data', data('refused')], node);
    expect([refused.exitCode, refused.out]).toEqual([1, '']);
    expect(refused.error).toContain('run "turnpike migrate" under the role that owns the database');
  });

  test('the first one creates everything, and gives a role the rights of a node', async () => {
    const { exitCode, out, error } = await migrate('--grant', 'turnpike_node');
    expect([exitCode, error]).toEqual([0, '']);
    expect(JSON.parse(out)).toEqual({
      database: `turnpike at 127.0.0.1:${server.port}`,
      version_before: null,
      version: latestVersion,
      granted_to: 'turnpike_node',
    });
  });

  test('a node with these rights serves messages, the admin API and sign-ins, and its ledger is sound', async () => {
    const turnpike = await serve('serves');
    try {
      const { account, secret } = await turnpike.makeKey({ groups: ['sandbox'] });
      expect((await turnpike.post(secret, echo)).status).toBe(200);
      const { data: records } = await turnpike.admin('GET', `/usage?account=${account}`);
      expect(records).toHaveLength(1);
      const { email } = await signUp(turnpike, 'ann@example.com', 'viewer');
      const browser = new Browser(turnpike.url);
      await browser.signIn(email);
      expect(await browser.me()).toMatchObject({ email });
      expect(await turnpike.check()).toMatchObject({ ok: true, faults: [] });
    } finally {
      await turnpike.stop();
    }
    expect(turnpike.process.exitCode).toBe(0);
    const checked = await runTurnpike(['check', '--json'], node);
    expect([checked.exitCode, JSON.parse(checked.out)]).toEqual([0, expect.objectContaining({ ok: true })]);
  });

  test('the doctor has a note for a role that owns the tables, and none for another', async () => {
    const note = 'The role "turnpike_owner" owns the tables';
    const asOwner = await runTurnpike(['doctor', '--json'], { ...owner, TURNPIKE_SECRET });
    expect(asOwner.error).toContain(note);
    expect(asOwner.out).not.toContain('turnpike_owner');
    const asNode = await runTurnpike(['doctor', '--json'], node);
    expect(asNode.error).not.toContain('owns the tables');
    expect(asNode.out).not.toContain('rights_');
  });

  test('the doctor and a start name the table and the right that the role lacks', async () => {
    await runOn(urlOf('turnpike_owner'), 'REVOKE INSERT ON entries FROM turnpike_node');
    const words = 'the role "turnpike_node" lacks INSERT on entries: run "turnpike migrate --grant turnpike_node"';
    const { exitCode, out } = await runTurnpike(['doctor', '--json'], node);
    const findings = JSON.parse(out) as { code: string; message: string }[];
    expect([exitCode, findings.find(({ code }) => code === 'rights_missing')?.message]).toEqual([
      1,
      expect.stringContaining(words),
    ]);
    const refused = await runTurnpike(['serve', '--listen', '127.0.0.1:0', '--data', data('lacking')], node);
    expect([refused.exitCode, refused.error]).toEqual([1, expect.stringContaining(words)]);
  });

  test('several at once do what one does', async () => {
    const ran = await Promise.all([1, 2, 3].map(() => migrate('--grant', 'turnpike_node')));
    for (const { exitCode, out, error } of ran) {
      expect([exitCode, error]).toEqual([0, '']);
      expect(JSON.parse(out)).toMatchObject({ version_before: latestVersion, version: latestVersion });
    }
  });

  test('under a role that does not own the tables is refused, and so is a role that may not be a node’s', async () => {
    const asNode = await runTurnpike(['migrate'], node);
    expect([asNode.exitCode, asNode.out]).toEqual([1, '']);
    expect(asNode.error).toContain('the tables belong to the role "turnpike_owner", not to "turnpike_node"');
    const granted = await migrate('--grant', 'nobody');
    expect([granted.exitCode, granted.out]).toEqual([1, '']);
    expect(granted.error).toContain('there is no role "nobody"');
  });

  test('while nodes of the release before serve, a later release migrates the tables that its own nodes wait for', async () => {
    const present = await serve('present');
    const stream = { ...echo, model: 'sandbox-lorem', max_tokens: 4_000, stream: true };
    try {
      const { account, secret } = await present.makeKey({ groups: ['sandbox'] });
      const running = await present.post(secret, stream);
      const early = spawnLater(['serve', '--listen', '127.0.0.1:0', '--data', data('early')], node);
      expect(await refusalOf(early)).toContain(
        `its tables have version ${latestVersion}; this release uses version ${LATER_VERSION}, and the role "turnpike_node" may not migrate them: run "turnpike migrate" of this release under the role that owns them (turnpike_owner)`,
      );
      const migrated = spawnLater(['migrate', '--grant', 'turnpike_node', '--json'], owner);
      expect(await new Response(migrated.stdout).json()).toMatchObject({
        version_before: latestVersion,
        version: LATER_VERSION,
      });
      expect(await migrated.exited).toBe(0);
      expect(await running.text()).toContain('message_stop');
      expect((await present.post(secret, echo)).status).toBe(200);
      mkdirSync(data('later'));
      const process = spawnLater(['serve', '--listen', '127.0.0.1:0', '--data', data('later')], node);
      const later = await attachTurnpike(process.stdout, data('later'));
      await expectBothServe(present, later, account, secret);
      process.kill('SIGTERM');
      expect(await process.exited).toBe(0);
    } finally {
      await present.stop();
    }
    const again = await serve('present');
    expect(await again.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
    await again.stop();
    expect(again.process.exitCode).toBe(0);
  });

  async function expectBothServe(one: Turnpike, other: Turnpike, account: string, secret: string): Promise<void> {
    for (const turnpike of [one, other]) expect((await turnpike.post(secret, echo)).status).toBe(200);
    const { data: records } = await one.admin('GET', `/usage?account=${account}`);
    expect(records).toHaveLength(4);
  }

  test('waits for a database that is down', async () => {
    await server.stop();
    const waiting = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), 'migrate', '--json'], {
      env: { PATH: '/usr/bin:/bin', ...owner },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [first] = await Array.fromAsync(firstOf(waiting.stderr));
    expect(first).toContain('waiting for up to 60 seconds');
    await server.start();
    expect(await new Response(waiting.stdout).json()).toMatchObject({ version: LATER_VERSION });
    expect(await waiting.exited).toBe(0);
    await server.stop();
    const impatient = await runTurnpike(['migrate'], { ...owner, TURNPIKE_DATABASE_WAIT_SECONDS: '0' });
    expect([impatient.exitCode, impatient.error]).toEqual([1, expect.stringContaining('nothing listens there')]);
  });
});

async function* firstOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  for await (const chunk of stream) {
    yield new TextDecoder().decode(chunk);
    return;
  }
}

describe('migrate at SQLite', () => {
  function makeData(version: number): string {
    const directory = mkdtempSync(join(home, 'sqlite-'));
    using database = new Database(databasePath(directory), { create: true });
    for (const migration of migrations) if (migration.version <= version) database.run(migration.sqlite);
    database.run(`PRAGMA user_version = ${version}`);
    return directory;
  }

  test('brings the tables up to date, and leaves them as they are when repeated', async () => {
    const directory = makeData(10);
    openSignIn(signInPath(directory)); // empty, as after a crash of the first sign-in
    for (const before of [10, latestVersion]) {
      const { exitCode, out, error } = await runTurnpike(['migrate', '--data', directory, '--json']);
      expect([exitCode, error]).toEqual([0, '']);
      expect(JSON.parse(out)).toEqual({
        database: `file ${databasePath(directory)}`,
        version_before: before,
        version: latestVersion,
        granted_to: null,
      });
    }
    using signIn = new Database(signInPath(directory), { readonly: true });
    expect(signIn.query("SELECT name FROM sqlite_schema WHERE name = 'guesses'").all()).toHaveLength(1);
    const printed = await runTurnpike(['migrate', '--data', directory]);
    expect(printed.out).toMatch(
      new RegExp(`^DATABASE +file .*\\nVERSION BEFORE +${latestVersion}\\nVERSION +${latestVersion}\\n`),
    );
  });

  test('is refused while a server runs on the directory', async () => {
    const directory = makeData(10);
    const lock = lockDirectory(directory);
    const { exitCode, error } = await runTurnpike(['migrate', '--data', directory]);
    lock.close();
    expect([exitCode, error]).toEqual([1, expect.stringContaining('another server is running on the data directory')]);
    using database = new Database(databasePath(directory), { readonly: true });
    expect(database.query('PRAGMA user_version').get()).toEqual({ user_version: 10 });
  });

  test('creates no database, and knows no roles', async () => {
    const missing = await runTurnpike(['migrate', '--data', join(home, 'nowhere')]);
    expect([missing.exitCode, missing.error]).toEqual([1, expect.stringContaining('there is no database at')]);
    const granted = await runTurnpike(['migrate', '--data', makeData(10), '--grant', 'node']);
    expect([granted.exitCode, granted.error]).toEqual([2, expect.stringContaining('--grant is for PostgreSQL')]);
  });
});
