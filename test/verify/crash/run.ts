// `npm run crash`: kills the service under load at each point of a message's life, CRASH_KILLS times (100), and
// compares client, upstream and ledger each time. CRASH_SECONDS stops new rounds after this time; CRASH_SEED
// (default: the day) picks the moments; CRASH_KEEP=1 keeps files of failed rounds; `--only LABEL` selects one point;
// `--store postgres` the other store.

import { availableParallelism } from 'node:os';
import { DAY_MS } from '../../../src/base/clock.ts';
import { makeRandom } from '../../support/random.ts';
import { addFigures } from './compare.ts';
import { type Job, type Round, runEpoch } from './epoch.ts';
import { type CrashPoint, crashPoints, type StoreName, storeNames } from './points.ts';
import { describeLines, type Line, noLine } from './table.ts';

const ROUNDS_PER_EPOCH_MAX = 10;
const LANES_MAX = 2; // The service has several threads, and the load runs here too.
const UNREACHED_MAX = 3; // Rounds without reaching a point before it is skipped.

const kills = Number(process.env['CRASH_KILLS'] ?? 100);
const secondsMax = Number(process.env['CRASH_SECONDS'] ?? Number.POSITIVE_INFINITY);
const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Date.now() / DAY_MS));
const keepFailed = process.env['CRASH_KEEP'] === '1';
const startedMs = performance.now();
const { storeName, words } = chooseStore(process.argv.slice(2));
const points = choosePoints();
const lines = new Map<string, Line>();
for (const { label } of points) lines.set(label, noLine());

const waiting = drawJobs(points);
const all = waiting.length;
let broken = 0; // Rounds that could not be compared.
await Promise.all(Array.from({ length: Math.min(LANES_MAX, availableParallelism()) }, runLane));
process.exitCode = conclude() ? 0 : 1;

/** The store, and the remaining arguments. */
function chooseStore(given: readonly string[]): { storeName: StoreName; words: readonly string[] } {
  const at = given.indexOf('--store');
  if (at < 0) return { storeName: 'sqlite', words: given };
  const storeName = storeNames.find((name) => name === given[at + 1]);
  if (storeName === undefined) throw new Error(`--store must be ${storeNames.join(' or ')}`);
  return { storeName, words: given.toSpliced(at, 2) };
}

function choosePoints(): readonly CrashPoint[] {
  const known = crashPoints[storeName];
  if (words.length === 0) return known;
  const named = known.filter(({ label }) => label === words[1]);
  if (words[0] === '--only' && [2, 4].includes(words.length) && named.length === 1) return named;
  const labels = known.map(({ label }) => label).join(' ');
  throw new Error(`usage: crash [--store STORE] [--only LABEL [PASSING LOAD]], where LABEL is one of ${labels}`);
}

/** Every point once, in random order, and so on: an interrupted run has tried each. */
function drawJobs(among: readonly CrashPoint[]): Job[] {
  const random = makeRandom(seed);
  const [, , passing, load] = words.map(Number);
  if (passing !== undefined && load !== undefined)
    return Array.from({ length: kills }, () => ({ point: among[0] as CrashPoint, passing, seed: load }));
  return Array.from({ length: kills }, () => {
    const drawn = among.map((point) => ({
      point,
      place: random(),
      passing: 1 + Math.floor(random() * point.passingsMax),
    }));
    drawn.sort((one, other) => one.place - other.place);
    return drawn.map(({ point, passing, place }) => ({ point, passing, seed: Math.floor(place * 2 ** 32) }));
  }).flat();
}

function isTimeUp(): boolean {
  return performance.now() - startedMs > secondsMax * 1000;
}

/** Skips points that were repeatedly not reached. */
function isWorthwhile({ point }: Job): boolean {
  const line = lines.get(point.label) as Line;
  return line.kills > 0 || line.unreached < UNREACHED_MAX;
}

async function runLane(): Promise<void> {
  while (waiting.length > 0 && !isTimeUp()) {
    const count = Math.min(ROUNDS_PER_EPOCH_MAX, Math.ceil(waiting.length / LANES_MAX));
    const jobs = waiting.splice(0, count).filter(isWorthwhile);
    if (jobs.length === 0) continue;
    let done = 0;
    const tell = (round: Round) => {
      done++;
      note(round);
    };
    try {
      await runEpoch(storeName, jobs, keepFailed, tell, isTimeUp);
    } catch (failure) {
      broken++;
      waiting.push(...jobs.slice(done + 1));
      console.log(`BROKEN at ${describeJob(jobs[done] as Job)}: ${failure instanceof Error ? failure.stack : failure}`);
    }
  }
}

function note({ job, hasFired, figures, faults, directory, loadMs }: Round): void {
  const line = lines.get(job.point.label) as Line;
  if (hasFired) line.kills++;
  else line.unreached++;
  line.faults += faults.length;
  if (faults.length > 0) line.failedRounds++;
  addFigures(line.figures, figures);
  line.loadMs += loadMs;
  if (faults.length === 0) return;
  console.log(`FAILED at ${describeJob(job)}${keepFailed ? `, data in ${directory}` : ''}`);
  for (const fault of faults) console.log(`  ${fault}`);
}

function describeJob({ point, passing, seed: own }: Job): string {
  const store = storeName === 'sqlite' ? '' : `--store ${storeName} `;
  return `${point.label} (seed ${seed}; again: npm run crash -- ${store}--only ${point.label} ${passing} ${own})`;
}

/** Prints all figures and unreached points; returns whether all rounds passed. */
function conclude(): boolean {
  console.log(`\n${describeLines(lines)}\n`);
  const rounds = [...lines.values()];
  const unreached = [...lines].filter(([, { kills: fired, unreached: missed }]) => fired === 0 && missed > 0);
  for (const [label] of unreached) console.log(`NEVER REACHED: ${label}. Nothing was proved of it.`);
  const begun = rounds.reduce((sum, { kills: fired, unreached: missed }) => sum + fired + missed, 0);
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const left =
    begun + broken < all ? `, ${all - begun - broken} left for want of time or because nothing reached them` : '';
  console.log(`${begun} of ${all} rounds in ${seconds} s${left} (CRASH_SEED=${seed})`);
  const failed = broken + unreached.length + rounds.reduce((sum, { failedRounds }) => sum + failedRounds, 0);
  const passed = rounds.reduce((sum, { kills: fired, failedRounds }) => sum + fired - failedRounds, 0);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0;
}
