// `turnpike agent`: the sign-in of a coding agent that has none of its own, such as Codex. It keeps the tokens of each gateway in a
// file of the user, and prints an access token that is valid for the next minutes, for `auth.command` of Codex.

import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { bounds } from '../config/config.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';
import { type Command, CommandFailed, type Invocation, WrongUsage } from './command.ts';

interface Tokens {
  access: string;
  refresh: string;
  expiresAtMs: number;
}

const positionals = ['URL'] as const;
const FRESH_MS = 5 * 60_000;

export const agentCommands: readonly Command[] = [
  {
    name: 'agent login',
    summary: 'Sign in to the service at URL with your browser, for a coding agent on this machine',
    positionals,
    flags: {},
    async run(invocation) {
      const url = urlOf(invocation);
      const tokens = await signIn(url, invocation);
      await save(invocation, url, tokens);
      await invocation.world.writeError('Signed in.\n');
      return 0;
    },
  },
  {
    name: 'agent token',
    summary: 'Print an access token for the service at URL, refreshed if need be',
    positionals,
    flags: {},
    async run(invocation) {
      await invocation.world.write(`${(await validTokens(invocation, urlOf(invocation))).access}\n`);
      return 0;
    },
  },
  {
    name: 'agent logout',
    summary: 'End the sign-in to the service at URL',
    positionals,
    flags: {},
    async run(invocation) {
      const url = urlOf(invocation);
      const tokens = (await load(invocation))[url];
      if (tokens !== undefined) {
        await post(url, '/oauth/revoke', { token: tokens.refresh, token_type_hint: 'refresh_token' });
        await save(invocation, url, null);
      }
      await invocation.world.writeError('Signed out.\n');
      return 0;
    },
  },
];

/** Tokens must not be sent in the clear. Throws WrongUsage. */
function urlOf({ positionals: [text = ''] }: Invocation): string {
  const url = URL.parse(text);
  const isLocal = url !== null && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  if (url === null || (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)))
    throw new WrongUsage('URL must begin with https://, or with http:// on this machine');
  return url.origin + url.pathname.replace(/\/+$/, '');
}

async function validTokens(invocation: Invocation, url: string): Promise<Tokens> {
  const stored = (await load(invocation))[url];
  if (stored === undefined) throw new CommandFailed(`not signed in: run turnpike agent login ${url}`);
  if (stored.expiresAtMs - Date.now() > FRESH_MS) return stored;
  const { status, body } = await post(url, '/oauth/token', {
    grant_type: 'refresh_token',
    refresh_token: stored.refresh,
  });
  if (status === 401 || status === 400)
    throw new CommandFailed(`the sign-in has ended: run turnpike agent login ${url}`);
  const tokens = readTokens(status, body);
  await save(invocation, url, tokens);
  return tokens;
}

async function signIn(url: string, { world }: Invocation): Promise<Tokens> {
  const { status, body } = await post(url, '/oauth/device_authorization', { surface: 'codex' });
  const { device_code: device, user_code: code, verification_uri_complete: page } = body;
  if (status !== 200 || typeof device !== 'string' || typeof code !== 'string' || typeof page !== 'string')
    throw new CommandFailed(reasonOf(status, body));
  await world.writeError(`Open ${page}\nand check that it shows the code ${code}.\n`);
  const untilMs = Date.now() + bounds.deviceCodeLifeMs;
  for (let waitMs: number = bounds.devicePollMs; Date.now() < untilMs; ) {
    await Bun.sleep(waitMs);
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const polled = await post(url, '/oauth/token', { grant_type, device_code: device });
    const { error } = polled.body;
    if (error === 'slow_down') waitMs += bounds.devicePollMs;
    else if (error === 'access_denied') throw new CommandFailed('the sign-in was denied');
    else if (error !== 'authorization_pending') return readTokens(polled.status, polled.body);
  }
  throw new CommandFailed('nobody approved the code in time');
}

/** Throws CommandFailed. */
async function post(url: string, path: string, fields: Record<string, string>) {
  try {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
      redirect: 'error',
      signal: AbortSignal.timeout(bounds.agentRequestMsMax),
    });
    const body = (await answer.json()) as JsonValue;
    return { status: answer.status, body: isJsonObject(body) ? body : {} };
  } catch (failure) {
    throw new CommandFailed(`${url} does not answer: ${(failure as Error).message}`);
  }
}

function readTokens(status: number, body: JsonObject): Tokens {
  const { access_token: access, refresh_token: refresh, expires_in: seconds } = body;
  if (status !== 200 || typeof access !== 'string' || typeof refresh !== 'string' || typeof seconds !== 'number')
    throw new CommandFailed(reasonOf(status, body));
  return { access, refresh, expiresAtMs: Date.now() + seconds * 1_000 };
}

function reasonOf(status: number, { error, error_description: described }: JsonObject): string {
  const said = isJsonObject(error) ? error['message'] : (described ?? error);
  return typeof said === 'string' ? said : `the service answered with status ${status}`;
}

function pathOf({ world }: Invocation): string {
  const base =
    world.environmentVariable('XDG_CONFIG_HOME') ?? join(world.environmentVariable('HOME') ?? homedir(), '.config');
  return join(base, 'turnpike', 'agent.json');
}

/** By the address of the service. A file that cannot be read counts as empty. */
async function load(invocation: Invocation): Promise<Record<string, Tokens>> {
  try {
    return JSON.parse(await readFile(pathOf(invocation), 'utf8')) as Record<string, Tokens>;
  } catch {
    return {};
  }
}

/** Renames a file that only the user can read, so that another process never sees half of it. */
async function save(invocation: Invocation, url: string, tokens: Tokens | null): Promise<void> {
  const { [url]: _, ...others } = await load(invocation);
  const path = pathOf(invocation);
  const beside = `${path}.${process.pid}`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await writeFile(beside, JSON.stringify(tokens === null ? others : { ...others, [url]: tokens }), { mode: 0o600 });
    await rename(beside, path);
  } finally {
    await rm(beside, { force: true });
  }
}
