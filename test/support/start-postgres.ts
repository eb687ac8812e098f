// Starts a PostgreSQL server for tests: temporary data directory, free port on loopback, not as root. It uses nothing
// of an installed server and ends with the process that started it.

import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { SQL, type Subprocess, spawn } from 'bun';
import { grantRole, openSignIn, prepareDatabase } from '../../src/storage/postgres/postgres.ts';
import { freePort } from './free-port.ts';
import { removeAtEnd } from './remove-at-end.ts';

const DEBIAN = '/usr/lib/postgresql';
const VERSION_LEAST = 14;
const READY_MS_MAX = 30_000;
const LOG_CHARACTERS_SHOWN = 2_000;
const TEMPLATE = 'turnpike_template';
const NODE_TEMPLATE = 'turnpike_node_template';
/** A role with the rights of a node, for `newNodeDatabase`. */
export const NODE_ROLE = 'turnpike_node';

export interface TestDatabase extends AsyncDisposable {
  /** postgres://turnpike@127.0.0.1:…/…, without a password. */
  url: string;
  name: string;
}

type StopMode = 'fast' | 'immediate';

export interface TestPostgres {
  /** URL of the server's first database, which is empty. */
  url: string;
  port: number;
  /** A database with the current tables. Dropped on disposal, or with the server. */
  newDatabase(): Promise<TestDatabase>;
  /** As prepared by `turnpike migrate --grant`: a node needs the right to no more than rows. */
  newNodeDatabase(): Promise<TestDatabase & { nodeUrl: string }>;
  /** `immediate` acts like a kill. */
  stop(mode?: StopMode): Promise<void>;
  /** Starts it again, on the same port and data. */
  start(): Promise<void>;
  restart(mode?: StopMode): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

const bin = findPrograms();

/** The folder of the server's and its clients' programs, null where they are not installed. */
export const postgresPrograms = bin;

/** Its tests are skipped where it is not installed; under CI a skipped test is a failure. */
export const cannotStartPostgres = bin === null;

let shared: Promise<TestPostgres> | null = null;

/** One server for all tests of this process, each with its own database. Commits do not wait for the disk. */
export function sharedPostgres(): Promise<TestPostgres> {
  shared ??= startPostgres({ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' });
  return shared;
}

/** The command that fills a new data directory. */
type MakeData = (directory: string) => string[];

/** A server with these settings, for tests that stop it. Its data are new, or made by a command. */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  makeData: MakeData = initialize,
): Promise<TestPostgres> {
  if (bin === null) throw new Error('there is no PostgreSQL: install the package postgresql, or set TEST_POSTGRES_BIN');
  const user = findUser();
  const home = makeServerDirectory();
  removeAtEnd(home);
  const data = join(home, 'data');
  await runAs(user, makeData(data));
  const port = freePort();
  const flags = Object.entries({
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: home,
    ...settings,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let server: Subprocess | null = null;
  const start = async () => {
    server = spawn(asUser(user, [join(bin, 'postgres'), '-D', data, ...flags]), {
      stdout: 'ignore',
      stderr: Bun.file(join(home, 'log')),
      cwd: '/',
    });
    await waitUntilReady(port, server, join(home, 'log'));
  };
  const stop = async (mode: StopMode = 'fast') => {
    server?.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await server?.exited;
  };
  await start();
  const urlOf = (name: string) => `postgres://turnpike@127.0.0.1:${port}/${name}`;
  return {
    url: urlOf('postgres'),
    port,
    ...databasesOf(urlOf),
    stop,
    start,
    async restart(mode) {
      await stop(mode);
      await start();
    },
    async remove() {
      await stop('immediate');
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function initialize(directory: string): string[] {
  return [
    postgresProgram('initdb'),
    '-D',
    directory,
    '-U',
    'turnpike',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C.UTF-8',
    '-N',
  ];
}

export function postgresProgram(name: string): string {
  return join(bin ?? '', name);
}

/** A directory that servers can write. */
export function makeServerDirectory(): string {
  const user = findUser();
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-postgres-'));
  if (user !== null) chownSync(directory, user.uid, user.gid);
  return directory;
}

/** Runs a program of PostgreSQL as the user of the servers. */
export function runServerProgram(command: string[]): Promise<void> {
  return runAs(findUser(), command);
}

/** Databases are copied from templates: a copy takes some milliseconds. */
function databasesOf(urlOf: (name: string) => string): Pick<TestPostgres, 'newDatabase' | 'newNodeDatabase'> {
  const makeTemplate = once(async () => {
    await runOn(urlOf('postgres'), `CREATE DATABASE ${TEMPLATE}`);
    await prepareDatabase(urlOf(TEMPLATE));
    // Tests have a time of their own, and carry forward what is young to the server.
    const everything = 'SELECT 9007199254740991';
    await runOn(
      urlOf(TEMPLATE),
      `CREATE OR REPLACE FUNCTION carried_before_ms() RETURNS bigint LANGUAGE sql STABLE AS '${everything}'`,
    );
  });
  const makeNodeTemplate = once(async () => {
    await makeTemplate();
    await runOn(urlOf('postgres'), `CREATE DATABASE ${NODE_TEMPLATE} TEMPLATE ${TEMPLATE}`);
    const url = urlOf(NODE_TEMPLATE);
    const { migrateSignIn } = await import('../../src/auth/auth.ts'); // slow to load, and seldom needed
    const signIn = await openSignIn(url);
    await migrateSignIn(signIn);
    await signIn.close();
    await runOn(url, `CREATE ROLE ${NODE_ROLE} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC`);
    await grantRole(url, NODE_ROLE);
  });
  let count = 0;
  const copy = async (template: string): Promise<TestDatabase> => {
    const name = `test_${++count}`;
    await runOn(urlOf('postgres'), `CREATE DATABASE ${name} TEMPLATE ${template}`);
    return {
      url: urlOf(name),
      name,
      async [Symbol.asyncDispose]() {
        await runOn(urlOf('postgres'), `DROP DATABASE ${name} WITH (FORCE)`);
      },
    };
  };
  return {
    async newDatabase() {
      await makeTemplate();
      return await copy(TEMPLATE);
    },
    async newNodeDatabase() {
      await makeNodeTemplate();
      const database = await copy(NODE_TEMPLATE);
      return { ...database, nodeUrl: database.url.replace('turnpike@', `${NODE_ROLE}@`) };
    },
  };
}

function once(make: () => Promise<void>): () => Promise<void> {
  let made: Promise<void> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

/** Resolves when a statement waits for a table that another transaction has locked. */
export async function untilLockIsAwaited(url: string): Promise<void> {
  const waiting = `SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE NOT l.granted AND l.locktype = 'relation' AND d.datname = current_database()`;
  while ((await runOn(url, waiting)).length === 0) await Bun.sleep(1);
}

/** Runs statements without parameters, on a connection of their own. */
export async function runOn(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new SQL({ url, max: 1 });
  try {
    return [...(await client.unsafe(text).simple())];
  } finally {
    await client.close({ timeout: 0 });
  }
}

/** Folder of initdb and postgres: the configured one, else Debian's latest, else from PATH. */
function findPrograms(): string | null {
  const named = process.env['TEST_POSTGRES_BIN'];
  if (named !== undefined) return named;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).map(Number) : [];
  for (const version of versions.filter((one) => one >= VERSION_LEAST).sort((one, other) => other - one)) {
    const folder = join(DEBIAN, String(version), 'bin');
    if (existsSync(join(folder, 'initdb'))) return folder;
  }
  const initdb = Bun.which('initdb');
  return initdb === null ? null : dirname(initdb);
}

interface User {
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root, and then runs as "postgres" or "nobody". Null: the current user. */
function findUser(): User | null {
  if (process.getuid?.() !== 0) return null;
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const fields = lines.find((line) => line.startsWith(`${name}:`))?.split(':');
    if (fields !== undefined) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new Error('there is no user to run PostgreSQL as');
}

/** It ends with this process: a killed test leaves no server running. */
function asUser(user: User | null, command: string[]): string[] {
  const who = user === null ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  return ['setpriv', '--pdeathsig=QUIT', ...who, '--', ...command];
}

async function runAs(user: User | null, command: string[]): Promise<void> {
  const child = spawn(asUser(user, command), { stdout: 'ignore', stderr: 'pipe', cwd: '/' });
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
}

async function waitUntilReady(port: number, server: Subprocess, log: string): Promise<void> {
  for (const untilMs = Date.now() + READY_MS_MAX; Date.now() < untilMs; await Bun.sleep(20)) {
    const probe = spawn([join(bin ?? '', 'pg_isready'), '-q', '-h', '127.0.0.1', '-p', String(port)]);
    if ((await probe.exited) === 0) return;
    if (server.exitCode !== null) break;
  }
  throw new Error(`PostgreSQL did not start: ${readFileSync(log, 'utf8').slice(-LOG_CHARACTERS_SHOWN)}`);
}
