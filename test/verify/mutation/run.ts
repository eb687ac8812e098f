// `npm run mutate`: changes the code of the money in a copy of this tree, one mutant at a time, and runs the tests that must notice it.
// Arguments: files or folders of src/, or names of mutants; without them, all mutants in the order that MUTATE_SEED (the day) gives.
// With MUTATE_SECONDS no mutant is begun after that time. None of the ledger's decisions may survive, and of the others few.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DAY_MS } from '../../../src/base/clock.ts';
import { makeRandom } from '../../support/random.ts';
import { allMutants, type TestedMutant } from './all-mutants.ts';
import { copyTree } from './copy-tree.ts';

const COPIES_MAX = 4;
const TEST_MS_MAX = 15_000; // no quick test takes nearly as long
/** A mutant may make a loop endless: `bun test` prints a line after each test. */
const SILENT_MS_MAX = 40_000;
/** Rare events of the simulation take that many. */
const SIMULATE_SEEDS = '2000';
/** The share of mutants around the decisions that is noticed: 42 of 64 when it was measured (59 to 72 % with one standard error). */
const SHARE_USUAL = 0.65;
/** A sample may fall short by so many standard errors: by chance, one of 350 does. Of 12, at least 3 must be noticed; of 100, 51. */
const STANDARD_ERRORS = 3;
/** The share of fewer mutants says little. */
const SHARE_OF_LEAST = 10;

interface Verdict {
  isKilled: boolean;
  /** The test that failed, or why the run says nothing. */
  by: string;
}

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
  const mutants = allMutants();
  if (words.length === 0) return alternate(shuffled(mutants));
  const named = mutants.filter(({ name, file }) =>
    words.some((word) => name === word || file === word || file.startsWith(`${word.replace(/\/$/, '')}/`)),
  );
  if (named.length === 0) throw new Error(`no mutant of ${words.join(' ')}: name files or folders of src/, or mutants`);
  return named;
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
  if (!isAfterTests) {
    const { isKilled, by } = await runTests(copies[0] as string, [...new Set(all.flatMap(({ tests }) => tests))]);
    if (isKilled || by !== '') {
      console.log(`the tests fail without a mutant: ${by}\n\n0 passed, 1 failed`);
      return false;
    }
  }
  const startedMs = performance.now();
  const survivors: TestedMutant[] = [];
  const waiting = [...all];
  const next = () => (performance.now() - startedMs < secondsMax * 1000 ? waiting.shift() : undefined);
  await Promise.all(
    copies.map(async (copy) => {
      for (let mutant = next(); mutant !== undefined; mutant = next()) {
        const begunMs = performance.now();
        const { isKilled, by } = await runMutant(copy, mutant);
        const seconds = ((performance.now() - begunMs) / 1000).toFixed(1);
        if (!isKilled) survivors.push(mutant);
        const { name, file, line, change } = mutant;
        console.log(
          `${isKilled ? 'killed  ' : 'SURVIVED'} ${name} ${file}:${line} ${change} (${by && `${by}, `}${seconds} s)`,
        );
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
  const usual = SHARE_USUAL * others.length;
  const least = Math.ceil(usual - STANDARD_ERRORS * Math.sqrt(usual * (1 - SHARE_USUAL)));
  const isWeak = others.length >= SHARE_OF_LEAST && noticed < least;
  console.log(`${decisions.length - unnoticed.length} of ${decisions.length} mutants of decisions are noticed`);
  console.log(`${noticed} of ${others.length} mutants of the code around them are noticed`);
  for (const { name } of unnoticed) console.log(`  FAILED no test notices ${name}`);
  if (isWeak) console.log(`  FAILED fewer than ${least} of the mutants around the decisions are noticed`);
  const failed = unnoticed.length + (isWeak ? 1 : 0);
  console.log(`${decisions.length - unnoticed.length + (isWeak ? 0 : 1)} passed, ${failed} failed`);
  return failed === 0 && ran.length > 0;
}

async function runMutant(copy: string, { file, start, end, put, tests }: TestedMutant): Promise<Verdict> {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  try {
    writeFileSync(path, text.slice(0, start) + put + text.slice(end));
    return await runTests(copy, tests);
  } finally {
    writeFileSync(path, text);
  }
}

/** Only a failed or endless test kills. A run that fails otherwise says nothing about the tests. */
async function runTests(copy: string, tests: readonly string[]): Promise<Verdict> {
  const options = ['--no-install', 'test', '--bail', `--timeout=${TEST_MS_MAX}`];
  const child = Bun.spawn([process.execPath, ...options, ...tests.map((path) => `./${path}`)], {
    cwd: copy,
    env: { ...process.env, NO_COLOR: '1', SIMULATE_SEEDS },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), readUntilSilent(child)]);
  const exitCode = await child.exited;
  if (exitCode === 0) return { isKilled: false, by: '' };
  if (child.signalCode !== null && child.signalCode !== 'SIGTERM')
    return { isKilled: false, by: `signal ${child.signalCode}` };
  if (child.signalCode !== null) return { isKilled: true, by: `silent for ${SILENT_MS_MAX / 1000} s` };
  // No mutant changes an import: the copy lacks a file.
  const missing = /Cannot find module .*/.exec(errors)?.[0];
  if (missing !== undefined) return { isKilled: false, by: missing };
  const failed = /^\(fail\) (.*?)(?: \[[\d.]+m?s\])?$/m.exec(`${output}\n${errors}`)?.[1];
  // Code that throws as it is loaded, or asserts outside of a test, is noticed as well.
  return { isKilled: true, by: failed ?? `the tests ended with ${exitCode}: ${errors.slice(-200)}` };
}

/** The lines of the tests. Ends them after too long without a line. */
async function readUntilSilent(child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>): Promise<string> {
  const end = () => child.kill();
  let timer = setTimeout(end, SILENT_MS_MAX);
  let text = '';
  for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) {
    text += part;
    clearTimeout(timer);
    timer = setTimeout(end, SILENT_MS_MAX);
  }
  clearTimeout(timer);
  return text;
}
