// `npm test`: the checks, and every quick test. `npm run verify`: the other tests, without the checks. Both print failures and one
// last line with the counts. Under CI a skipped test counts as failed. Arguments after `--` go to `bun test` and show its whole output.
// `--times` also prints the slowest files, and processor time against wall time. With TEST_STORE=postgres: the tests of the service once more, over PostgreSQL, without the checks.

import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { workerNames } from '../src/threads/threads.ts';
import { overBudget, used } from './budget.ts';
import { rootDirectory, runChecks, staticChecks, tidinessTests } from './check.ts';
import { type Report, readReport } from './report.ts';
import { filesOfBothStores, leftOutBy, testFiles } from './selection.ts';
import { buildExecutable } from './support/build-executable.ts';
import { readUses, type Use, uses } from './support/count-uses.ts';

interface Counts extends Report {
  /** Failures, those that no report names among them. */
  failed: number;
}

/** Half of a test file's time is waiting. */
const WORKERS_PER_PROCESSOR = 2;
const WORKERS_MAX = 4;
/** For BUN_JSC_forceRAMSize: in the small steps of the service's heap (bin/with-bun), a quarter of the time is garbage collection. */
const WORKER_RAM_BYTES = 2e9;
const TEST_MS_MAX = 180_000; // far longer than any test needs, for busy machines
const PROGRESS_MS = 30_000;
const LAST_LINES = 100;
const MEMORY_DISK = '/dev/shm';
const MEMORY_DISK_BYTES_LEAST = 6e9;
const SLOWEST = 10;
const TICKS_PER_SECOND = 100; // USER_HZ of Linux
const isVerify = process.argv[2] === '--verify';
const showsTimes = process.argv.includes('--times');
const selected = process.argv.slice(isVerify ? 3 : 2).filter((argument) => argument !== '--times');
const isCi = !['', '0', 'false', undefined].includes(process.env['CI']);
const isOverPostgres = process.env['TEST_STORE'] === 'postgres';

const checks = selected.length > 0 || isOverPostgres || isVerify ? [] : staticChecks(false);
const files = isOverPostgres
  ? filesOfBothStores()
  : testFiles(isVerify ? 'verify' : 'test').filter((file) => !tidinessTests.includes(file));
const [checksFailed, tests] = await Promise.all([
  runChecks(checks),
  runTests(selected.length > 0 ? selected : files.map((file) => `./${file}`)),
]);
if (isOverPostgres && selected.length === 0)
  for (const [reason, names] of Object.entries(leftOutBy))
    console.log(`  NOT OVER POSTGRESQL (${reason}): ${names.join(', ')}`);
const skippedCount = tests.skipped.length;
if (skippedCount > 0) {
  console.log(`\n${'!'.repeat(20)} SKIPPED: ${skippedCount} ${isCi ? '(a failure under CI) ' : ''}${'!'.repeat(20)}`);
  for (const name of tests.skipped) console.log(`  SKIPPED ${name}`);
}
for (const name of tests.failures) console.log(`  FAILED ${name}`);
const passed = checks.length - checksFailed + tests.passed;
const failed = checksFailed + tests.failed + (isCi ? skippedCount : 0);
console.log(`\n${passed} passed, ${failed} failed${!isCi && skippedCount > 0 ? `, ${skippedCount} skipped` : ''}`);
process.exit(failed === 0 ? 0 : 1);

/** Runs `bun test` and counts the tests in its report. */
async function runTests(testArguments: readonly string[]): Promise<Counts> {
  const directory = mkdtempSync(join(findFastDisk(), 'turnpike-test-'));
  chmodSync(directory, 0o711); // PostgreSQL runs as another user
  try {
    const reportFile = join(directory, 'report.xml');
    const countsFile = join(directory, 'counts');
    const command = [
      process.execPath,
      'test',
      `--timeout=${TEST_MS_MAX}`,
      `--parallel=${Math.min(WORKERS_MAX, WORKERS_PER_PROCESSOR * availableParallelism())}`,
      '--no-isolate',
      '--preload=./test/support/preload.ts',
      '--no-orphans', // services of a test that was cut by its time limit end with the run
      '--reporter=junit',
      `--reporter-outfile=${reportFile}`,
      ...testArguments,
    ];
    const isShown = selected.length > 0;
    const executable = isShown || isVerify ? {} : await buildExecutable(directory);
    const startedMs = performance.now();
    const busySeconds = readBusySeconds();
    const child = Bun.spawn(command, {
      cwd: rootDirectory,
      env: {
        ...process.env,
        TMPDIR: directory,
        TEST_WORKERS: await bundleWorkers(directory),
        TEST_COUNTS: countsFile,
        TEST_SERVICE_RAM: process.env['BUN_JSC_forceRAMSize'],
        BUN_JSC_forceRAMSize: String(WORKER_RAM_BYTES),
        ...executable,
      },
      stdio: ['ignore', isShown ? 'inherit' : 'ignore', 'pipe'],
    });
    const lastLines = await showOutput(child.stderr, isShown);
    const exitCode = await child.exited;
    const report = readReport(reportFile);
    const known = report ?? { passed: 0, failures: [], skipped: [], fileSeconds: new Map() };
    const counts = { ...known, failed: known.failures.length };
    if (showsTimes) printTimes(counts, (performance.now() - startedMs) / 1000, readBusySeconds() - busySeconds);
    // The report omits files that do not load and errors outside tests. A crash, or a test that ends the process, leaves no report.
    if ((exitCode !== 0 && counts.failed === 0) || report === null) {
      const cause = child.signalCode === null ? `code ${exitCode}` : `signal ${child.signalCode}`;
      console.log(lastLines.join('\n'));
      console.log(`\nbun test ended with ${cause} ${report === null ? 'before its end' : 'and names no failed test'}`);
      counts.failed = 1;
    }
    if (selected.length === 0) counts.failed += reportUses(readUses(countsFile));
    return counts;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The scripts of the threads, for test/support/preload.ts. */
async function bundleWorkers(directory: string): Promise<string> {
  const outdir = join(directory, 'workers');
  await Bun.build({
    entrypoints: workerNames.map((name) => join(rootDirectory, 'src/threads', `${name}.ts`)),
    naming: '[name].[ext]',
    target: 'bun',
    splitting: true,
    outdir,
  });
  return outdir;
}

/** Returns how many counts exceed the budget. */
function reportUses(counted: Record<Use, number>): number {
  const command = isOverPostgres ? 'TEST_STORE=postgres npm test' : isVerify ? 'npm run verify' : 'npm test';
  console.log(`\nUsed: ${uses.map((use) => `${counted[use]} ${use}`).join(', ')}`);
  const over = overBudget(counted, used[command]);
  for (const line of over) console.log(`OVER BUDGET ${line}`);
  return over.length;
}

function printTimes({ fileSeconds }: Report, seconds: number, busySeconds: number): void {
  const slowest = [...fileSeconds].sort(([, one], [, other]) => other - one).slice(0, SLOWEST);
  console.log(`\nThe slowest of ${fileSeconds.size} files, in seconds of their tests together:`);
  for (const [file, taken] of slowest) console.log(`${taken.toFixed(1).padStart(8)}  ${file}`);
  console.log(`${seconds.toFixed(0)} s, ${busySeconds.toFixed(0)} s of the machine's processor time`);
}

/** For how long the processors of the machine have been busy; 0 where the system does not tell. Workers that `bun test` ends are in no process's sum. */
function readBusySeconds(): number {
  if (!existsSync('/proc/stat')) return 0;
  const [, user = 0, nice = 0, system = 0] = readFileSync('/proc/stat', 'utf8').split(/\s+/, 4).map(Number);
  return (user + nice + system) / TICKS_PER_SECOND;
}

/** Where tests keep their files: in memory if there is room, because on a slow disk they mostly wait for it. */
function findFastDisk(): string {
  if (process.env['TMPDIR'] !== undefined) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    if (bavail * bsize >= MEMORY_DISK_BYTES_LEAST) return MEMORY_DISK;
  } catch {
    // There is none, as on most systems other than Linux.
  }
  return tmpdir();
}

/** Shows all of the output, or else the files with failures and the progress. Returns the last lines that it has not shown. */
async function showOutput(stream: ReadableStream<Uint8Array>, isAll: boolean): Promise<string[]> {
  const started = new Set<string>();
  let block: string[] = []; // the output of one file
  let shownMs = performance.now();
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    if (isAll) {
      process.stderr.write(chunk);
      continue;
    }
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const file = /^(\S+\.test\.tsx?):$/.exec(line)?.[1];
      if (file === undefined) {
        block.push(line);
        continue;
      }
      showFailures(block);
      block = [line];
      started.add(file);
    }
    if (performance.now() - shownMs > PROGRESS_MS) {
      shownMs = performance.now();
      console.log(`${started.size} of ${files.length} files`);
    }
  }
  showFailures(block);
  return isAll ? [] : [...block, rest].slice(-LAST_LINES);
}

/** Prints the output of a file in which a test failed, without the tests that passed. */
function showFailures(block: readonly string[]): void {
  if (!block.some((line) => /^\(fail\)|^# Unhandled error/.test(line))) return;
  console.log(block.filter((line) => !line.startsWith('(pass)')).join('\n'));
}
