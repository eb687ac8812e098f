// Loads a credential for tests of loaders. It has no tests of its own.

import type { Auth, AuthHolder } from '../../../src/catalog/catalog.ts';
import { readConfig } from '../../../src/config/config.ts';
import type { Loaded } from '../../../src/credentials/live-secret.ts';
import type { LoadContext } from '../../../src/credentials/load-context.ts';
import { loaderOf } from '../../../src/credentials/loaders.ts';

/** Loads `auth` with these variables of the environment, for a provider of this kind. */
export function makeLoad(
  auth: Auth,
  environment: Record<string, string> = {},
  {
    apiKey = null,
    fetch,
    ...given
  }: Partial<AuthHolder> & { apiKey?: string | null; fetch?: typeof globalThis.fetch } = {},
): (isFresh?: boolean) => Promise<Loaded> {
  const holder = {
    provider: 'p',
    credential: 'default',
    kind: 'anthropic',
    region: null,
    baseUrl: 'http://127.0.0.1:9',
  };
  const { credentials: settings } = readConfig({}, environment);
  const context: LoadContext = {
    holder: { ...holder, ...given },
    settings,
    nowMs: Date.now,
    ...(fetch !== undefined && { fetch }),
  };
  const load = loaderOf(auth, apiKey, context);
  return (isFresh = false) => load(AbortSignal.timeout(10_000), isFresh);
}

/** Sets variables of this process until it is disposed: the libraries of clouds read them. */
export function setVariables(variables: Record<string, string | undefined>): Disposable {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  const set = (entries: Iterable<readonly [string, string | undefined]>) => {
    for (const [name, value] of entries) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  set(Object.entries(variables));
  return { [Symbol.dispose]: () => set(before) };
}

/** A request as a server of a test received it. */
export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: string;
}

/** A server on loopback that answers by a function, and keeps what it was asked. */
export function serve(
  answer: (asked: Asked) => Response | Promise<Response>,
  tls?: { cert: string; key: string },
): { url: string; asked: Asked[] } & Disposable {
  const asked: Asked[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    ...(tls !== undefined && { tls }),
    async fetch(request) {
      const { pathname: path, searchParams: query } = new URL(request.url);
      const one = { method: request.method, path, query, headers: request.headers, body: await request.text() };
      asked.push(one);
      return answer(one);
    },
  });
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${server.port}`;
  return { url, asked, [Symbol.dispose]: () => void server.stop(true) };
}
