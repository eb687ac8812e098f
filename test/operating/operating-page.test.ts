// docs/operating.md does what it says: its shell blocks are taken from it and run as they stand, in their order, in one
// shell, in a fresh directory in which `bin` leads to the project's.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../check.ts';
import { readText } from '../sources.ts';
import { readBlocks } from '../support/read-blocks.ts';

const RUN_MS_MAX = 120_000;

const blocks = readBlocks(readText('docs/operating.md') ?? '').filter(({ language }) => language === 'sh');

let directory: string;
/** What each block printed; shorter than the blocks when one of them failed. */
let printed: string[];
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-operating-page-'));
  symlinkSync(join(rootDirectory, 'bin'), join(directory, 'bin'));
  printed = await runAll();
}, RUN_MS_MAX);
afterAll(() => {
  for (const data of ['data', 'restored']) endService(join(directory, data, 'operator.json'));
  rmSync(directory, { recursive: true, force: true });
});

/** Each block is followed by a mark, which is printed only when every command before it has ended with 0. */
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

function freePort(): number {
  using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  return server.port as number;
}

/** One of this test's own, that a block which failed has left behind. */
function endService(operatorFile: string): void {
  if (!existsSync(operatorFile)) return;
  const { pid } = JSON.parse(readFileSync(operatorFile, 'utf8')) as { pid: number };
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** What the blocks of a chapter printed, one after the other. */
function printedUnder(heading: string): string {
  return printed.filter((_, place) => blocks[place]?.heading === heading).join('\n');
}

for (const [place, { heading, code }] of blocks.entries())
  test(`block ${place + 1}, under “${heading}”, ends with 0: ${code.split('\n')[0]}`, () => {
    expect(printed.length).toBeGreaterThan(place);
  });

test('every chapter in which a newcomer types has blocks that are run', () => {
  const wanted = ['Install', 'The first hour', 'Backup and restore', "The installation's secret", 'Upgrade', 'Stop'];
  const run = new Set(blocks.map(({ heading }) => heading));
  expect(wanted.filter((heading) => !run.has(heading))).toEqual([]);
});

test('the first hour answers a message, says what it cost, and finds the books right', () => {
  const hour = printedUnder('The first hour');
  expect(hour).toContain('"content":[{"type":"text","text":"Hello"}]');
  expect(hour).toMatch(/ sandbox-echo +completed .* 0\.0000132 /); // 2 in, 2 out, times 1.1
  expect(hour).toMatch(/^BALANCE +9\.9999868$/m);
  expect(hour).toMatch(/^OK +yes$/m);
});

test('a backup is restored, in balance, and served', () => {
  const restored = printedUnder('Backup and restore');
  expect(restored).toMatch(/^LEDGER OK +yes$/m);
  expect(restored).toMatch(/^OK +yes$/m);
  expect(restored).toMatch(/ sandbox-echo +completed .* 0\.0000132 /);
});

test('under a new secret the old key and tokens work, and the old secret is forgotten without force', () => {
  const rotated = printedUnder("The installation's secret");
  expect(rotated).toMatch(/^STATE +in force$/m);
  expect(rotated).toMatch(/^KEYS ON PREVIOUS +1$/m);
  expect(rotated).toMatch(/^TOKENS ON PREVIOUS +2$/m);
  expect(rotated).toContain('"text":"Hello"');
  expect(rotated).toMatch(/^FORGOTTEN +yes$/m);
});

test('a rotated key answers, and the metrics are there for who has the token', () => {
  expect(printedUnder('Keys and their rotation')).toContain('"text":"Hello"');
  expect(printedUnder('Metrics and alerts')).toContain('turnpike_build_info{');
});
