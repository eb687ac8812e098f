// `turnpike restore`: a good backup into an empty directory, complete and verified; anything else is refused by name, and
// leaves nothing.

import { Database } from 'bun:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { RestoreReport } from '../../../src/commands/commands.ts';
import { latestVersion } from '../../../src/storage/migrations/migrations.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';

const hello = { model: 'sandbox-echo', max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] };
const long = { model: 'sandbox-lorem', max_tokens: 20_000, stream: true, messages: [{ role: 'user', content: 'go' }] };

const EMAIL = 'ada@example.com';
const PASSWORD = 'correct horse battery';

let directory: string;
/** The backup, its sign-in file, its checksums, and the secret. */
let backup: string;
let secret: string;
let made: { account: string; key: string; secret: string };
let openRequestId: string;
let endedRequestId: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-restore-command-'));
  await using turnpike = await spawnTurnpike(join(directory, 'first'));
  await turnpike.admin('POST', '/apply', {
    document: {
      providers: { remote: { kind: 'anthropic', base_url: 'https://api.example.com', api_key: 'sk-provider-1' } },
      models: { remote: { price: { input: '1', output: '5' }, routes: [{ provider: 'remote' }] } },
    },
  });
  made = await turnpike.makeKey({ credit: '10.00' });
  await setFirstPassword(turnpike.url, turnpike.dataDirectory);
  const ended = await turnpike.post(made.secret, hello);
  endedRequestId = ended.headers.get('request-id') ?? '';
  await ended.text();
  const open = await turnpike.post(made.secret, long);
  openRequestId = open.headers.get('request-id') ?? '';
  await turnpike.admin('GET', `/accounts/${made.account}`); // such a read writes the hold, which may be in memory only
  backup = join(directory, 'backup.db');
  secret = join(directory, 'first', 'secret');
  const { exitCode, error } = await runTurnpike(['backup', backup, '--data', turnpike.dataDirectory]);
  expect([exitCode, error]).toEqual([0, expect.not.stringContaining('does not count')]);
  await open.body?.cancel();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));
afterEach(() => {
  for (const name of ['restored', 'case']) rmSync(join(directory, name), { recursive: true, force: true });
});

/** Creates the sign-in database, by the password of the first operator. */
async function setFirstPassword(url: string, data: string): Promise<void> {
  const [, link = ''] = readFileSync(join(data, 'first-operator.txt'), 'utf8').trimEnd().split('#');
  const response = await fetch(`${url}/api/v1/invitations/accept`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ secret: link, email: EMAIL, name: 'Ada', password: PASSWORD }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
}

async function restore(file: string, more: readonly string[] = ['--secret', secret], environment = {}) {
  const data = join(directory, 'restored');
  const ran = await runTurnpike(['restore', file, '--data', data, '--json', ...more], environment);
  return { ...ran, data };
}

/** A copy of the backup with all of its files, to be damaged. */
function copyBackup(): string {
  mkdirSync(join(directory, 'case'));
  const copy = join(directory, 'case', 'backup.db');
  for (const suffix of ['', '-sign-in', '.sha256']) copyFileSync(`${backup}${suffix}`, `${copy}${suffix}`);
  return copy;
}

async function expectRefused(ran: Awaited<ReturnType<typeof restore>>, words: string | RegExp): Promise<void> {
  expect([ran.exitCode, ran.out]).toEqual([1, '']);
  expect(ran.error).toMatch(words);
  expect(existsSync(ran.data)).toBe(false);
}

test('restores everything into a new directory, says what it has, and the service starts on it', async () => {
  const { exitCode, out, error, data } = await restore(backup);
  expect([exitCode, error]).toEqual([0, expect.stringContaining('Changes after ')]);
  const report = JSON.parse(out) as RestoreReport;
  expect(report).toMatchObject({
    data,
    file: backup,
    sign_in_file: `${backup}-sign-in`,
    checksum_verified: true,
    migrated_from: null,
    has_payments: false,
    check: { ok: true, accounts: 2, open_holds: 1 },
    secret: `file:${secret}`,
  });
  expect(error).toContain(`Changes after ${report.newest_at} are missing`);
  expect(error).toContain('Open holds: 1. The start of the service ends those of messages');
  expect(readdirSync(data).sort()).toEqual(['lock', 'secret', 'sign-in.db', 'turnpike.db']);
  for (const name of readdirSync(data)) expect([name, statSync(join(data, name)).mode & 0o777]).toEqual([name, 0o600]);

  await using turnpike = await spawnTurnpike(data);
  expect(await turnpike.admin('GET', `/usage/${openRequestId}`)).toMatchObject({ outcome: 'service_cut' });
  expect((await turnpike.post(made.secret, hello)).status).toBe(200);
  expect(await turnpike.check()).toMatchObject({ ok: true });
  const signedIn = await fetch(`${turnpike.url}/console/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: turnpike.url },
    body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
  });
  expect(signedIn.status).toBe(200);
});

test('restores into an existing empty directory, with the secret of the environment', async () => {
  const data = join(directory, 'restored');
  mkdirSync(join(data, 'lost+found'), { recursive: true }); // a new file system
  const environment = { TURNPIKE_SECRET: readFileSync(secret, 'utf8').trim() };
  const { exitCode, out } = await restore(backup, [], environment);
  expect([exitCode, JSON.parse(out).secret]).toEqual([0, 'TURNPIKE_SECRET']);
  expect(readdirSync(data).sort()).toEqual(['lock', 'lost+found', 'sign-in.db', 'turnpike.db']);
});

test.skipIf(process.getuid?.() !== 0)('gives the files to the owner of the directory when root restores', async () => {
  const data = join(directory, 'restored');
  mkdirSync(data);
  chownSync(data, 65_534, 65_534);
  expect((await restore(backup)).exitCode).toBe(0);
  for (const name of readdirSync(data)) expect([name, statSync(join(data, name)).uid]).toEqual([name, 65_534]);
});

test('restores a file without checksums and sign-in file, such as that of another program, and says so', async () => {
  const copy = copyBackup();
  rmSync(`${copy}-sign-in`);
  rmSync(`${copy}.sha256`);
  const { exitCode, out, error } = await restore(copy);
  expect([exitCode, JSON.parse(out)]).toMatchObject([0, { checksum_verified: false, sign_in_file: null }]);
  expect(error).toContain('no checksum file');
  expect(error).toContain('no sign-in file');
});

test('restores again over the remains of a restore that was killed, with which the service does not start', async () => {
  const data = join(directory, 'restored');
  mkdirSync(join(data, 'restoring'), { recursive: true });
  writeFileSync(join(data, 'restoring', 'turnpike.db'), 'half of it');
  const serve = await runTurnpike(['serve', '--listen', '127.0.0.1:0', '--data', data]);
  expect([serve.exitCode, serve.error]).toEqual([1, expect.stringContaining(`a restore into ${data} was interrupted`)]);
  expect((await restore(backup)).exitCode).toBe(0);
  await using turnpike = await spawnTurnpike(data);
  expect(await turnpike.check()).toMatchObject({ ok: true });
});

test('migrates and checks the tables of an earlier version', async () => {
  const archive = join(import.meta.dir, '../../verify/compatibility/states/version-12.tgz');
  mkdirSync(join(directory, 'case'));
  Bun.spawnSync(['tar', '-xzf', archive, '-C', join(directory, 'case')]);
  const state = join(directory, 'case');
  const copy = join(directory, 'case', 'old.db');
  expect((await runTurnpike(['backup', copy, '--data', state])).exitCode).toBe(0);
  const { exitCode, out, error } = await restore(copy, ['--secret', join(state, 'secret')]);
  expect([exitCode, error]).toEqual([0, expect.stringContaining('migrated from version 12')]);
  expect(JSON.parse(out)).toMatchObject({ migrated_from: 12, check: { ok: true } });
});

describe('refuses, and leaves nothing:', () => {
  test('a directory with content, which stays as it was', async () => {
    const data = join(directory, 'restored');
    mkdirSync(data);
    writeFileSync(join(data, 'turnpike.db'), 'of another installation');
    const { exitCode, error } = await restore(backup);
    expect([exitCode, error]).toEqual([1, expect.stringContaining(`${data} is not empty (turnpike.db)`)]);
    expect(readFileSync(join(data, 'turnpike.db'), 'utf8')).toBe('of another installation');
    expect(readdirSync(data)).toEqual(['turnpike.db']);
  });

  test('a missing file, and a directory', async () => {
    await expectRefused(await restore(join(directory, 'nothing.db')), /there is no file .*nothing\.db/);
    await expectRefused(await restore(directory), /is not a file/);
  });

  test('a truncated backup, a changed byte, and a sign-in file of another backup, by their checksums', async () => {
    const copy = copyBackup();
    truncateSync(copy, statSync(copy).size - 4_096);
    await expectRefused(await restore(copy), /backup\.db is damaged, or of another backup: its SHA-256/);
    rmSync(join(directory, 'case'), { recursive: true });
    const flipped = copyBackup();
    const bytes = readFileSync(flipped);
    const at = bytes.indexOf('sandbox-echo'); // within a text, where SQLite notices nothing
    bytes[at] = (bytes[at] as number) ^ 1;
    writeFileSync(flipped, bytes);
    await expectRefused(await restore(flipped), /backup\.db is damaged, or of another backup: its SHA-256/);
    rmSync(join(directory, 'case'), { recursive: true });
    const signIn = `${copyBackup()}-sign-in`;
    appendFileSync(signIn, 'x');
    await expectRefused(await restore(join(directory, 'case', 'backup.db')), /backup\.db-sign-in is damaged/);
    rmSync(signIn);
    await expectRefused(await restore(join(directory, 'case', 'backup.db')), /backup\.db-sign-in is missing/);
  });

  test('a damaged file without checksums: truncated, of zeros, not a database, an index that differs from its table', async () => {
    const copy = copyBackup();
    rmSync(`${copy}.sha256`);
    truncateSync(copy, statSync(copy).size - 8_192);
    await expectRefused(await restore(copy), /backup\.db is damaged/);
    writeFileSync(copy, '');
    await expectRefused(await restore(copy), /it has no tables of this service/);
    writeFileSync(copy, 'x'.repeat(10_000));
    await expectRefused(await restore(copy), /backup\.db is damaged: file is not a database/);
    copyFileSync(backup, copy);
    changeIndexedText(copy);
    await expectRefused(await restore(copy), /backup\.db is damaged: .*(?:index|order)/);
  });

  test('tables of a later version, and a database of another program', async () => {
    const copy = copyBackup();
    change(copy, `PRAGMA user_version = ${latestVersion + 1}`);
    await expectRefused(await restore(copy), `the database has version ${latestVersion + 1}`);
    rmSync(copy);
    change(copy, 'CREATE TABLE notes (id)');
    await expectRefused(await restore(copy), /it has no tables of this service/);
    change(copy, `PRAGMA user_version = ${latestVersion}`);
    await expectRefused(await restore(copy), /no such table/);
  });

  test('an inconsistent ledger, by its fault', async () => {
    const copy = copyBackup();
    change(copy, 'UPDATE account_meters SET balance = balance + 1');
    await expectRefused(await restore(copy), /the ledger in it is inconsistent: .*balance/);
  });

  test('a database that was moved to PostgreSQL', async () => {
    const copy = copyBackup();
    const mark = JSON.stringify({ id: 'x', atMs: 0, to: 'shop at 127.0.0.1:5432', isDone: true });
    change(copy, `INSERT INTO installation (name, value) VALUES ('moved_to', '${mark}')`);
    await expectRefused(await restore(copy), /was moved to the database shop/);
  });

  test('a missing or wrong secret, two secrets, and a credential that does not open', async () => {
    await expectRefused(await restore(backup, []), /the installation's secret is needed: give its file with --secret/);
    const wrong = join(directory, 'wrong');
    writeFileSync(wrong, Buffer.alloc(32, 9).toString('base64'));
    await expectRefused(await restore(backup, ['--secret', wrong]), /--secret is not the secret of this backup/);
    const environment = { TURNPIKE_SECRET: Buffer.alloc(32, 9).toString('base64') };
    await expectRefused(await restore(backup, [], environment), /TURNPIKE_SECRET is not the secret of this backup/);
    const two = await restore(backup, ['--secret', secret], environment);
    expect([two.exitCode, two.error]).toEqual([2, expect.stringContaining('two secrets')]);
    const copy = copyBackup();
    change(
      copy,
      `UPDATE catalog SET document = replace(document, '"api_key_sealed":"', '"api_key_sealed":"A') WHERE name = 'remote'`,
    );
    await expectRefused(await restore(copy), /credential ".*" of provider remote cannot be decrypted/);
  });

  test('the file of a service that was killed, whose log is beside it', async () => {
    const copy = copyBackup();
    writeFileSync(`${copy}-wal`, 'pages');
    await expectRefused(await restore(copy), /its changes are partly in .*backup\.db-wal/);
  });

  test('a directory that a service uses', async () => {
    await using turnpike = await spawnTurnpike();
    const { exitCode, error } = await runTurnpike(['restore', backup, '--data', turnpike.dataDirectory]);
    expect([exitCode, error]).toEqual([1, expect.stringContaining('is not empty')]);
    expect(await turnpike.check()).toMatchObject({ ok: true });
  });

  test('with TURNPIKE_DATABASE_URL, which names PostgreSQL', async () => {
    const url = { TURNPIKE_DATABASE_URL: 'postgres://turnpike:hunter2@127.0.0.1:9/shop' };
    const ran = await restore(backup, [], { ...url, TURNPIKE_SECRET: readFileSync(secret, 'utf8').trim() });
    await expectRefused(ran, /pg_restore/);
    expect(ran.error).not.toContain('hunter2');
  });
});

/** Runs a statement on a copy; its checksums are removed, since they are not the subject. */
function change(file: string, statement: string): void {
  rmSync(`${file}.sha256`, { force: true });
  using database = new Database(file, { create: true, readwrite: true });
  database.run(statement);
}

/** Changes a request id in an index, or in its table, only: each page is still valid. */
function changeIndexedText(file: string): void {
  const before = readFileSync(file);
  for (let at = before.indexOf(endedRequestId); at >= 0; at = before.indexOf(endedRequestId, at + 1)) {
    const last = at + endedRequestId.length - 1;
    const changed = Buffer.from(before);
    changed[last] = (changed[last] as number) ^ 1;
    writeFileSync(file, changed);
    using database = new Database(file, { readonly: true });
    const answersOf = (pragma: string) => database.query(`PRAGMA ${pragma}`).values();
    if (isDeepStrictEqual(answersOf('quick_check'), [['ok']]) && answersOf('integrity_check')[0]?.[0] !== 'ok') return;
  }
  throw new Error('there is no such place');
}
