// Some rounds one after the other on one data directory: load, a kill at a point, a new start, which is the one that
// is killed next, and the comparison.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../check.ts';
import { makeRandom } from '../support/random.ts';
import { attachTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { type Callers, runClients, type Seen } from './clients.ts';
import { type Comparison, compareBooks, compareRound } from './compare.ts';
import { type CountingUpstream, startCountingUpstream } from './counting-upstream.ts';
import type { CrashPoint } from './points.ts';
import { type Books, emptyBooks, readBooks } from './read-books.ts';

const LOAD_MS_MAX = 8_000; // a point that did not fire by then is not on the way of this load
const START_MS_MAX = 30_000;
const FIRST_MARK = 1_000;

/** One kill to come. */
export interface Job {
  point: CrashPoint;
  /** At which passing of it. */
  passing: number;
  seed: number;
}

export interface Round extends Comparison {
  job: Job;
  /** Whether the point was reached; else the service was killed because time was up. */
  hasFired: boolean;
  loadMs: number;
  /** The data directory, for whoever keeps it. */
  directory: string;
}

interface Service extends Turnpike {
  child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>;
  /** All that it wrote there, when it has ended. */
  stderr: Promise<string>;
}

/** Runs the jobs. Tells each round as soon as it is compared; `isOver` ends it early. Faults of the harness are thrown. */
export async function runEpoch(
  jobs: readonly Job[],
  keepFailed: boolean,
  tell: (round: Round) => void,
  isOver: () => boolean,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-crash-'));
  const begunMs = Date.now();
  let hasFailed = false;
  await using upstream = await startCountingUpstream();
  let service = await start(directory, null); // what prepares passes points, too
  try {
    const callers = await prepare(service, upstream);
    service.child.kill('SIGTERM');
    await service.child.exited;
    service = await start(directory, jobs[0] ?? null);
    const world: World = { upstream, callers, books: emptyBooks(callers.accounts), seen: [], mark: FIRST_MARK };
    await readBooks(service, world.books, begunMs);
    for (const [at, job] of jobs.entries()) {
      const startedMs = Date.now();
      const death = await loadUntilDeath(service, job, world);
      if (job.point.by === 'recovery') death.hasFired = await dieRecovering(directory, job);
      const next = isOver() ? null : (jobs[at + 1] ?? null);
      service = await start(directory, next);
      const comparison = await compare(service, world, startedMs, death.killedAtMs);
      hasFailed ||= comparison.faults.length > 0;
      tell({ ...comparison, job, hasFired: death.hasFired, loadMs: death.killedAtMs - startedMs, directory });
      if (next === null) break;
    }
    service.child.kill('SIGTERM');
    await service.child.exited;
  } finally {
    service.child.kill('SIGKILL');
    if (!hasFailed || !keepFailed) rmSync(directory, { recursive: true, force: true });
  }
}

interface World {
  upstream: CountingUpstream;
  callers: Callers;
  books: Books;
  /** Of all rounds; the last one's is the last. */
  seen: Seen[];
  mark: number;
}

interface Death {
  hasFired: boolean;
  killedAtMs: number;
}

/** The service with its points, and where this job's is among them. */
function spawn(directory: string, job: Job | null) {
  const serve = ['src/main.ts', 'serve', '--listen', '127.0.0.1:0', '--data', directory];
  const watched = job === null ? {} : { CRASH_LABEL: job.point.label, CRASH_PASSING: String(job.passing) };
  return Bun.spawn([process.execPath, '--preload', './test/crash/crash-points.ts', ...serve], {
    cwd: rootDirectory,
    env: { ...process.env, TURNPIKE_LOG: 'off', ...watched },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Starts the service, in which the point of `job` is set unless another process is to pass it. */
async function start(directory: string, job: Job | null): Promise<Service> {
  const child = spawn(directory, job?.point.by === 'service' ? job : null);
  const stderr = new Response(child.stderr).text();
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS_MAX);
  try {
    const turnpike = await attachTurnpike(child.stdout, directory);
    return Object.assign(turnpike, { child, stderr });
  } catch (failure) {
    child.kill('SIGKILL');
    throw new Error(`the service did not start on ${directory}: ${await stderr}`, { cause: failure });
  } finally {
    clearTimeout(timer);
  }
}

/** The start after a kill, killed itself while it ends the holds that were left. Whether it came so far. */
async function dieRecovering(directory: string, job: Job): Promise<boolean> {
  const child = spawn(directory, job);
  const timer = setTimeout(() => child.kill('SIGKILL'), LOAD_MS_MAX);
  const stderr = await new Response(child.stderr).text();
  await child.exited;
  clearTimeout(timer);
  return stderr.includes(`crash: ${job.point.label} `);
}

async function prepare(turnpike: Turnpike, upstream: CountingUpstream): Promise<Callers> {
  const document = {
    providers: { counting: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: Object.fromEntries(
      ['even', 'varied'].map((model) => [
        model,
        { price: { input: '1', output: '5' }, routes: [{ provider: 'counting', model }] },
      ]),
    ),
  };
  await turnpike.admin('POST', '/apply', { document });
  const callers: Callers = { secrets: [], accounts: [] };
  for (const credit of ['1000.00', '1000.00', '0.05']) {
    const { account, secret } = await turnpike.makeKey({ credit });
    callers.accounts.push(account);
    callers.secrets.push(secret);
  }
  return callers;
}

/** Loads the service until it is dead, and until each client has read what had come by then. */
async function loadUntilDeath(service: Service, job: Job, world: World): Promise<Death> {
  const random = makeRandom(job.seed);
  const seen: Seen = { sightings: [], credits: new Map() };
  world.seen.push(seen);
  const { child } = service;
  let killedAtMs = 0;
  let byUpstream = false;
  const kill = () => {
    killedAtMs ||= Date.now();
    child.kill('SIGKILL');
  };
  const timer = setTimeout(kill, job.point.by === 'recovery' ? 100 + random() * 400 : LOAD_MS_MAX);
  let requests = 0;
  world.upstream.onRequest = () => {
    requests++;
    if (job.point.by !== 'upstream' || requests !== job.passing) return;
    byUpstream = true;
    kill();
  };
  const nextMark = () => world.mark++;
  const isOver = () => child.exitCode !== null || child.signalCode !== null || child.killed;
  const loading = runClients({ turnpike: service, callers: world.callers, random, nextMark, isOver, seen });
  await child.exited;
  clearTimeout(timer);
  await loading;
  const fired = /^crash: \S+ (\d+)$/m.exec(await service.stderr);
  if (child.signalCode !== 'SIGKILL')
    throw new Error(`the service ended by itself, with ${child.exitCode}: ${await service.stderr}`);
  return { hasFired: byUpstream || fired !== null, killedAtMs: Number(fired?.[1] ?? killedAtMs) };
}

async function compare(service: Service, world: World, startedMs: number, killedAtMs: number): Promise<Comparison> {
  const { books, upstream } = world;
  const fresh = await readBooks(service, books, startedMs);
  const seen = world.seen.at(-1) as Seen;
  const { figures, faults } = compareRound({ seen, calls: upstream.calls, books, fresh, killedAtMs });
  return { figures, faults: [...faults, ...compareBooks(books, world.seen, await service.check())] };
}
