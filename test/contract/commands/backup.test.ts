// `turnpike backup`: it records in the service that a backup was made, also one of another program.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { BackupReport } from '../../../src/commands/commands.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeAll(async () => {
  world = await makeCommandWorld();
});
afterAll(() => world[Symbol.dispose]());

const report: BackupReport = {
  file: '/backup/today.db',
  sign_in_file: null,
  checksum_file: '/backup/today.db.sha256',
  bytes: 4096,
  taken_at: '2026-01-01T00:00:00.000Z',
  check: { ok: true, accounts: 1, entries: 1, open_holds: 0, usage_since: null, journal_since: null, faults: [] },
  secret: 'TURNPIKE_SECRET',
  previous_secret: null,
};

/** The copy is made with this result. */
function copyAs(result: BackupReport): void {
  const refuse = () => Promise.reject(new Error('not in this test'));
  world.world.maintain = async () => ({
    backUp: async () => result,
    restore: refuse,
    migrate: refuse,
    move: refuse,
    takeBack: refuse,
    diagnose: refuse,
    secretStatus: refuse,
    rotateSecret: refuse,
    forgetPreviousSecret: refuse,
  });
}

async function lastTakenAt(): Promise<unknown> {
  return (await world.runJson('backup', '--record', '--taken-at', '2000-01-01'))['last_taken_at'];
}

test('--record records a backup of another program, at a given time or now', async () => {
  expect(await lastTakenAt()).toBe('2000-01-01T00:00:00.000Z');
  const ran = await world.run('backup', '--record', '--taken-at', '2025-06-01T12:00:00+02:00');
  expect([ran.exitCode, ran.out]).toEqual([0, 'LAST TAKEN AT  2025-06-01T10:00:00.000Z\n']);
});

test('a backup is recorded with the time when it was taken', async () => {
  copyAs(report);
  const ran = await world.run('backup', report.file);
  expect([ran.exitCode, ran.error]).toEqual([0, expect.stringContaining('turnpike restore FILE --secret')]);
  expect(await lastTakenAt()).toBe(report.taken_at);
});

test('a backup of an inconsistent ledger is not recorded, but reported as failed', async () => {
  copyAs({ ...report, taken_at: '2026-02-01T00:00:00.000Z', check: { ...report.check, ok: false } as never });
  expect((await world.run('backup', report.file)).exitCode).toBe(1);
  expect(await lastTakenAt()).toBe(report.taken_at);
  expect(world.requests).toContain('POST /api/v1/backup-failures');
});

test('a backup that no service can record is made all the same, and says so', async () => {
  copyAs(report);
  const ran = await world.run('backup', report.file, '--data', '/nonexistent');
  expect([ran.exitCode, ran.error]).toEqual([0, expect.stringContaining('does not count for the metric of its age')]);
});

test.each([
  [['backup'], 'FILE is missing'],
  [['backup', 'a.db', '--record'], '--record makes no copy'],
  [['backup', 'a.db', '--taken-at', '2026-01-01'], '--taken-at needs --record'],
  [['backup', '--record', '--taken-at', 'yesterday'], '--taken-at must be a time'],
  [['restore'], 'FILE is missing'],
])('%j is wrong usage: %s', async (given, words) => {
  const ran = await world.run(...given);
  expect([ran.exitCode, ran.error]).toEqual([2, expect.stringContaining(words)]);
});

test('--record without a service fails', async () => {
  const ran = await world.run('backup', '--record', '--data', '/nonexistent');
  expect([ran.exitCode, ran.error]).toEqual([1, expect.stringContaining('no service is running here')]);
});
