// `npm run mutate`: changes the code of the money in a copy of this tree, one mutant at a time, and runs the tests that must notice it.
// Arguments: files or folders of src/, or names of mutants; without them, all mutants in the order that MUTATE_SEED (the day) gives.
// With MUTATE_SECONDS no mutant is begun after that time. None of the ledger's decisions may survive, and of the others few.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, setPriority, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DAY_MS } from '../../../src/base/clock.ts';
import { rootDirectory } from '../../check.ts';
import { makeRandom } from '../../support/random.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { allMutants, type TestedMutant } from './all-mutants.ts';
import { copyTree } from './copy-tree.ts';
import type { Suite } from './suites.ts';

const COPIES_MAX = 4;
const TEST_MS_MAX = 30_000; // no test takes nearly as long
/** The share of mutants around the decisions that must be noticed. */
const SHARE_LEAST = 0.6;
/** The share of fewer mutants says little. */
const SHARE_OF_LEAST = 10;

interface Verdict {
  isKilled: boolean;
  /** The test that failed, or why the run says nothing. */
  by: string;
}

const unitTests = [...new Bun.Glob('test/unit/**/*.test.ts').scanSync(rootDirectory)];
const secondsMax = Number(process.env['MUTATE_SECONDS'] ?? Number.POSITIVE_INFINITY);
/** The whole test suite has just passed: the unchanged tree is not tested first. */
const isAfterTests = process.env['MUTATE_AFTER_TESTS'] === '1';
const seed = Number(process.env['MUTATE_SEED'] ?? Math.floor(Date.now() / DAY_MS));

setPriority(10); // child processes inherit it
const chosen = chooseMutants(process.argv.slice(2));
const directory = mkdtempSync(join(tmpdir(), 'turnpike-mutate-'));
try {
  process.exitCode = (await runAll(chosen)) ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function chooseMutants(words: readonly string[]): TestedMutant[] {
  const testable = allMutants().filter(isTestable);
  if (words.length === 0) return alternate(shuffled(testable));
  const named = testable.filter(({ name, file }) =>
    words.some((word) => name === word || file === word || file.startsWith(`${word.replace(/\/$/, '')}/`)),
  );
  if (named.length === 0) throw new Error(`no mutant of ${words.join(' ')}: name files or folders of src/, or mutants`);
  return named;
}

function isTestable({ suites }: TestedMutant): boolean {
  return !cannotStartPostgres || !suites.some(({ needsPostgres }) => needsPostgres);
}

function shuffled(all: readonly TestedMutant[]): TestedMutant[] {
  const random = makeRandom(seed);
  const drawn = all.map((mutant) => ({ mutant, place: random() }));
  return drawn.sort((one, other) => one.place - other.place).map(({ mutant }) => mutant);
}

/** A decision, then one of the others, so that a short run has both. */
function alternate(all: readonly TestedMutant[]): TestedMutant[] {
  const decisions = all.filter(({ isDecision }) => isDecision);
  const others = all.filter(({ isDecision }) => !isDecision);
  return others.flatMap((other, at) => [...decisions.slice(at, at + 1), other]);
}

async function runAll(all: readonly TestedMutant[]): Promise<boolean> {
  const copies = Array.from({ length: Math.min(COPIES_MAX, availableParallelism(), all.length) }, (_, at) => {
    const copy = join(directory, String(at));
    copyTree(copy);
    return copy;
  });
  const untested = isAfterTests ? [] : [...new Set(all.flatMap(({ suites }) => suites))];
  for (const suite of untested) {
    const { isKilled, by } = await runSuite(copies[0] as string, suite);
    if (!isKilled && by === '') continue;
    console.log(`the tests fail without a mutant: ${by}\n\n0 passed, 1 failed`);
    return false;
  }
  const startedMs = performance.now();
  const survivors: TestedMutant[] = [];
  const waiting = [...all];
  const next = () => (performance.now() - startedMs < secondsMax * 1000 ? waiting.shift() : undefined);
  await Promise.all(
    copies.map(async (copy) => {
      for (let mutant = next(); mutant !== undefined; mutant = next()) {
        const { isKilled, by } = await runMutant(copy, mutant);
        if (!isKilled) survivors.push(mutant);
        const { name, file, line, change } = mutant;
        console.log(`${isKilled ? 'killed  ' : 'SURVIVED'} ${name} ${file}:${line} ${change}${by && ` (${by})`}`);
      }
    }),
  );
  const left = waiting.length === 0 ? '' : `; ${waiting.length} not run in this time (MUTATE_SEED=${seed})`;
  const ran = all.slice(0, all.length - waiting.length);
  console.log(`\n${ran.length} mutants in ${Math.round((performance.now() - startedMs) / 1000)} s${left}`);
  return judge(ran, survivors);
}

/** Prints what is wrong, the counts, and last the counts of checks: each decision, and the share of the others. */
function judge(ran: readonly TestedMutant[], survivors: readonly TestedMutant[]): boolean {
  const [decisions, others] = [ran.filter(({ isDecision }) => isDecision), ran.filter(({ isDecision }) => !isDecision)];
  const unnoticed = survivors.filter(({ isDecision }) => isDecision);
  const noticed = others.length - (survivors.length - unnoticed.length);
  const isWeak = others.length >= SHARE_OF_LEAST && noticed < SHARE_LEAST * others.length;
  console.log(`${decisions.length - unnoticed.length} of ${decisions.length} mutants of decisions are noticed`);
  console.log(`${noticed} of ${others.length} mutants of the code around them are noticed`);
  for (const { name } of unnoticed) console.log(`  FAILED no test notices ${name}`);
  if (isWeak) console.log(`  FAILED fewer than ${SHARE_LEAST * 100} % of the mutants around the decisions are noticed`);
  const failed = unnoticed.length + (isWeak ? 1 : 0);
  console.log(`${decisions.length - unnoticed.length + (isWeak ? 0 : 1)} passed, ${failed} failed`);
  return failed === 0 && ran.length > 0;
}

async function runMutant(copy: string, { file, start, end, put, suites }: TestedMutant): Promise<Verdict> {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  try {
    writeFileSync(path, text.slice(0, start) + put + text.slice(end));
    for (const suite of suites) {
      const verdict = await runSuite(copy, ownFirst(suite, file));
      if (verdict.isKilled || verdict.by !== '') return verdict;
    }
    return { isKilled: false, by: '' };
  } finally {
    writeFileSync(path, text);
  }
}

/** Tests with the name of the changed file run first: they are the likeliest to notice. Unit tests are added to the suite. */
function ownFirst(suite: Suite, file: string): Suite {
  const isOwn = (path: string) => basename(path, '.test.ts') === basename(file, '.ts');
  return {
    ...suite,
    tests: [...new Set([...unitTests, ...suite.tests].filter(isOwn)), ...suite.tests.filter((path) => !isOwn(path))],
  };
}

/** Only a failed or endless test kills. A run that fails otherwise says nothing about the tests. */
async function runSuite(copy: string, { tests, environment, runMsMax }: Suite): Promise<Verdict> {
  const child = Bun.spawn(
    [
      process.execPath,
      '--no-install',
      'test',
      '--bail',
      `--timeout=${TEST_MS_MAX}`,
      ...tests.map((path) => `./${path}`),
    ],
    {
      cwd: copy,
      env: { ...process.env, NO_COLOR: '1', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: runMsMax,
    },
  );
  const [output, errors, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (exitCode === 0) return { isKilled: false, by: '' };
  if (child.signalCode !== null && child.signalCode !== 'SIGTERM')
    return { isKilled: false, by: `signal ${child.signalCode}` };
  if (child.signalCode !== null) return { isKilled: true, by: `no end in ${runMsMax / 1000} s` };
  const failed = /^\(fail\) (.*?)(?: \[[\d.]+m?s\])?$/m.exec(`${output}\n${errors}`)?.[1];
  // Code that throws as it is loaded, or asserts outside of a test, is noticed as well.
  return { isKilled: true, by: failed ?? `the tests ended with ${exitCode}: ${errors.slice(-200)}` };
}
