// A failed commit followed by a kill or a power cut: acknowledged messages are on the disk, others are complete or
// absent, and none is there twice. Also covers starts on a failing disk.

import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { cannotFault, type Fault, type Faulty, spawnOnDisk, startOnDisk, until } from './faulty-disk.ts';
import { expectBooks, isSettled, readAll, type Seen, sell, send, startProvider } from './witnesses.ts';

const KILLS: Fault[] = ['sync-fails', 'sync-loses', 'power-cut', 'full', 'sync-fails'];
const CALLERS = 12;

const directories: string[] = [];
function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  directories.push(directory);
  return directory;
}
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** Sends one message after another until the service has ended. */
async function load(turnpike: Faulty, secret: string, stream: boolean, all: Seen[]): Promise<void> {
  for (let end = ''; end !== 'broken'; ) {
    const sent = send(turnpike, secret, stream);
    all.push(sent.seen);
    ({ end } = await sent.done);
    if (end === 'refused') await Bun.sleep(5);
  }
}

function countWhole(all: readonly Seen[]): number {
  return all.filter(({ end }) => end === 'whole').length;
}

describe.skipIf(cannotFault)('a service that dies of a disk fault', () => {
  test(`(${KILLS.join(', ')}) has billed once what was acknowledged, and holds nothing after its start`, async () => {
    await using provider = await startProvider();
    const directory = makeDirectory();
    let turnpike = await startOnDisk(directory);
    await sell(turnpike, provider);
    const { account, secret } = await turnpike.makeKey();
    const all: Seen[] = [];
    for (const fault of KILLS) {
      const dying = turnpike;
      const before = countWhole(all);
      const loads = Array.from({ length: CALLERS }, (_, at) => load(dying, secret, at % 3 !== 0, all));
      await until('messages are answered', () => countWhole(all) > before + 2 * CALLERS);
      dying.disk.set(fault);
      await until('a fault is given', () => dying.disk.given > 0);
      await dying.kill();
      await Promise.all(loads);
      turnpike = await startOnDisk(directory);
      await expectBooks(turnpike, provider, account, all);
    }
    await turnpike.stop();
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });

  test('stopped while endings wait for the disk, bills them when it recovers, and exits 0', async () => {
    await using provider = await startProvider();
    await using turnpike = await startOnDisk();
    await sell(turnpike, provider);
    const { secret } = await turnpike.makeKey();
    provider.goOn();
    const streams = Array.from({ length: 4 }, () => send(turnpike, secret, true));
    for (const { seen } of streams) await until('a stream begins', () => seen.events.length > 3);
    turnpike.disk.set('full');
    provider.finish();
    for (const { seen } of streams) await until('an end waits', () => seen.events.at(-1) === 'ping');
    expect(await isSettled(turnpike)).toBe(false);
    turnpike.child.kill('SIGTERM');
    await Bun.sleep(200);
    turnpike.disk.set('none');
    for (const { done } of streams) expect(await done).toMatchObject({ end: 'whole' });
    expect(await turnpike.child.exited).toBe(0);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
});

// The lock or the database fails first, depending on the disk.
const STARTS: [Fault, RegExp][] = [
  ['full', /cannot be written\b.*: database or disk is full/],
  ['read-only', /cannot be written\b.*: attempt to write a readonly database/],
  ['write-fails', /cannot be written\b.*: disk I\/O error/],
  ['sync-fails', /cannot be written\b.*: disk I\/O error/],
];

describe.skipIf(cannotFault)('a start on a disk that cannot be written', () => {
  test('exits 1 with the reason, and leaves existing files unchanged', async () => {
    await using provider = await startProvider();
    const directory = makeDirectory();
    const first = await startOnDisk(directory);
    await sell(first, provider);
    const { account, secret } = await first.makeKey();
    const all = [await send(first, secret, true).done, await send(first, secret, false).done];
    provider.goOn();
    const cut = send(first, secret, true);
    await until('a stream begins', () => cut.seen.events.length > 3);
    await first.scrape(); // Writes the hold, which is young.
    await first.kill(); // The log is not in the file yet, and a hold is open.
    all.push(await cut.done);
    for (const [fault, words] of STARTS) {
      const { child, disk } = spawnOnDisk(directory, fault);
      using _disk = disk;
      const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      expect([fault, await child.exited, out]).toEqual([fault, 1, '']);
      expect(error).toMatch(words);
      expect(disk.given).toBeGreaterThan(0);
    }
    const again = await startOnDisk(directory);
    await expectBooks(again, provider, account, all);
    const records = await readAll(again, `/usage?account=${account}&`);
    expect(records.filter(({ outcome }) => outcome === 'service_cut').length).toBe(1);
    expect(countWhole(all)).toBe(2);
    await again.stop();
  });
});

/** Runs the command without root's right to write anything; null if that is impossible here. */
function withoutRights(command: string[]): string[] | null {
  if (process.getuid?.() !== 0) return command;
  const setpriv = Bun.which('setpriv');
  return setpriv === null ? null : [setpriv, '--bounding-set=-dac_override,-dac_read_search', ...command];
}

const main = join(rootDirectory, 'src/main.ts');
const serve = withoutRights([process.execPath, main, 'serve', '--listen', '127.0.0.1:0', '--data']);

test.skipIf(serve === null)('a start in a read-only directory exits 1 and names it', async () => {
  const directory = makeDirectory();
  chmodSync(directory, 0o500);
  const child = Bun.spawn([...(serve ?? []), directory], {
    env: { PATH: '/usr/bin:/bin' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, out]).toEqual([1, '']);
  expect(error).toContain(`the data directory ${directory} cannot be written`);
});
