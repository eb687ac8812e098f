// The command line as a process: exit codes, signals, pipes.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectNotices } from '../../../src/licenses/licenses.ts';
import { versionOfCheckout } from '../../../src/version.ts';
import { rootDirectory } from '../../check.ts';
import { turnpikeCommand } from '../../support/build-executable.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { storeVariables } from '../../support/test-store.ts';

const MANY_PROCESSES_MS = 30_000; // each process starts separately, perhaps on a busy machine
let directory: string;
let store: Record<string, string>;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-process-'));
  store = await storeVariables(join(directory, 'data'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function start(...given: string[]) {
  const env = { PATH: '/usr/bin:/bin', TURNPIKE_DATA: join(directory, 'data'), TURNPIKE_LOG: 'off', ...store };
  return Bun.spawn([...turnpikeCommand(), ...given], { env, stdout: 'pipe', stderr: 'pipe', cwd: directory });
}

async function run(...given: string[]): Promise<{ exitCode: number; out: string; error: string }> {
  const child = start(...given);
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exitCode: await child.exited, out, error };
}

/** Starts a server; resolves once it prints its address. */
async function serve(...flags: string[]) {
  const child = start('serve', '--listen', '127.0.0.1:0', ...flags);
  let out = '';
  for await (const chunk of child.stdout) {
    out += Buffer.from(chunk).toString();
    if (/^listening on http:\/\/127\.0\.0\.1:\d+$/m.test(out)) return { child, out };
  }
  throw new Error(`serve ended: ${out}${await new Response(child.stderr).text()}`);
}

test(
  'a server starts, serves local commands and a check, and exits 0 at SIGTERM',
  async () => {
    const { child } = await serve();
    expect(statSync(join(directory, 'data', 'operator.json')).mode & 0o777).toBe(0o600);
    const accounts = await run('account', 'list', '--json');
    expect([accounts.exitCode, JSON.parse(accounts.out).length, accounts.error]).toEqual([0, 1, '']);
    const check = await run('check', '--json');
    expect([check.exitCode, JSON.parse(check.out)]).toEqual([
      0,
      { ok: true, accounts: 1, entries: 1, open_holds: 0, usage_since: null, journal_since: null, faults: [] },
    ]);
    const second = await run('serve', '--listen', '127.0.0.1:0');
    expect([second.exitCode, second.out]).toEqual([1, '']);
    expect(second.error).toMatch(/^turnpike serve: .*another server.*\n$/);
    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    expect((await run('account', 'list')).error).toContain('no service is running here');
    expect((await run('check')).exitCode).toBe(0);
  },
  MANY_PROCESSES_MS,
);

test(
  'a server that gets SIGTERM as soon as it prints its address exits 0',
  async () => {
    const data = join(directory, 'stopped-at-once');
    for (let times = 0; times < 5; times++) {
      const { child } = await serve('--data', data);
      child.kill('SIGTERM');
      expect(await child.exited).toBe(0);
      expect(existsSync(join(data, 'operator.json'))).toBe(false);
    }
  },
  MANY_PROCESSES_MS,
);

test('a server with an invalid file prints each fault with its line, exits 1, and leaves nothing running', async () => {
  const file = join(directory, 'turnpike.yaml');
  writeFileSync(file, 'groups:\n  vip:\n    models: []\n    rpm: many\n');
  const { exitCode, out, error } = await run('serve', '--listen', '127.0.0.1:0', '--apply', file);
  expect([exitCode, out.includes('listening')]).toEqual([1, false]);
  expect(error).toContain(`${file}:3: groups.vip.models: `);
  expect(error).toContain(`${file}:4: groups.vip.rpm: `);
  expect(existsSync(join(directory, 'data', 'operator.json'))).toBe(false);
});

test('the version is that of this checkout, from any directory', async () => {
  const version = versionOfCheckout(rootDirectory);
  expect(await run('--version')).toEqual({ exitCode: 0, out: `${version}\n`, error: '' });
});

test('the licenses are those of the installed packages, without a service', async () => {
  const { exitCode, out } = await run('licenses', '--json');
  expect([exitCode, JSON.parse(out)]).toEqual([0, collectNotices(rootDirectory)]);
});

test('bin/turnpike works from any directory, through absolute and relative symbolic links', () => {
  const links = join(directory, 'links with spaces');
  mkdirSync(links);
  symlinkSync(join(import.meta.dir, '..', '..', '..', 'bin', 'turnpike'), join(links, 'turnpike'));
  symlinkSync('turnpike', join(links, 'tp'));
  const { exitCode, stdout } = Bun.spawnSync(['./tp', '--version'], { cwd: links });
  expect([exitCode, stdout.toString()]).toEqual([0, `${versionOfCheckout(rootDirectory)}\n`]);
});

test("a check of another program's database prints one value, names the fault and exits 1", async () => {
  const foreign = join(directory, 'foreign');
  mkdirSync(foreign);
  writeFileSync(join(foreign, 'turnpike.db'), 'this is something else');
  for (const data of [foreign, join(directory, 'nowhere')]) {
    const { exitCode, out } = await runTurnpike(['check', '--json', '--data', data]);
    expect([exitCode, JSON.parse(out)]).toEqual([
      1,
      {
        ok: false,
        accounts: 0,
        entries: 0,
        open_holds: 0,
        usage_since: null,
        journal_since: null,
        faults: [expect.stringMatching(/database/)],
      },
    ]);
  }
});

test('a closed pipe ends a list without failure', async () => {
  const { child: server } = await serve();
  const child = Bun.spawn(['sh', '-c', `"$@" model list --json | head -c 1; true`, 'sh', ...turnpikeCommand()], {
    env: { PATH: '/usr/bin:/bin', TURNPIKE_DATA: join(directory, 'data') },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  expect([await new Response(child.stdout).text(), await new Response(child.stderr).text()]).toEqual(['[', '']);
  server.kill('SIGINT'); // The server's reader also disconnected after one line.
  expect(await server.exited).toBe(0);
});
