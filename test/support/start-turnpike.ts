// The whole service for a test, on a free port and its own data directory: in this process, or as a separate process
// that can be killed. Its store is SQLite or the one that TEST_STORE names.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, readConfig } from '../../src/config/config.ts';
import type { CheckReport } from '../../src/ledger/ledger.ts';
import { checkStore } from '../../src/maintenance/maintenance.ts';
import { startServer } from '../../src/server/server.ts';
import { turnpikeCommand } from './build-executable.ts';
import { countUse } from './count-uses.ts';
import { storeFlags, storeVariables } from './test-store.ts';

/** Tests sign in often; the usual cost is tested in test/contract/sign-in/limits.test.ts. */
export const CHEAP_PASSWORDS = { passwordCost: { memoryKib: 8, rounds: 1 } };

/** Services that run in this process, and those that ran before. */
export const startedServices = { count: 0 };

export interface Turnpike extends AsyncDisposable {
  url: string;
  dataDirectory: string;
  /** The first key, of the account `demo`; empty if the directory no longer has it. */
  key: string;
  /** Calls the admin API (paths below /api/v1) as the operator; throws on an error status. */
  admin(method: 'GET' | 'POST' | 'PATCH', path: string, body?: object): Promise<Record<string, unknown>>;
  /** Creates an account with credit and a key, with fields of the admin API's bodies. */
  makeKey(account?: object, key?: object): Promise<{ account: string; key: string; secret: string }>;
  /** Posts a message with a key. */
  post(secret: string, body: unknown, more?: RequestInit): Promise<Response>;
  /** GET /metrics, with the operator's token by default. */
  scrape(headers?: Record<string, string>): Promise<Response>;
  /** Checks the whole ledger. */
  check(): Promise<CheckReport>;
  /** Other tests use it, too; its ledger is checked when a test file is done with it. */
  isShared: boolean;
  stop(): Promise<void>;
}

/** Starts the service in this process, for tests with a configuration of their own. */
export function startCounted(...given: Parameters<typeof startServer>): ReturnType<typeof startServer> {
  startedServices.count++;
  countUse('services');
  return startServer(...given);
}

/** The command of the service and its first argument, with its store in the environment, for one process. */
export function serveCommand(store: Record<string, string>): string[] {
  return [...turnpikeCommand(storeFlags(store)), 'serve'];
}

/**
 * Starts the service in this process, with these variables too, and a configuration that differs by `change`; a
 * given data directory is kept. `document` is applied before it listens, after the first start's defaults. Without settings, take `sharedTurnpike` or say why not: `startOwnTurnpike`.
 */
export async function startTurnpike(
  document: object | undefined,
  environment: Record<string, string> = {},
  change: Partial<Config> = CHEAP_PASSWORDS,
): Promise<Turnpike> {
  const dataDirectory = change.dataDirectory ?? mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const store = await storeOf(dataDirectory, environment);
  const config = readConfig(
    { data: dataDirectory, listen: '127.0.0.1:0' },
    { TURNPIKE_LOG: 'off', TURNPIKE_TRUSTED_PROXIES: '127.0.0.1', ...store, ...environment },
  );
  const changed = Object.freeze({ ...config, ...change });
  const applyFile =
    document === undefined ? {} : { applyFile: { document, describeFault: (fault: object) => JSON.stringify(fault) } };
  const server = await startCounted(changed, { version: '0.0.0', print: () => {}, ...applyFile });
  return describe(server.url, dataDirectory, store, async () => {
    await server.stop();
    if (change.dataDirectory === undefined) rmSync(dataDirectory, { recursive: true, force: true });
  });
}

/** Starts a service with the settings of a first start for a test that cannot share one; `why` is for the reader. */
export function startOwnTurnpike(_why: string): Promise<Turnpike> {
  return startTurnpike(undefined);
}

export interface TurnpikeProcess extends Turnpike {
  process: Bun.Subprocess<'ignore', 'pipe', 'pipe'>;
}

/**
 * Starts the service as a separate process on `dataDirectory`, or on a new one, with these flags too. `stop` keeps a
 * given directory. TLS certificates are not verified.
 */
export async function spawnTurnpike(
  dataDirectory?: string,
  environment: Record<string, string> = {},
  flags: readonly string[] = [],
): Promise<TurnpikeProcess> {
  const directory = dataDirectory ?? mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const store = await storeOf(directory, environment);
  const listen = flags.includes('--listen') ? [] : ['--listen', '127.0.0.1:0'];
  const child = Bun.spawn([...serveCommand(store), ...listen, '--data', directory, ...flags], {
    env: { ...process.env, TURNPIKE_LOG: 'off', ...store, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const url = await readUrl(child.stdout);
  const turnpike = describe(url, directory, store, async () => {
    child.kill('SIGTERM');
    await child.exited;
    if (dataDirectory === undefined) rmSync(directory, { recursive: true, force: true });
  });
  return Object.assign(turnpike, { process: child });
}

/** Wraps a service that the test started, as soon as it prints its address. The test stops it. */
export async function attachTurnpike(stdout: ReadableStream<Uint8Array>, dataDirectory: string): Promise<Turnpike> {
  return describe(await readUrl(stdout), dataDirectory, await storeVariables(dataDirectory), async () => {});
}

/** A database that the test names takes precedence. */
async function storeOf(dataDirectory: string, environment: Record<string, string>): Promise<Record<string, string>> {
  const { TURNPIKE_DATABASE_URL } = environment;
  return TURNPIKE_DATABASE_URL === undefined ? storeVariables(dataDirectory) : { TURNPIKE_DATABASE_URL };
}

function describe(
  url: string,
  dataDirectory: string,
  store: Record<string, string>,
  stop: () => Promise<void>,
): Turnpike {
  const trust = url.startsWith('https:') ? { tls: { rejectUnauthorized: false } } : {};
  // Read each time: the admin API may have another port.
  const operator = () =>
    JSON.parse(readFileSync(join(dataDirectory, 'operator.json'), 'utf8')) as { url: string; token: string };
  const admin: Turnpike['admin'] = async (method, path, body) => {
    const { url: adminUrl, token } = operator();
    const response = await fetch(`${adminUrl}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...trust,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  return {
    url,
    dataDirectory,
    key: readFirstKey(join(dataDirectory, 'first-key.txt')),
    admin,
    async makeKey(account = {}, key = {}) {
      const made = await admin('POST', '/accounts', { name: 'test', credit: '10.00', ...account });
      const madeKey = await admin('POST', '/keys', { account: made['id'], ...key });
      return { account: made['id'] as string, key: madeKey['id'] as string, secret: madeKey['key'] as string };
    },
    post: (secret, body, more = {}) =>
      fetch(`${url}/v1/messages`, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...trust,
        ...more,
        headers: {
          'content-type': 'application/json',
          'x-api-key': secret,
          ...(more.headers as Record<string, string>),
        },
      }),
    scrape: (headers = { authorization: `Bearer ${operator().token}` }) =>
      fetch(`${operator().url}/metrics`, { headers, ...trust }),
    check: () => checkStore(readConfig({ data: dataDirectory }, store)),
    isShared: false,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function readFirstKey(path: string): string {
  return existsSync(path) ? (/x-api-key: (sk-tp-\w+)/.exec(readFileSync(path, 'utf8'))?.[1] ?? '') : '';
}

/** Address that the service prints when it answers. Throws if it ends before. */
async function readUrl(stdout: ReadableStream<Uint8Array>): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  const reader = stdout.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the service ended before it listened: ${text}`);
    text += decoder.decode(value, { stream: true });
    const match = /listening on (https?:\/\/\S+)/.exec(text);
    if (match !== null) {
      reader.releaseLock();
      return match[1] as string;
    }
  }
}
