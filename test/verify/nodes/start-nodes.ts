// Nodes on one database, each a process of its own with a data directory, an address and a way to the database of its own, so
// that each can be killed, suspended, cut off and started again. No tests of its own.

import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Subprocess, spawn } from 'bun';
import { readConfig } from '../../../src/config/config.ts';
import type { CheckReport } from '../../../src/ledger/ledger.ts';
import { checkStore } from '../../../src/maintenance/maintenance.ts';
import { rootDirectory } from '../../check.ts';
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts';
import { freePort } from '../../support/free-port.ts';
import { runOn, startPostgres, type TestDatabase, type TestPostgres } from '../../support/start-postgres.ts';
import { attachTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

export interface Nodes extends AsyncDisposable {
  postgres: TestPostgres;
  /** Straight to the database, through no proxy. */
  databaseUrl: string;
  all: readonly ServiceNode[];
  /** The books as they are in the database. */
  check(): Promise<CheckReport>;
}

export interface NodesSettings {
  /** Between each node and the database stands a proxy that can fail. */
  proxied?: boolean;
  /** Settings of the database server, such as `fsync`. */
  postgres?: Readonly<Record<string, string>>;
  environment?: Record<string, string>;
  /** Loaded before the service, such as what shortens a bound. */
  preload?: string;
  /** Working trees of the nodes' builds, instead of this one. The first of them creates the tables. */
  builds?: readonly string[];
  /** Only so many are started; the test starts the others. */
  startedFirst?: number;
}

const START_MS_MAX = 30_000;
const SECRET = Buffer.alloc(32, 'nodes of a test').toString('base64');

/** Variables that bin/with-bun sets before a service starts. */
const RUNTIME = {
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  BUN_JSC_forceRAMSize: '402653184',
  DO_NOT_TRACK: '1',
  NODE_ENV: 'production',
};
const RUNTIME_FLAGS = ['--no-env-file', '--config=/dev/null', '--no-install'];
/** A run that is killed leaves no node behind. */
const DYING = ['setpriv', '--pdeathsig=KILL', '--'];

/** Starts a database server, and so many nodes on it at once. */
export async function startNodes(count: number, settings: NodesSettings = {}): Promise<Nodes> {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-nodes-'));
  const postgres = await startPostgres(settings.postgres);
  const database = settings.builds === undefined ? await postgres.newDatabase() : await makeEmpty(postgres);
  const proxies = settings.proxied
    ? await Promise.all(Array.from({ length: count }, () => startFaultProxy(postgres.port)))
    : [];
  const all = Array.from({ length: count }, (_, at) => {
    const directory = join(home, `node-${at + 1}`);
    mkdirSync(directory);
    return new ServiceNode(directory, database, proxies[at] ?? null, settings, settings.builds?.[at]);
  });
  const close = async () => {
    for (const node of all) node.kill();
    await Promise.all(all.map((node) => node.ended()));
    for (const proxy of proxies) await proxy.close();
    await postgres.remove();
    rmSync(home, { recursive: true, force: true });
  };
  try {
    await Promise.all(all.slice(0, settings.startedFirst).map((node) => node.start()));
  } catch (failure) {
    await close();
    throw failure;
  }
  return {
    postgres,
    databaseUrl: database.url,
    all,
    check: () => checkStore(readConfig({ data: home, database: database.url }, {})),
    [Symbol.asyncDispose]: close,
  };
}

async function makeEmpty(postgres: TestPostgres): Promise<Pick<TestDatabase, 'url'>> {
  await runOn(postgres.url, 'CREATE DATABASE empty');
  const url = new URL(postgres.url);
  url.pathname = '/empty';
  return { url: url.href };
}

const KNOWN_MS_MAX = 10_000;

/** Applies a document at the first node, and waits until each that runs goes by it. */
export async function applyEverywhere(
  nodes: Nodes,
  document: { groups?: object; [kind: string]: unknown },
): Promise<void> {
  const mark = `known-${crypto.randomUUID()}`;
  const groups = { ...document.groups, [mark]: { models: ['*'] } };
  await nodes.all[0]?.service.admin('POST', '/apply', { document: { ...document, groups } });
  const knows = async ({ service }: ServiceNode) =>
    JSON.stringify(await service.admin('GET', '/groups')).includes(mark);
  for (let waitedMs = 0; waitedMs < KNOWN_MS_MAX; waitedMs += 20) {
    const running = nodes.all.filter(({ isRunning }) => isRunning);
    if ((await Promise.all(running.map(knows))).every(Boolean)) return;
    await Bun.sleep(20);
  }
  throw new Error('a change did not reach every node');
}

/** One node. It is started again on its address, under the name that a new process takes. */
export class ServiceNode {
  /** Where it is, whether it runs or not: balancers know it by that. */
  readonly port = freePort();
  readonly proxy: FaultProxy | null;
  readonly #directory: string;
  readonly #databaseUrl: string;
  readonly #settings: NodesSettings;
  readonly #build: string;
  #child: Subprocess<'ignore', 'pipe', number> | null = null;
  #turnpike: Turnpike | null = null;

  constructor(
    directory: string,
    database: Pick<TestDatabase, 'url'>,
    proxy: FaultProxy | null,
    settings: NodesSettings,
    build = rootDirectory,
  ) {
    this.#directory = directory;
    this.#build = build;
    this.proxy = proxy;
    this.#databaseUrl = proxy?.through(database.url) ?? database.url;
    this.#settings = settings;
  }

  /** Where messages are sent to, and its admin API, of the process that runs or ran last. */
  get service(): Turnpike {
    if (this.#turnpike === null) throw new Error('this node was never started');
    return this.#turnpike;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const { preload, environment } = this.#settings;
    const serve = ['src/main.ts', 'serve', '--listen', `127.0.0.1:${this.port}`, '--data', this.#directory];
    const preloaded = preload === undefined ? [] : ['--preload', preload];
    const log = openSync(join(this.#directory, 'log'), 'a');
    const child = spawn([...DYING, process.execPath, ...RUNTIME_FLAGS, ...preloaded, ...serve], {
      cwd: this.#build,
      env: {
        ...process.env,
        ...RUNTIME,
        TURNPIKE_LOG: 'off',
        TURNPIKE_SECRET: SECRET,
        TURNPIKE_DATABASE_URL: this.#databaseUrl,
        TURNPIKE_TRUSTED_PROXIES: '127.0.0.1',
        ...environment,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: log,
    });
    closeSync(log);
    this.#child = child;
    const timer = setTimeout(() => child.kill('SIGKILL'), START_MS_MAX);
    try {
      this.#turnpike = await attachTurnpike(child.stdout, this.#directory);
    } catch (failure) {
      throw new Error(`a node did not start: ${this.readLog()}`, { cause: failure });
    } finally {
      clearTimeout(timer);
    }
  }

  /** All that it and those before it wrote. */
  readLog(): string {
    return readFileSync(join(this.#directory, 'log'), 'utf8');
  }

  /** As a service manager stops it. Resolves to its exit code when it has drained. */
  async stop(): Promise<number | null> {
    this.#child?.kill('SIGTERM');
    await this.ended();
    return this.#child?.exitCode ?? null;
  }

  kill(): void {
    this.#child?.kill('SIGKILL'); // also while it is suspended
  }

  suspend(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async ended(): Promise<void> {
    await this.#child?.exited;
  }
}
