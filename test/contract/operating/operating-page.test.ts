// The shell blocks of docs/operating.md, run unchanged, in order, in one shell and a fresh directory in which `bin/turnpike` links to
// the program.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { readText } from '../../sources.ts';
import { executable } from '../../support/build-executable.ts';
import { freePort } from '../../support/free-port.ts';
import { readBlocks } from '../../support/read-blocks.ts';

const RUN_MS_MAX = 120_000;

const blocks = readBlocks(readText('docs/operating.md') ?? '').filter(({ language }) => language === 'sh');

let directory: string;
/** The output of each block; shorter than the list of blocks if one of them failed. */
let printed: string[];
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-operating-page-'));
  mkdirSync(join(directory, 'bin'));
  symlinkSync(executable ?? join(rootDirectory, 'bin/turnpike'), join(directory, 'bin/turnpike'));
  printed = await runAll();
}, RUN_MS_MAX);
afterAll(() => {
  for (const data of ['data', 'restored']) endService(join(directory, data, 'operator.json'));
  rmSync(directory, { recursive: true, force: true });
});

/** Each block is followed by a marker, which is printed only if every command before it ended with 0. */
async function runAll(): Promise<string[]> {
  const mark = 'the next block of docs/operating.md';
  const script = ['set -e', 'exec 2>&1', ...blocks.flatMap(({ code }) => [code, `printf '\\n${mark}\\n'`])];
  writeFileSync(join(directory, 'run.sh'), `${script.join('\n')}\nstop_turnpike\n`);
  const child = Bun.spawn(['sh', 'run.sh'], {
    cwd: directory,
    env: { PATH: '/usr/bin:/bin', HOME: directory, TURNPIKE_LISTEN: `127.0.0.1:${freePort()}` },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
    timeout: RUN_MS_MAX,
  });
  const parts = (await new Response(child.stdout).text()).split(`\n${mark}\n`);
  const rest = parts.pop() ?? '';
  if ((await child.exited) !== 0) console.log(`block ${parts.length + 1} failed:\n${rest}`);
  return parts;
}

/** Ends a service that a failed block of this test left behind. */
function endService(operatorFile: string): void {
  if (!existsSync(operatorFile)) return;
  const { pid } = JSON.parse(readFileSync(operatorFile, 'utf8')) as { pid: number };
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // the service has already ended
  }
}

/** The output of a chapter's blocks, in order. */
function printedUnder(heading: string): string {
  return printed.filter((_, place) => blocks[place]?.heading === heading).join('\n');
}

for (const [place, { heading, code }] of blocks.entries())
  test(`block ${place + 1}, under “${heading}”, ends with 0: ${code.split('\n')[0]}`, () => {
    expect(printed.length).toBeGreaterThan(place);
  });

test('every chapter with commands for newcomers has blocks that are tested', () => {
  const wanted = ['Install', 'The first hour', 'Backup and restore', "The installation's secret", 'Upgrade', 'Stop'];
  const run = new Set(blocks.map(({ heading }) => heading));
  expect(wanted.filter((heading) => !run.has(heading))).toEqual([]);
});

test('the first hour answers a message, shows its cost, and passes the ledger check', () => {
  const hour = printedUnder('The first hour');
  expect(hour).toContain('"content":[{"type":"text","text":"Hello"}]');
  expect(hour).toMatch(/ sandbox-echo +completed .* 0\.0000132 /); // 2 input and 2 output tokens, times 1.1
  expect(hour).toMatch(/^BALANCE +9\.9999868$/m);
  expect(hour).toMatch(/^OK +yes$/m);
});

test('a restored backup passes the ledger check, and the service starts with it', () => {
  const restored = printedUnder('Backup and restore');
  expect(restored).toMatch(/^LEDGER OK +yes$/m);
  expect(restored).toMatch(/^OK +yes$/m);
  expect(restored).toMatch(/ sandbox-echo +completed .* 0\.0000132 /);
});

test('a new secret is in force after a restart, and nothing needs the former one', () => {
  const rotated = printedUnder("The installation's secret");
  expect(rotated).toMatch(/^STATE +in force$/m);
  expect(rotated).toMatch(/^CREDENTIALS ON PREVIOUS +0$/m);
  expect(rotated).toMatch(/^FORGOTTEN +yes$/m);
});

test('a rotated key works, and the metrics are served to the holder of the token', () => {
  expect(printedUnder('Keys and their rotation')).toContain('"text":"Hello"');
  expect(printedUnder('Metrics and alerts')).toContain('turnpike_build_info{');
});
