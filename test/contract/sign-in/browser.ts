// The parts of a browser that sign-in needs: it keeps cookies, sends the origin of the page, and does not follow
// redirects. Also functions that invite persons.

import { createHmac } from 'node:crypto';
import type { Turnpike } from '../../support/start-turnpike.ts';

export const PASSWORD = 'correct horse battery staple';

export interface Answered {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
  /** The code of an error. */
  code: string | null;
}

/** Requests come from a page of the service, unless the headers say otherwise. */
export class Browser {
  readonly url: string;
  readonly cookies = new Map<string, string>();
  /** The last `set-cookie` header of each cookie. */
  readonly setCookies = new Map<string, string>();
  readonly #headers: Record<string, string>;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.url = url;
    this.#headers = headers;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Answered> {
    return this.ask('GET', path, undefined, headers);
  }

  post(path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Answered> {
    return this.ask('POST', path, body, headers);
  }

  auth(path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Answered> {
    return this.post(`/console/auth${path}`, body, headers);
  }

  async ask(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answered> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const sent = new Headers({
      'sec-fetch-site': 'same-origin',
      ...this.#headers,
      ...(cookie && { cookie }),
      ...headers,
    });
    for (const [name, value] of Object.entries(headers)) if (value === '') sent.delete(name);
    if (body !== undefined) sent.set('content-type', 'application/json');
    const response = await fetch(path.startsWith('http') ? path : this.url + path, {
      method,
      headers: sent,
      redirect: 'manual',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const one of response.headers.getSetCookie()) this.#keep(one);
    const text = await response.text();
    const parsed = (text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : {}) as Record<string, unknown>;
    const error = parsed['error'] as { code?: string } | undefined;
    return { status: response.status, headers: response.headers, body: parsed, code: error?.code ?? null };
  }

  signIn(email: string, password = PASSWORD, headers: Record<string, string> = {}): Promise<Answered> {
    return this.auth('/sign-in/email', { email, password }, headers);
  }

  /** The signed-in person, or null. */
  async me(): Promise<Record<string, unknown> | null> {
    const { status, body } = await this.get('/api/v1/me');
    return status === 200 ? body : null;
  }

  /** The cookie of the session. */
  get session(): string | undefined {
    return [...this.cookies].find(([name]) => name.endsWith('session_token'))?.[1];
  }

  #keep(header: string): void {
    const [pair = ''] = header.split(';');
    const name = pair.slice(0, pair.indexOf('='));
    const value = pair.slice(pair.indexOf('=') + 1);
    this.setCookies.set(name, header);
    if (value === '' || /max-age=0/i.test(header)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

export interface Somebody {
  id: string;
  email: string;
}

/** Invites a person; the link is not opened. */
export async function invite(
  turnpike: Turnpike,
  email: string,
  role = 'operator',
  account?: string,
): Promise<Somebody & { secret: string }> {
  const made = await turnpike.admin('POST', '/people', { email, role, ...(account !== undefined && { account }) });
  return { id: made['id'] as string, email, secret: made['link_secret'] as string };
}

/** Invites a person and sets the password. */
export async function signUp(
  turnpike: Turnpike,
  email: string,
  role = 'operator',
  account?: string,
): Promise<Somebody> {
  const invited = await invite(turnpike, email, role, account);
  await acceptLink(turnpike, invited.secret);
  return invited;
}

export async function acceptLink(turnpike: Turnpike, secret: string, password = PASSWORD): Promise<void> {
  const accepted = await fetch(`${turnpike.url}/api/v1/invitations/accept`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ secret, name: 'Somebody', password }),
  });
  if (!accepted.ok) throw new Error(`the invitation was not accepted: ${accepted.status} ${await accepted.text()}`);
}

/** The code that an authenticator app shows at this time. */
export function timeCode(uri: string, atMs: number): string {
  const secret = decodeBase32(new URL(uri).searchParams.get('secret') ?? '');
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(atMs / 30_000)));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

export function decodeBase32(text: string): Buffer {
  const bits = [...text.replace(/=+$/, '')]
    .map((character) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(character).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
