// Backups: taken while the service runs, complete and balanced, or not made at all.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BackupReport } from '../../../src/commands/commands.ts';
import { type Callers, nothingAcknowledged, runLoad } from '../../money/load.ts';
import { makeRandom } from '../../support/random.ts';
import { readSamples } from '../../support/read-samples.ts';
import { runTurnpike, spawnCommand } from '../../support/run-turnpike.ts';
import { spawnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

const BACKUPS = 6;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-backup-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function takeBackup(file: string, data: string): Promise<BackupReport & { words: string }> {
  const { exitCode, out, error } = await runTurnpike(['backup', file, '--data', data, '--json']);
  if (exitCode !== 0) throw new Error(`backup ended with ${exitCode}: ${error}`);
  return { ...(JSON.parse(out) as BackupReport), words: error };
}

async function makeCallers(turnpike: Turnpike): Promise<Callers> {
  const callers: Callers = { accounts: [], secrets: [], keys: [] };
  for (const credit of ['500.00', '500.00']) {
    const { account, key, secret } = await turnpike.makeKey({ credit });
    callers.accounts.push(account);
    callers.secrets.push(secret);
    callers.keys.push(key);
  }
  return callers;
}

/** Rows of these messages in the copy. */
function billedIn(file: string, requestIds: readonly string[]): string[] {
  using database = new Database(file, { readonly: true });
  const find = database.query('SELECT request_id FROM usage_records WHERE request_id = ?');
  return requestIds.filter((requestId) => find.get(requestId) !== null);
}

describe('a backup', () => {
  test(`taken under load, ${BACKUPS} times, is in balance and has every message that was acknowledged before it`, async () => {
    await using turnpike = await spawnTurnpike();
    const callers = await makeCallers(turnpike);
    const acknowledged = nothingAcknowledged();
    let isOver = false;
    const loading = runLoad({ turnpike, callers, acknowledged, random: makeRandom(11), isOver: () => isOver });
    const reports: BackupReport[] = [];
    for (let round = 0; round < BACKUPS; round++) {
      await Bun.sleep(100);
      const before = [...acknowledged.messages.keys()];
      const file = join(directory, `under-load-${round}.db`);
      const report = await takeBackup(file, turnpike.dataDirectory);
      expect(report.check).toMatchObject({ ok: true, faults: [] });
      expect(report).toMatchObject({ file, bytes: statSync(file).size });
      expect(report.secret).toBe(`file:${join(turnpike.dataDirectory, 'secret')}`);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(billedIn(file, before)).toEqual(before);
      reports.push(report);
    }
    isOver = true;
    await loading;
    expect(acknowledged.messages.size).toBeGreaterThan(BACKUPS);
    const takenAtSeconds = Date.parse(reports.at(-1)?.taken_at ?? '') / 1000;
    expect(readSamples(await (await turnpike.scrape()).text())).toMatchObject({
      turnpike_last_backup_timestamp_seconds: takenAtSeconds,
    });
    // Some backups ran during messages, and no message failed.
    expect(reports.some(({ check }) => (check?.open_holds ?? 0) > 0)).toBe(true);
    expect(await turnpike.check()).toMatchObject({ ok: true });
    expect(readdirSync(directory).filter((name) => name.includes('partial'))).toEqual([]);
    // One that fails is an event of the running service.
    const file = join(directory, 'nowhere', 'a.db');
    expect((await runTurnpike(['backup', file, '--data', turnpike.dataDirectory])).exitCode).toBe(1);
    const { data } = await turnpike.admin('GET', '/events?type=backup.failed');
    expect(data).toMatchObject([{ data: { reason: expect.stringContaining('there is no directory') } }]);
  });

  test('includes the write-ahead log of a killed service', async () => {
    const turnpike = await spawnTurnpike();
    const { account } = await turnpike.makeKey({ credit: '77.00' });
    turnpike.process.kill('SIGKILL');
    await turnpike.process.exited;
    expect(statSync(join(turnpike.dataDirectory, 'turnpike.db-wal')).size).toBeGreaterThan(0);
    const file = join(directory, 'killed.db');
    expect((await takeBackup(file, turnpike.dataDirectory)).check).toMatchObject({ ok: true, accounts: 2 });
    rmSync(turnpike.dataDirectory, { recursive: true });
    mkdirSync(join(directory, 'killed'));
    writeFileSync(join(directory, 'killed', 'turnpike.db'), readFileSync(file));
    using database = new Database(file, { readonly: true });
    expect(database.query('SELECT COUNT(*) AS n FROM accounts').get()).toEqual({ n: 2 });
    expect(account).toStartWith('acct_');
  });

  test('prints which secret it needs and how to restore it, without the secret, and writes its checksums', async () => {
    await using turnpike = await spawnTurnpike();
    const file = join(directory, 'words.db');
    writeFileSync(`${file}.sha256`, 'of a backup that was removed');
    const { exitCode, out, error } = await runTurnpike(['backup', file, '--data', turnpike.dataDirectory]);
    expect([exitCode, out.includes(file)]).toEqual([0, true]);
    const verified = Bun.spawnSync(['sha256sum', '--check', 'words.db.sha256'], { cwd: directory });
    expect([verified.exitCode, String(verified.stdout)]).toEqual([0, 'words.db: OK\n']);
    expect(error).toContain(`the file ${join(turnpike.dataDirectory, 'secret')}`);
    expect(error).toContain('To restore');
    const secret = readFileSync(join(turnpike.dataDirectory, 'secret'), 'utf8').trim();
    expect([out, error, readFileSync(file, 'latin1')].filter((text) => text.includes(secret))).toEqual([]);
  });

  test('names the variable of a secret from the environment, and reports when it is not set', async () => {
    const environment = { TURNPIKE_SECRET: Buffer.alloc(32, 5).toString('base64') };
    await using turnpike = await spawnTurnpike(undefined, environment);
    const given = ['backup', '', '--data', turnpike.dataDirectory, '--json'];
    const take = async (name: string, variables: Record<string, string>) => {
      const ran = await runTurnpike(given.with(1, join(directory, name)), variables);
      return { exitCode: ran.exitCode, secret: JSON.parse(ran.out).secret, words: ran.error };
    };
    expect(await take('from-environment.db', environment)).toMatchObject({ exitCode: 0, secret: 'TURNPIKE_SECRET' });
    const without = await take('without.db', {});
    expect(without).toMatchObject({ exitCode: 0, secret: null });
    expect(without.words).toContain('was not found here');
  });
});

describe('a backup is refused', () => {
  let data: string;
  beforeAll(async () => {
    data = join(directory, 'stopped');
    await (await spawnTurnpike(data)).stop();
  });

  const refusal = async (file: string, from = data) => {
    const { exitCode, out, error } = await runTurnpike(['backup', file, '--data', from, '--json']);
    return { exitCode, out, error };
  };

  test('when the file exists, and leaves it unchanged', async () => {
    const file = join(directory, 'mine.db');
    writeFileSync(file, 'something of mine');
    const { exitCode, out, error } = await refusal(file);
    expect([exitCode, out]).toEqual([1, '']);
    expect(error).toContain('already exists');
    expect(readFileSync(file, 'utf8')).toBe('something of mine');
  });

  test('when its directory or the database is missing', async () => {
    expect(await refusal(join(directory, 'nowhere', 'a.db'))).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining('there is no directory'),
    });
    expect(await refusal(join(directory, 'b.db'), join(directory, 'nothing'))).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining('there is no database'),
    });
    expect(existsSync(join(directory, 'b.db'))).toBe(false);
  });

  test('for a damaged database, and leaves no file', async () => {
    const damaged = join(directory, 'damaged');
    await (await spawnTurnpike(damaged)).stop();
    const file = openSync(join(damaged, 'turnpike.db'), 'r+');
    for (let page = 2; page < 120; page++) writeSync(file, Buffer.alloc(4_000, 0xff), 0, 4_000, page * 4_096 + 50);
    closeSync(file);
    const { exitCode, error } = await refusal(join(directory, 'of-damaged.db'), damaged);
    expect([exitCode, error.includes('no backup was made')]).toEqual([1, true]);
    expect(readdirSync(directory).filter((name) => name.startsWith('of-damaged'))).toEqual([]);
  });

  test('for tables of a later release; those of an earlier one are copied without verification', async () => {
    const earlier = join(directory, 'earlier');
    await (await spawnTurnpike(earlier)).stop();
    using database = new Database(join(earlier, 'turnpike.db'));
    database.run('PRAGMA user_version = 1');
    const { exitCode, out, error } = await refusal(join(directory, 'of-earlier.db'), earlier);
    const secret = `file:${join(earlier, 'secret')}`;
    expect([exitCode, JSON.parse(out)]).toMatchObject([0, { check: null, secret, previous_secret: null }]);
    expect(error).toContain('The copy has the tables of an earlier version');
    database.run('PRAGMA user_version = 1000');
    expect(await refusal(join(directory, 'of-later.db'), earlier)).toMatchObject({ exitCode: 1, out: '' });
    expect(existsSync(join(directory, 'of-later.db'))).toBe(false);
  });

  test('never for an unbalanced ledger: it is copied, its faults are printed, and the exit code is 1', async () => {
    const unbalanced = join(directory, 'unbalanced');
    await (await spawnTurnpike(unbalanced)).stop();
    using database = new Database(join(unbalanced, 'turnpike.db'));
    database.run('UPDATE account_meters SET balance = balance + 1');
    const { exitCode, out, error } = await refusal(join(directory, 'of-unbalanced.db'), unbalanced);
    expect([exitCode, JSON.parse(out).check]).toMatchObject([
      1,
      { ok: false, faults: [expect.stringContaining('balance'), expect.stringContaining('balance')] },
    ]);
    expect(error).toContain('its ledger violates the invariants');
    expect(existsSync(join(directory, 'of-unbalanced.db'))).toBe(true);
  });
});

describe('an interrupted backup', () => {
  let data: string;
  beforeAll(async () => {
    data = join(directory, 'large');
    await (await spawnTurnpike(data)).stop();
    using database = new Database(join(data, 'turnpike.db'));
    // Large enough for a signal to arrive during the copy.
    database.run(
      'CREATE TABLE ballast AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT i, hex(randomblob(100)) AS text FROM n',
    );
  });

  /** Starts a backup, sends the signal once it is copying, and returns which files remain. */
  async function cutShort(name: string, signal: 'SIGKILL' | 'SIGINT' | 'SIGTERM') {
    const child = spawnCommand(['backup', join(directory, name), '--data', data]);
    const isCopying = () =>
      readdirSync(directory).some(
        (entry) =>
          entry.startsWith(`${name}.partial-`) && statSync(join(directory, entry, 'turnpike.db')).size > 1_000_000,
      );
    for (let waitedMs = 0; waitedMs < 20_000; waitedMs += 2) {
      try {
        if (isCopying()) break;
      } catch {
        // The copy has not started.
      }
      await Bun.sleep(2);
    }
    child.kill(signal);
    const error = await new Response(child.stderr).text();
    const exitCode = await child.exited;
    return { exitCode, error, left: readdirSync(directory).filter((entry) => entry.startsWith(name)) };
  }

  test('has no file under its name after SIGKILL', async () => {
    const { left } = await cutShort('killed-backup.db', 'SIGKILL');
    expect(left).toEqual([expect.stringMatching(/^killed-backup\.db\.partial-/)]);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('exits 1 at once after %s and leaves no file', async (signal) => {
    const startedMs = performance.now();
    const { exitCode, error, left } = await cutShort(`stopped-${signal}.db`, signal);
    expect([exitCode, left]).toEqual([1, []]);
    expect(error).toContain('no backup was made');
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });
});

test("a PostgreSQL database is refused with a reference to PostgreSQL's own programs, and without its password", async () => {
  const file = join(directory, 'of-postgres.db');
  const url = 'postgres://turnpike:hunter2@127.0.0.1:9/shop';
  const { exitCode, error } = await runTurnpike(['backup', file, '--database', url]);
  expect([exitCode, error]).toEqual([1, expect.stringMatching(/shop at 127\.0\.0\.1:9 .*pg_dump.*TURNPIKE_SECRET/)]);
  expect([existsSync(file), error.includes('hunter2')]).toEqual([false, false]);
});
