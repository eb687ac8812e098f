// `npm run mutate`: takes each guard of the money out of a copy of this tree, one at a time, and runs the tests of the
// ledger, the gateway, PostgreSQL, several nodes or a move, of which one must fail. `--only NAME` takes out one, `--only FILE`
// those of a file or folder. With MUTATE_SECONDS it takes them out in the order that MUTATE_SEED (the day) gives, and begins none after that.

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, setPriority, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DAY_MS } from '../../src/base/clock.ts';
import { rootDirectory } from '../check.ts';
import { makeRandom } from '../support/random.ts';
import { cannotStartPostgres } from '../support/start-postgres.ts';
import { changeMutations } from './changes.ts';
import { moveMutations } from './moves.ts';
import { applyMutation, type Mutation } from './mutation.ts';
import { mutations } from './mutations.ts';

interface Suite {
  /** The quickest first: the first test that fails ends a run. */
  tests: readonly string[];
  runMsMax: number; // a mutation may make a loop endless
  environment: Record<string, string>;
}

const COPIES_MAX = 4;
const TEST_MS_MAX = 30_000; // none takes nearly so long

const core: Suite = {
  tests: ['test/storage/memory.test.ts', 'test/base/clock.test.ts', ...testsIn('test/ledger')],
  runMsMax: 120_000,
  environment: {},
};
/** What the runs of clients install below test/, and no copy needs. */
const INSTALLED = /\/(?:node_modules|\.venv|\.built)$/;
/** Asked last, since it takes longest and tells least of what is wrong. */
const simulation: Suite = {
  tests: ['test/simulation/simulation.test.ts'],
  runMsMax: 120_000,
  environment: { SIMULATE_SEEDS: '2000' },
};
/** Few seeds of each: what is taken out of a store is met often. */
const postgres: Suite = {
  tests: [
    'test/simulation/contention/contention.test.ts',
    'test/ledger/simulation-postgres.test.ts',
    'test/simulation/replay.test.ts',
    'test/storage/postgres-nodes.test.ts',
    'test/storage/large-sums.test.ts',
  ],
  runMsMax: 300_000,
  environment: { CONTENTION_SEEDS: '5', SIMULATION_SEEDS: '5', REPLAY_SEEDS: '5' },
};
/** Asked after it, since it takes long. */
const conformance: Suite = {
  tests: ['postgres', 'postgres-faults', 'postgres-standby'].map((name) => `test/storage/${name}.test.ts`),
  runMsMax: 300_000,
  environment: {},
};
const moving: Suite = {
  tests: [
    'test/storage/postgres-move.test.ts',
    ...['move-refused', 'move', 'move-cut-short'].map((name) => `test/maintenance/${name}.test.ts`),
  ],
  runMsMax: 300_000,
  environment: {},
};
const changing: Suite = {
  tests: [
    'test/storage/postgres-changes.test.ts',
    'test/storage/postgres-outpaced.test.ts',
    'test/admin-api/several-nodes.test.ts',
  ],
  runMsMax: 300_000,
  environment: {},
};
const gateway: Suite = {
  tests: [
    ...testsIn('test/gateway'),
    ...['503-store', 'caller-gone'].map((name) => `test/post-messages/${name}.test.ts`),
    'test/idempotency/replay.test.ts',
    'test/idempotency/at-once.test.ts',
    'test/rolling-holds/left-at-money-end.test.ts',
    'test/rolling-holds/money-end.test.ts',
    'test/rolling-holds/unseen.test.ts',
  ],
  runMsMax: 300_000,
  environment: {},
};

interface Verdict {
  isKilled: boolean;
  /** The test that failed, or what went wrong. */
  by: string;
}

const secondsMax = Number(process.env['MUTATE_SECONDS'] ?? Number.POSITIVE_INFINITY);
/** All tests have passed just now, as they are: they need not be run once more with nothing taken out. */
const isAfterTests = process.env['MUTATE_AFTER_TESTS'] === '1';
const seed = Number(process.env['MUTATE_SEED'] ?? Math.floor(Date.now() / DAY_MS));

setPriority(10); // and with it every run that is started here
const chosen = chooseMutations(process.argv.slice(2)).filter(isTestable);
const directory = mkdtempSync(join(tmpdir(), 'turnpike-mutate-'));
try {
  for (const mutation of chosen) applyMutation(readFileSync(join(rootDirectory, mutation.file), 'utf8'), mutation);
  process.exitCode = (await runAll(chosen)) ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function chooseMutations(words: readonly string[]): readonly Mutation[] {
  if (words.length === 0) return Number.isFinite(secondsMax) ? shuffled(mutations) : mutations;
  const named = mutations.filter(({ name, file }) => name === words[1] || `${file}/`.startsWith(`${words[1]}/`));
  if (words[0] === '--only' && words.length === 2 && named.length > 0) return named;
  const names = mutations.map(({ name }) => name).join(' ');
  throw new Error(`usage: mutate [--only NAME|FILE], where NAME is one of ${names}`);
}

/** Without PostgreSQL no test could miss what is taken out of its store. */
function isTestable(mutation: Mutation): boolean {
  if (!cannotStartPostgres || !suitesOf(mutation).some((suite) => [postgres, moving, changing].includes(suite)))
    return true;
  console.log(`SKIPPED  ${mutation.name}: there is no PostgreSQL`);
  return false;
}

function shuffled(all: readonly Mutation[]): readonly Mutation[] {
  const random = makeRandom(seed);
  const drawn = all.map((mutation) => ({ mutation, place: random() }));
  return drawn.sort((one, other) => one.place - other.place).map(({ mutation }) => mutation);
}

async function runAll(all: readonly Mutation[]): Promise<boolean> {
  const copies = Array.from({ length: Math.min(COPIES_MAX, availableParallelism(), all.length) }, copyTree);
  const suites = isAfterTests ? [] : [...new Set(all.flatMap(suitesOf))];
  const sound = await Promise.all(suites.map((suite) => runSuite(copies[0] as string, suite)));
  const unsound = sound.find(({ isKilled, by }) => isKilled || by !== '');
  if (unsound !== undefined) {
    console.log(`the tests fail as it is, with nothing taken out: ${unsound.by}\n\n0 passed, 1 failed`);
    return false;
  }
  const startedMs = performance.now();
  const survivors: string[] = [];
  const waiting = [...all];
  const next = () => (performance.now() - startedMs < secondsMax * 1000 ? waiting.shift() : undefined);
  await Promise.all(
    copies.map(async (copy) => {
      for (let mutation = next(); mutation !== undefined; mutation = next()) {
        const { isKilled, by } = await runMutated(copy, mutation);
        if (!isKilled) survivors.push(mutation.name);
        console.log(`${isKilled ? 'killed  ' : 'SURVIVED'} ${mutation.name}: ${mutation.removes}${by && ` (${by})`}`);
      }
    }),
  );
  if (survivors.length > 0) console.log(`\nwhat no test misses: ${survivors.join(' ')}`);
  const ran = all.length - waiting.length;
  const left = waiting.length === 0 ? '' : `, ${waiting.length} left for want of time (MUTATE_SEED=${seed})`;
  console.log(`\n${ran} mutations in ${Math.round((performance.now() - startedMs) / 1000)} s${left}`);
  console.log(`${ran - survivors.length} passed, ${survivors.length} failed`);
  return survivors.length === 0 && ran > 0;
}

/** A tree of its own. The packages are the ones of this tree, and only read: nothing is installed in a copy. */
function copyTree(_: unknown, index: number): string {
  const copy = join(directory, String(index));
  for (const name of ['src', 'test', 'package.json', 'tsconfig.json'])
    cpSync(join(rootDirectory, name), join(copy, name), { recursive: true, filter: (path) => !INSTALLED.test(path) });
  symlinkSync(join(rootDirectory, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** The tests in a directory but for those of PostgreSQL, and the long simulation last. */
function testsIn(path: string): string[] {
  const names = readdirSync(join(rootDirectory, path)).filter((name) => /(?<!-postgres)\.test\.ts$/.test(name));
  const isLong = (name: string) => Number(name === 'simulation.test.ts');
  return names.sort((one, other) => isLong(one) - isLong(other)).map((name) => `${path}/${name}`);
}

/** One after the other, until a test fails. */
function suitesOf(mutation: Mutation): readonly Suite[] {
  const { file } = mutation;
  if (moveMutations.includes(mutation)) return [moving];
  if (changeMutations.includes(mutation)) return [changing];
  if (file.startsWith('src/gateway/')) return [gateway];
  return file.startsWith('src/storage/postgres/') ? [postgres, conformance] : [core, simulation];
}

/** The tests that bear the name of the file that is changed come first: they are the likeliest to see it. */
function ownFirst({ tests, ...suite }: Suite, { file }: Mutation): Suite {
  const isOwn = (path: string) => Number(basename(path, '.test.ts') === basename(file, '.ts'));
  return { ...suite, tests: tests.toSorted((one, other) => isOwn(other) - isOwn(one)) };
}

async function runMutated(copy: string, mutation: Mutation): Promise<Verdict> {
  const path = join(copy, mutation.file);
  const text = readFileSync(path, 'utf8');
  try {
    writeFileSync(path, applyMutation(text, mutation));
    for (const suite of suitesOf(mutation)) {
      const verdict = await runSuite(copy, ownFirst(suite, mutation));
      if (verdict.isKilled || verdict.by !== '') return verdict;
    }
    return { isKilled: false, by: '' };
  } finally {
    writeFileSync(path, text);
  }
}

/** Only a test that fails, or that does not end, kills: code that does not load has lost more than one guard. */
async function runSuite(copy: string, { tests, runMsMax, environment }: Suite): Promise<Verdict> {
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
  const [shown, more, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (exitCode === 0) return { isKilled: false, by: '' };
  if (child.signalCode !== null && child.signalCode !== 'SIGTERM')
    return { isKilled: false, by: `signal ${child.signalCode}` };
  if (child.signalCode !== null) return { isKilled: true, by: `no end in ${runMsMax / 1000} s` };
  const failed = /^\(fail\) (.*?)(?: \[[\d.]+m?s\])?$/m.exec(`${shown}\n${more}`)?.[1];
  if (failed !== undefined) return { isKilled: true, by: failed };
  return { isKilled: false, by: `no test failed, but the tests ended with ${exitCode}: ${more.slice(-2000)}` };
}
