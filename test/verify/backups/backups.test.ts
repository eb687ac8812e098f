// Backups under load: after the machine of the store dies, everything that was acknowledged before the backup is there, and the
// books are right. How much later work each set-up loses is measured by measure.ts.

import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';
import { installLitestream, restoreReplica, startLitestream } from './litestream.ts';
import {
  loseStore,
  postgresWithArchive,
  postgresWithStandby,
  type SetUp,
  sqliteWithBackup,
  sqliteWithLitestream,
} from './set-ups.ts';

setDefaultTimeout(240_000);

const HALF = { ms: 300, messages: 20 };
const ARCHIVE_SECONDS = 3_600; // no segment is archived because of its age

const directory = mkdtempSync(join(tmpdir(), 'turnpike-backups-test-'));
const program = await installLitestream(directory);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function lossOf(setUp: SetUp) {
  const installation = await setUp();
  try {
    return await loseStore(installation, HALF);
  } finally {
    await installation.close();
  }
}

async function expectOnlyLaterLost(setUp: SetUp): Promise<void> {
  const { acknowledged, lostBefore, check } = await lossOf(setUp);
  expect(acknowledged).toBeGreaterThanOrEqual(2 * HALF.messages);
  expect(lostBefore).toEqual([]);
  expect(check).toMatchObject({ ok: true, faults: [] });
}

test('a file of `turnpike backup` has every message that was answered before', async () => {
  await expectOnlyLaterLost(sqliteWithBackup);
});

test.skipIf(program === null)('Litestream has every message that was answered before its last sync', async () => {
  await expectOnlyLaterLost(sqliteWithLitestream(program as string));
});

test.skipIf(cannotStartPostgres)(
  'a base backup has every message that was answered before, without its archive',
  async () => {
    await expectOnlyLaterLost(postgresWithArchive(ARCHIVE_SECONDS));
  },
);

test.skipIf(cannotStartPostgres)('a synchronous standby loses nothing', async () => {
  const { acknowledged, lost, check } = await lossOf(postgresWithStandby(true));
  expect(acknowledged).toBeGreaterThanOrEqual(2 * HALF.messages);
  expect(lost).toEqual([]);
  expect(check).toMatchObject({ ok: true, faults: [] });
});

test.skipIf(cannotStartPostgres)('the books are right after a failover to an asynchronous standby', async () => {
  const { check } = await lossOf(postgresWithStandby(false));
  expect(check).toMatchObject({ ok: true, faults: [] });
});

test.skipIf(program === null)(
  'Litestream copies a sign-in database that is created while it runs, and passwords work after a restore',
  async () => {
    const [data, replica, file] = ['data', 'replica', 'restored.db'].map((name) => join(directory, name)) as Three;
    mkdirSync(replica);
    const first = await spawnTurnpike(data);
    const litestream = await startLitestream(program as string, data, replica);
    const [, secret] = readFileSync(join(data, 'first-operator.txt'), 'utf8').trimEnd().split('#');
    const ada = { email: 'ada@example.com', password: 'correct horse battery' };
    await post(`${first.url}/api/v1/invitations/accept`, { ...ada, name: 'Ada', secret });
    await litestream.sync('turnpike.db');
    await litestream.sync('sign-in.db');
    first.process.kill('SIGKILL');
    await Promise.all([first.process.exited, litestream.kill()]);
    restoreReplica(program as string, data, replica, file);
    const restored = join(directory, 'data-2');
    const given = ['restore', file, '--data', restored, '--secret', join(data, 'secret')];
    expect(await runTurnpike(given)).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining('restored.db-sign-in'),
    });
    await using second = await spawnTurnpike(restored);
    expect((await post(`${second.url}/console/auth/sign-in/email`, ada)).status).toBe(200);
    expect(await second.check()).toMatchObject({ ok: true });
  },
);

type Three = [string, string, string];

async function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', origin: new URL(url).origin };
  return await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}
