// `sh bin/with-bun all test/verify/compatibility/past-days.ts [DAYS]`: the last commit of each of the past DAYS days (7) of this branch makes
// data under load, is killed, and this build starts on it, on both stores, as states.test.ts does. Then it is started on the tables of a
// later build, which it must refuse. Ends with a count line.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { $ } from 'bun';
import { DAY_MS } from '../../../src/base/clock.ts';
import { latestVersion } from '../../../src/storage/migrations/migrations.ts';
import { openForWriting } from '../../../src/storage/sqlite/sqlite.ts';
import { rootDirectory } from '../../check.ts';
import { unpackBuild } from './previous-build.ts';
import { TURNPIKE_SECRET } from './state-upstream.ts';

const days = Number(process.argv[2] ?? 7);
const counts = { passed: 0, failed: 0 };
for (const { day, commit } of await listCommits()) {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-past-'));
  try {
    const build = join(directory, 'build');
    await unpackBuild(commit, build);
    await check(`${day} ${commit}: its data is served`, () => upgrade(build, directory));
    await check(`${day} ${commit}: refuses later tables`, () => downgrade(build, directory));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1);

/** The last commit of each day that has one, oldest first. */
async function listCommits(): Promise<{ day: string; commit: string }[]> {
  const since = new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  const log = await $`git log --first-parent --date=format:%F --format=${'%cd %H'} --since=${`${since} 00:00`}`
    .cwd(rootDirectory)
    .text();
  const last = new Map<string, string>();
  for (const line of log.trim().split('\n')) {
    const [day = '', commit = ''] = line.split(' ');
    if (!last.has(day)) last.set(day, commit);
  }
  return [...last].map(([day, commit]) => ({ day, commit })).reverse();
}

async function check(name: string, run: () => Promise<string>): Promise<void> {
  try {
    const words = await run();
    counts.passed++;
    console.log(`passed ${name}: ${words}`);
  } catch (failure) {
    counts.failed++;
    console.log(`FAILED ${name}: ${failure instanceof Error ? failure.message : failure}`);
  }
}

async function upgrade(build: string, directory: string): Promise<string> {
  const states = join(directory, 'states');
  const environment = { ...process.env, STATES: states };
  const made = await $`${process.execPath} test/verify/compatibility/make-state.ts ${build} past`
    .cwd(rootDirectory)
    .env(environment)
    .quiet()
    .nothrow();
  if (made.exitCode !== 0) throw new Error(`it makes no data: ${made.stderr}`);
  const tested = await $`${process.execPath} test test/verify/compatibility/states.test.ts`
    .cwd(rootDirectory)
    .env(environment)
    .quiet()
    .nothrow();
  const output = tested.stderr.toString();
  if (tested.exitCode !== 0) throw new Error(output);
  return output
    .split('\n')
    .filter((line) => line.startsWith('(pass)'))
    .map((line) => line.replace('(pass) ', ''))
    .join('; ');
}

async function downgrade(build: string, directory: string): Promise<string> {
  const data = join(directory, 'later');
  await $`mkdir ${data}`;
  using database = openForWriting(join(data, 'turnpike.db'));
  database.run(`PRAGMA user_version = ${latestVersion + 1}`);
  const started = await $`timeout 60 ${process.execPath} src/main.ts serve --listen 127.0.0.1:0 --data ${data}`
    .cwd(build)
    .env({ ...process.env, TURNPIKE_SECRET })
    .quiet()
    .nothrow();
  const words = started.stderr.toString().trim().split('\n').at(-1) ?? '';
  if (started.exitCode !== 1 || !words.includes(`version ${latestVersion + 1}`))
    throw new Error(`exit code ${started.exitCode}, ${words}`);
  return words;
}
