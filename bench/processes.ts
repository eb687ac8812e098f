// The processes of a benchmark: a provider that answers at once, proxies that do the least, and Turnpike in front of the
// provider.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MeasuredProcess, startMeasured } from './measured-process.ts';

/** Models of the provider: one that answers at once, one whose streams stay open, one that reports when it was asked, one that works as a coding agent. */
export const models = { quick: 'bench', open: 'bench-open', clock: 'bench-clock', agent: 'bench-agent' } as const;

const turnpike = join(import.meta.dir, '..', 'bin', 'turnpike');

/** Deltas of a stream of the quick model. */
export const EVENTS = 100;

/** Limits that no benchmark reaches, so that every meter and rate header is in use. */
export const allMeters = {
  rpm: 1_000_000_000,
  input_tpm: 1_000_000_000,
  output_tpm: 1_000_000_000,
  concurrency: 100_000,
  quota: '1000000.00',
};

export function startUpstream(): Promise<MeasuredProcess> {
  return startMeasured([process.execPath, join(import.meta.dir, 'upstream.ts')]);
}

/** `relay`: how streams are relayed, by the runtime alone or event by event. */
export function startBareProxy(upstream: MeasuredProcess, relay: 'native' | 'parsing' = 'native') {
  return startMeasured([process.execPath, join(import.meta.dir, 'bare-proxy.ts'), upstream.url, relay]);
}

export interface Service extends MeasuredProcess {
  data: string;
  /** Calls the admin API as the operator. */
  create(path: string, members: object): Promise<Record<string, string>>;
  /** A key of a new account with these members. */
  makeKey(account?: object, key?: object): Promise<string>;
  /** The text of GET /metrics. */
  scrape(): Promise<string>;
}

/** Starts Turnpike on a new data directory, which `stop` removes. `settings` are those of the catalog file. */
export async function startService(
  upstream: MeasuredProcess,
  environment: Record<string, string> = {},
  settings: Record<string, number> = {},
): Promise<Service> {
  const data = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  const file = join(data, 'apply.json');
  const price = { input: '3', output: '15' };
  const catalog = {
    providers: { bench: { kind: 'anthropic', base_url: upstream.url, api_key: 'credential', private_network: true } },
    models: Object.fromEntries(
      Object.values(models).map((model) => [model, { price, routes: [{ provider: 'bench', model }] }]),
    ),
    settings,
  };
  writeFileSync(file, JSON.stringify(catalog));
  const process = await startMeasured(
    ['sh', turnpike, 'serve', '--listen', '127.0.0.1:0', '--data', data, '--apply', file],
    { TURNPIKE_LOG: 'off', ...environment },
  );
  const { token } = JSON.parse(readFileSync(join(data, 'operator.json'), 'utf8')) as { token: string };
  const create: Service['create'] = async (path, members) => {
    const response = await fetch(`${process.url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(members),
    });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Record<string, string>;
  };
  const stop = async () => {
    await process.stop();
    rmSync(data, { recursive: true, force: true });
  };
  return {
    ...process,
    data,
    create,
    stop,
    async makeKey(account = {}, key = {}) {
      const { id } = await create('/accounts', { name: 'bench', credit: '1000000.00', ...account });
      return (await create('/keys', { account: id, ...key }))['key'] as string;
    },
    scrape: async () =>
      (await fetch(`${process.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text(),
    [Symbol.asyncDispose]: stop,
  };
}

/** Starts Turnpike on a new data directory, without a file to apply: nothing has loaded the admin API. */
export async function startUntouched(): Promise<MeasuredProcess> {
  const data = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  const serve = ['sh', turnpike, 'serve', '--listen', '127.0.0.1:0', '--data', data];
  const process = await startMeasured(serve, { TURNPIKE_LOG: 'off' });
  const stop = async () => {
    await process.stop();
    rmSync(data, { recursive: true, force: true });
  };
  return { ...process, stop, [Symbol.asyncDispose]: stop };
}

/** A request with this many bytes of text. */
export function bodyOf(bytes: number, members: object = {}): string {
  const messages = [{ role: 'user', content: 'y'.repeat(bytes) }];
  return JSON.stringify({ model: models.quick, max_tokens: 1_000, messages, ...members });
}

export function post(
  target: { url: string },
  secret: string,
  body: string,
  path = '/v1/messages',
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    'x-api-key': secret,
    'anthropic-version': '2023-06-01',
    ...more,
  };
  return fetch(`${target.url}${path}`, { method: 'POST', headers, body });
}

export interface Load {
  secret: string;
  body: string;
  connections: number;
  requests: number;
  /** Further headers. */
  headers?: Readonly<Record<string, string>>;
  /** Throws at a response with another status. */
  statuses?: readonly number[];
}

/** Sends requests over these connections, each after the answer to the previous one. Resolves to the time of each. */
export async function send(target: { url: string }, { secret, body, headers, statuses = [200], ...load }: Load) {
  const tookMs: number[] = [];
  let left = load.requests;
  const sendAll = async () => {
    while (left-- > 0) {
      const startMs = performance.now();
      const response = await post(target, secret, body, '/v1/messages', headers);
      const text = await response.text();
      if (!statuses.includes(response.status)) throw new Error(`${response.status}: ${text}`);
      tookMs.push(performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: load.connections }, sendAll));
  return tookMs;
}

/** The same; resolves to the microseconds of CPU time of one request. */
export async function cpuOf(target: MeasuredProcess, load: Load): Promise<number> {
  const beforeMs = target.cpuMs();
  await send(target, load);
  return ((target.cpuMs() - beforeMs) * 1000) / load.requests;
}
