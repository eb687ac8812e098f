// Several rounds on one store: load, a kill at a point, a restart, and the comparison. If the database is killed, the
// service continues, and restarts after the comparison.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { makeKeyBelow } from '../../support/make-key-below.ts';
import { makeRandom } from '../../support/random.ts';
import { attachTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { type Callers, runClients, type Seen } from './clients.ts';
import { type Comparison, compareBooks, compareRound } from './compare.ts';
import { type CountingUpstream, startCountingUpstream } from './counting-upstream.ts';
import { type CrashPoint, LOAD_BEGINS, type StoreName } from './points.ts';
import { type Books, emptyBooks, readBooks } from './read-books.ts';
import { type CrashedStore, openCrashedStore } from './store.ts';

const LOAD_MS_MAX = 8_000; // A point that was not reached by then is not on the path of this load.
const START_MS_MAX = 30_000;
const AWAY_MS_MAX = 1_500; // For a database, in addition to its start.
const AFTERWARDS_MS = 1_500; // The load continues with a recovered database.
const LOOK_MS = 10;
const FIRST_MARK = 1_000;

/** One planned kill. */
export interface Job {
  point: CrashPoint;
  /** Number of the pass. */
  passing: number;
  seed: number;
}

export interface Round extends Comparison {
  job: Job;
  /** Whether the point was reached; otherwise the service was killed by the time limit. */
  hasFired: boolean;
  loadMs: number;
  /** Data directory, to keep it. */
  directory: string;
}

type Child = Bun.Subprocess<'ignore', 'pipe', 'pipe'>;

interface Service extends Turnpike {
  child: Child;
  /** All of its output, once it has ended. */
  stderr: Promise<string>;
}

/** Store of the rounds of an epoch. */
interface Place {
  directory: string;
  store: CrashedStore;
}

/**
 * Runs the jobs and reports each round after its comparison; `isOver` ends it early. Throws faults of the harness.
 */
export async function runEpoch(
  storeName: StoreName,
  jobs: readonly Job[],
  keepFailed: boolean,
  tell: (round: Round) => void,
  isOver: () => boolean,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-crash-'));
  const begunMs = Date.now();
  let hasFailed = false;
  await using upstream = await startCountingUpstream();
  await using store = await openCrashedStore(storeName);
  const place: Place = { directory, store };
  let service = await start(place, null); // The setup passes points too.
  try {
    const callers = await prepare(service, upstream);
    await end(service);
    service = await start(place, jobs[0] ?? null);
    const world: World = { upstream, callers, books: emptyBooks(callers.accounts), seen: [], mark: FIRST_MARK };
    await readBooks(service, world.books, begunMs);
    for (const [at, job] of jobs.entries()) {
      const startedMs = Date.now();
      const death = await (job.point.ofDatabase ? loadThroughOutage : loadUntilDeath)(service, job, world, place);
      if (job.point.by === 'recovery') death.hasFired = await dieRecovering(place, job);
      const next = isOver() ? null : (jobs[at + 1] ?? null);
      if (!job.point.ofDatabase) service = await start(place, next);
      await store.settle();
      const comparison = await compare(service, world, place, startedMs, death.killedAtMs);
      hasFailed ||= comparison.faults.length > 0;
      tell({ ...comparison, job, hasFired: death.hasFired, loadMs: death.killedAtMs - startedMs, directory });
      if (next === null) break;
      if (!job.point.ofDatabase) continue;
      await end(service);
      service = await start(place, next);
    }
    await end(service);
  } finally {
    service.child.kill('SIGKILL');
    if (!hasFailed || !keepFailed) rmSync(directory, { recursive: true, force: true });
  }
}

async function end({ child }: Service): Promise<void> {
  child.kill('SIGTERM');
  await child.exited;
}

interface World {
  upstream: CountingUpstream;
  callers: Callers;
  books: Books;
  /** Figures of all rounds. */
  seen: Seen[];
  mark: number;
}

interface Death {
  hasFired: boolean;
  killedAtMs: number;
}

/** The service with its points, including this job's. */
async function spawn({ directory, store }: Place, job: Job | null): Promise<Child> {
  const serve = ['src/main.ts', 'serve', '--listen', '127.0.0.1:0', '--data', directory];
  const preloads = store.preloads.flatMap((path) => ['--preload', path]);
  const watched = job === null ? {} : { CRASH_LABEL: job.point.label, CRASH_PASSING: String(job.passing) };
  const victim = job?.point.ofDatabase ? { CRASH_DATABASE: String(await store.process?.()) } : {};
  return Bun.spawn([process.execPath, ...preloads, ...serve], {
    cwd: rootDirectory,
    env: { ...process.env, TURNPIKE_LOG: 'off', ...store.variables, ...watched, ...victim },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Starts the service with the point of `job` set, unless another process should reach it. */
async function start(place: Place, job: Job | null): Promise<Service> {
  const { directory } = place;
  const child = await spawn(place, job?.point.by === 'service' ? job : null);
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

/** Restarts after a kill and kills that start while it ends open holds. Returns whether it got that far. */
async function dieRecovering(place: Place, job: Job): Promise<boolean> {
  const child = await spawn(place, job);
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
    callers.secrets.push(callers.accounts.length === 2 ? await makeKeyBelow(turnpike, account) : secret);
  }
  return callers;
}

/** Sends load until the service is dead and each client has read everything. */
async function loadUntilDeath(service: Service, job: Job, world: World, place: Place): Promise<Death> {
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
  const timer = setTimeout(kill, LOAD_MS_MAX);
  let requests = 0;
  world.upstream.onRequest = () => {
    requests++;
    if (job.point.by !== 'upstream' || requests !== job.passing) return;
    byUpstream = true;
    kill();
  };
  const nextMark = () => world.mark++;
  const isOver = () => child.exitCode !== null || child.signalCode !== null || child.killed;
  const killAfterMs = 100 + random() * 400;
  const killing = job.point.by === 'recovery' ? killWithHolds(place, killAfterMs, isOver, kill) : null;
  const loading = runClients({ turnpike: service, callers: world.callers, random, nextMark, isOver, seen });
  await Promise.all([child.exited, killing]);
  clearTimeout(timer);
  await loading;
  const fired = /^crash: \S+ (\d+)$/m.exec(await service.stderr);
  if (child.signalCode !== 'SIGKILL')
    throw new Error(`the service ended by itself, with ${child.exitCode}: ${await service.stderr}`);
  return { hasFired: byUpstream || fired !== null, killedAtMs: Number(fired?.[1] ?? killedAtMs) };
}

/** Kills after this time, once a hold is stored that the next start must end: young holds are in memory only. */
async function killWithHolds(
  { store, directory }: Place,
  afterMs: number,
  isOver: () => boolean,
  kill: () => void,
): Promise<void> {
  await Bun.sleep(afterMs);
  while (!isOver() && (await store.countHolds(directory)) === 0) await Bun.sleep(LOOK_MS);
  kill();
}

/** Sends load while the database is killed and recovers, until each client has its last response. */
async function loadThroughOutage(service: Service, job: Job, world: World, { store }: Place): Promise<Death> {
  const random = makeRandom(job.seed);
  const seen: Seen = { sightings: [], credits: new Map() };
  world.seen.push(seen);
  let isOver = false;
  const { callers } = world;
  const nextMark = () => world.mark++;
  const loading = runClients({ turnpike: service, callers, random, nextMark, isOver: () => isOver, seen });
  service.child.kill(LOAD_BEGINS);
  const isOfTime = job.point.by === 'time';
  const database = (await store.process?.()) as number;
  const timer = setTimeout(() => process.kill(database, 'SIGQUIT'), isOfTime ? 100 + random() * 2_000 : LOAD_MS_MAX);
  const startedMs = Date.now();
  while (isRunning(database)) await Bun.sleep(LOOK_MS);
  clearTimeout(timer);
  const killedAtMs = Date.now();
  await Bun.sleep(random() * AWAY_MS_MAX);
  await store.revive();
  await Bun.sleep(AFTERWARDS_MS);
  isOver = true;
  await loading;
  return { hasFired: isOfTime || killedAtMs - startedMs < LOAD_MS_MAX, killedAtMs };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function compare(
  service: Service,
  world: World,
  { directory, store }: Place,
  startedMs: number,
  killedAtMs: number,
): Promise<Comparison> {
  const { books, upstream } = world;
  const fresh = await readBooks(service, books, startedMs);
  const seen = world.seen.at(-1) as Seen;
  const forgetsYoung = store.process === null;
  const { figures, faults } = compareRound({ seen, calls: upstream.calls, books, fresh, killedAtMs, forgetsYoung });
  return { figures, faults: [...faults, ...compareBooks(books, world.seen, await store.check(directory))] };
}
