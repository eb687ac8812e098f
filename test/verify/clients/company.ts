// A company with single sign-on, whose people sign in with coding agents: the service over a scripted provider, an issuer, and a proxy
// that records what the agents ask. No tests of its own.

import { Browser, invite } from '../../contract/sign-in/browser.ts';
import { type RecordedRequest, type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { ISSUED, type Issuer, startIssuer } from '../../support/start-issuer.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import type { Json } from './conversations/conversation.ts';
import { type Spoken, sayMessage } from './upstreams/speak-messages.ts';

const PUBLIC = 'https://turnpike.example.com';
/** Prices with which 1000 tokens in and 100 out cost 0.00765. */
const price = { input: '6', output: '30', cache_read: '0.6', cache_write_5m: '7.5' };
export const ALLOWED = 'claude-sonnet-4-6';
export const DENIED = 'claude-opus-4-6';
/** A name that no client knows. */
export const OWN = 'claude-works-1';

export interface Asked {
  method: string;
  path: string;
  headers: Headers;
  body: string;
  status: number;
  answered: Headers;
}

export interface Company extends AsyncDisposable {
  turnpike: TurnpikeProcess;
  /** The address that agents are given. */
  url: string;
  asked: Asked[];
  /** Requests to the provider. */
  sent: readonly RecordedRequest[];
  /** The answers of the provider, in order; the last one is repeated. */
  turns: (Spoken | Script)[];
  /** Answers in place of the service; null: the service answers. */
  intercept:
    | ((request: Pick<Asked, 'method' | 'path' | 'headers'>) => Response | Promise<Response | null> | null)
    | null;
  account: string;
  person: string;
  browser: Browser;
  /** The requests since the last call. */
  take(): Asked[];
}

/** `environment`: further variables of the service. */
export async function startCompany(environment: Record<string, string> = {}): Promise<Company> {
  const turns: Company['turns'] = [];
  const script: Script = (answer, request) => {
    const turn = (turns.length > 1 ? turns.shift() : turns[0]) ?? { content: [] };
    return (typeof turn === 'function' ? turn : sayMessage(turn))(answer, request);
  };
  const upstream = await startScriptedUpstream(script);
  const issuer = await startIssuer(`${PUBLIC}/console/auth/callback/oidc`);
  const turnpike = await spawnTurnpike(undefined, {
    TURNPIKE_TRUSTED_PROXIES: '127.0.0.1',
    TURNPIKE_PUBLIC_URL: PUBLIC,
    TURNPIKE_OIDC_ISSUER: issuer.url,
    TURNPIKE_OIDC_CLIENT_ID: ISSUED.clientId,
    TURNPIKE_OIDC_CLIENT_SECRET: ISSUED.clientSecret,
    ...environment,
  });
  const account = String((await turnpike.admin('POST', '/accounts', { name: 'works', credit: '100.00' }))['id']);
  const model = { price, routes: [{ provider: 'up' }] };
  await turnpike.admin('POST', '/apply', {
    document: {
      settings: { agent_sign_in: 'on' },
      providers: { up: { kind: 'anthropic', base_url: upstream.url, api_key: 'x', private_network: true } },
      models: {
        [ALLOWED]: { ...model, display_name: 'Sonnet of the works' },
        [DENIED]: model,
        [OWN]: { ...model, display_name: 'Own of the works' },
      },
      groups: { default: { models: ['*'], multiplier: '0.85' } },
      agent_policies: { works: { accounts: [account], models: [ALLOWED], contact: 'finops' } },
    },
  });
  const { id: person, email } = await invite(turnpike, 'dev@example.com', 'owner', account);
  const browser = new Browser(turnpike.url, { 'x-forwarded-for': '10.7.0.1', 'x-forwarded-proto': 'https' });
  await signInAtIssuer(browser, issuer, email);
  const asked: Asked[] = [];
  const proxy = startProxy(turnpike.url, asked, () => company.intercept);
  const company: Company = {
    ...{ turnpike, asked, turns, account, person, browser, url: proxy.url, sent: upstream.requests, intercept: null },
    take: () => asked.splice(0),
    async [Symbol.asyncDispose]() {
      await proxy.stop();
      await turnpike.stop();
      await upstream.close();
      await issuer[Symbol.asyncDispose]();
    },
  };
  return company;
}

/** From the console to the issuer, and back. */
async function signInAtIssuer(browser: Browser, issuer: Issuer, email: string): Promise<void> {
  issuer.person = { sub: 'dev', email, email_verified: true, name: 'Dev' };
  const begun = await browser.auth('/sign-in/social', { callbackURL: '/console/device' });
  const there = new Browser(issuer.url);
  let next = String(begun.body['url']);
  for (let hops = 0; hops < 5 && !next.startsWith(PUBLIC); hops++) {
    const { headers } = await there.get(next, { 'sec-fetch-site': '' });
    next = new URL(headers.get('location') ?? '', next).href;
  }
  const { pathname, search } = new URL(next);
  await browser.get(pathname + search, { 'sec-fetch-site': 'cross-site' });
  if ((await browser.me()) === null) throw new Error('the person was not signed in');
}

/** Keeps the host that clients asked, as a reverse proxy does. */
function startProxy(target: string, asked: Asked[], intercept: () => Company['intercept']) {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      // As bytes: telemetry is binary.
      const bytes = await request.bytes();
      const headers = new Headers(request.headers);
      headers.delete('accept-encoding');
      const { method } = request;
      const path = pathname + search;
      const sent = { method, headers, redirect: 'manual' as const, ...(bytes.length > 0 && { body: bytes }) };
      const answer = (await intercept()?.({ method, path, headers })) ?? (await fetch(target + path, sent));
      asked.push({
        method,
        path,
        headers,
        body: new TextDecoder().decode(bytes),
        status: answer.status,
        answered: answer.headers,
      });
      return new Response(answer.body, { status: answer.status, headers: answer.headers });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}

/** Approves the code that a device shows. */
export async function approve({ browser }: Company, code: string): Promise<void> {
  const approved = await browser.post(`/api/v1/device-codes/${code}/approve`);
  if (approved.status !== 200) throw new Error(`not approved: ${JSON.stringify(approved.body)}`);
}

export async function agentKey({ browser }: Company, name: string): Promise<Json> {
  const { data } = (await browser.get('/api/v1/keys')).body as { data: Json[] };
  const key = data.find((one) => one['name'] === name);
  if (key === undefined) throw new Error(`there is no key "${name}"`);
  return key;
}
