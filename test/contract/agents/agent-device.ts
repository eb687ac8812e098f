// A coding agent as the service sees it: the requests of its sign-in, with the fields that Claude Code 2.1.332 sends. No tests of its own.

import type { Turnpike } from '../../support/start-turnpike.ts';
import { Browser, signUp } from '../sign-in/browser.ts';

export type Json = Record<string, unknown>;

export interface Asked {
  status: number;
  headers: Headers;
  body: Json;
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export class AgentDevice {
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = url;
    this.#headers = { 'user-agent': 'claude-code/2.1.332', accept: 'application/json, text/plain, */*', ...headers };
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Asked> {
    return read(await fetch(this.#url + path, { headers: { ...this.#headers, ...headers }, redirect: 'manual' }));
  }

  async form(path: string, fields: Record<string, string>): Promise<Asked> {
    const headers = { ...this.#headers, 'content-type': 'application/x-www-form-urlencoded' };
    return read(
      await fetch(this.#url + path, { method: 'POST', headers, body: new URLSearchParams(fields).toString() }),
    );
  }

  begin(surface = 'claude_code'): Promise<Asked> {
    return this.form('/oauth/device_authorization', { surface });
  }

  poll(deviceCode: unknown): Promise<Asked> {
    return this.form('/oauth/token', { grant_type: DEVICE_GRANT, device_code: String(deviceCode) });
  }

  refresh(token: unknown): Promise<Asked> {
    return this.form('/oauth/token', { grant_type: 'refresh_token', refresh_token: String(token) });
  }

  /** A message with an access token. */
  async message(token: unknown, more: Json = {}, headers: Record<string, string> = {}): Promise<Asked> {
    const body = { model: 'sandbox-echo', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }], ...more };
    return read(
      await fetch(`${this.#url}/v1/messages?beta=true`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...this.#headers, ...headers },
        body: JSON.stringify(body),
      }),
    );
  }
}

async function read(response: Response): Promise<Asked> {
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, body: text.startsWith('{') ? (JSON.parse(text) as Json) : {} };
}

let addresses = 0;

/** A device at an address of its own. */
export function newDevice({ url }: Turnpike): AgentDevice {
  return new AgentDevice(url, { 'x-forwarded-for': `10.${20 + (++addresses >> 8)}.${addresses & 255}.9` });
}

export interface SignedIn {
  browser: Browser;
  person: string;
  account: string;
  email: string;
}

let people = 0;

/** A new person of an account, signed in at the console. */
export async function signedIn(turnpike: Turnpike, role = 'member', in_?: string): Promise<SignedIn> {
  const account = in_ ?? String((await turnpike.admin('POST', '/accounts', { name: 'works', credit: '10.00' }))['id']);
  const email = `dev-${process.pid}-${++people}@example.com`;
  const { id } = await signUp(turnpike, email, role, account);
  const browser = new Browser(turnpike.url, { 'x-forwarded-for': `10.9.${people >> 8}.${people & 255}` });
  await browser.signIn(email);
  return { browser, person: id, account, email };
}

/** Signs a device in, and resolves to the answer with its tokens. */
export async function signInAgent(
  device: AgentDevice,
  { browser }: Pick<SignedIn, 'browser'>,
  surface?: string,
): Promise<Json> {
  const { body } = await device.begin(surface);
  const approved = await browser.post(`/api/v1/device-codes/${body['user_code']}/approve`);
  if (approved.status !== 200) throw new Error(`not approved: ${approved.status} ${JSON.stringify(approved.body)}`);
  const { body: tokens } = await device.poll(body['device_code']);
  return tokens;
}

export function claimsOf(token: unknown): Json {
  return JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString()) as Json;
}
