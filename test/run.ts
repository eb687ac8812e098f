// `npm test`: the checks, then every test, then one line with the counts. Arguments after `--` go to
// `bun test` instead (npm test -- test/money.test.ts). Under CI what was skipped counts as failed.
// With TEST_STORE=postgres: the tests of the service once more, over PostgreSQL, and no checks.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesOfBothStores, leftOut } from './both-stores.ts';
import { rootDirectory, runChecks, staticChecks } from './check.ts';

interface Counts {
  passed: number;
  /** "file: name" of each test that failed. */
  failures: string[];
  /** Failures, those that no report names among them. */
  failed: number;
  /** "file: name" of each test that was skipped or is still to be written. */
  skipped: string[];
}

/** Files run beside one another: most of their time is waiting. More would be in each other's way. */
const WORKERS_MAX = 2;
const TEST_MS_MAX = 60_000; // none takes nearly so long; a machine that is busy is no failure
const selected = process.argv.slice(2);
const isCi = !['', '0', 'false', undefined].includes(process.env['CI']);

const isOnceMore = process.env['TEST_STORE'] === 'postgres';

const checks = selected.length > 0 || isOnceMore ? [] : staticChecks(false);
const checksFailed = await runChecks(checks);
const all = isOnceMore ? filesOfBothStores().map((file) => `./${file}`) : ['./test'];
const tests = await runTests(selected.length > 0 ? selected : all);
if (isOnceMore && selected.length === 0)
  for (const [name, reason] of Object.entries(leftOut)) console.log(`  NOT ONCE MORE ${name}: ${reason}`);
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

/** Runs `bun test`, its output unchanged, and counts from the report that it writes. */
async function runTests(testArguments: readonly string[]): Promise<Counts> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  try {
    const reportFile = join(directory, 'report.xml');
    const child = Bun.spawn(
      [
        process.execPath,
        'test',
        `--timeout=${TEST_MS_MAX}`,
        `--parallel=${Math.min(WORKERS_MAX, availableParallelism())}`,
        '--no-isolate',
        '--no-orphans', // services of a test that was cut by its time limit end with the run
        '--reporter=junit',
        `--reporter-outfile=${reportFile}`,
        ...testArguments,
      ],
      { cwd: rootDirectory, stdio: ['ignore', 'inherit', 'inherit'] },
    );
    const exitCode = await child.exited;
    const report = readReport(reportFile);
    const counts = report ?? { passed: 0, failures: [], failed: 0, skipped: [] };
    // A file that does not load or an error outside of any test is in no report, and a crash leaves none at
    // all; nor does a test that ends the process, and be it with 0.
    if ((exitCode !== 0 && counts.failed === 0) || report === null) {
      const cause = child.signalCode === null ? `code ${exitCode}` : `signal ${child.signalCode}`;
      console.log(`\nbun test ended with ${cause} ${report === null ? 'before its end' : 'and names no failed test'}`);
      counts.failed = 1;
    }
    return counts;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Counts the tests of a JUnit report; null when there is none. */
function readReport(reportFile: string): Counts | null {
  if (!existsSync(reportFile)) return null;
  const report = readFileSync(reportFile, 'utf8');
  const counts: Counts = { passed: 0, failures: [], failed: 0, skipped: [] };
  for (const match of report.matchAll(/<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const outcome = match[2] ?? '';
    if (/^\s*<(?:failure|error)\b/.test(outcome)) counts.failures.push(testName(match[1] ?? ''));
    else if (/^\s*<skipped\b/.test(outcome)) counts.skipped.push(testName(match[1] ?? ''));
    else counts.passed++;
  }
  counts.failed = counts.failures.length;
  return counts;
}

function testName(attributes: string): string {
  const read = (name: string) => new RegExp(`(?:^| )${name}="([^"]*)"`).exec(attributes)?.[1] ?? '?';
  return `${read('file')}: ${read('name')}`
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
