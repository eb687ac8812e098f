// Answers one request below /console/auth with better-auth, behind a limit on password guesses per person. Guessing
// from many addresses is slowed down; a browser that signed in before is never locked out.

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Count, type Counted, countNetworks, networkCounters } from '../base/fair-limits.ts';
import { bounds } from '../config/config.ts';
import type { AuthRequest, AuthResponse, SignInSettings } from '../sign-in/sign-in.ts';
import type { Throttle } from '../storage/storage.ts';
import {
  ADDRESS_HEADER,
  AUTH_PATH,
  type BetterAuth,
  handleCallback,
  INSTALLATION_HEADER,
  originOf,
} from './make-auth.ts';
import { endSessions, findPasswordHash } from './passwords.ts';

const NAME = 'turnpike.known_device';
const NONCE_BYTES = 16;
const SHAPE = /^[\w-]{22}\.[\w-]{43}$/;

/** The device name if the cookie was made for this email; else null. */
function readKnownDevice(cookie: string, email: string, secret: string): string | null {
  const prefix = `${NAME}=`;
  const value = cookie
    .split(/; */)
    .find((part) => part.startsWith(prefix))
    ?.slice(prefix.length);
  if (value === undefined || !SHAPE.test(value)) return null;
  const [nonce = '', shown = ''] = value.split('.');
  return timingSafeEqual(Buffer.from(shown), Buffer.from(sign(nonce, email, secret))) ? nonce : null;
}

/** The cookie to set after a sign-in. */
function knownDeviceCookie(email: string, secret: string): string {
  const nonce = randomBytes(NONCE_BYTES).toString('base64url');
  const age = bounds.knownDeviceKeptMs / 1000;
  return `${NAME}=${nonce}.${sign(nonce, email, secret)}; Max-Age=${age}; Path=/; HttpOnly; SameSite=Strict`;
}

function sign(nonce: string, email: string, secret: string): string {
  return createHmac('sha256', secret).update(`known device\n${nonce}\n${email}`).digest('base64url');
}

const SIGN_IN = '/sign-in/email';
const SIGN_OUT = '/sign-out';
const CHANGE_PASSWORD = '/change-password';
const LIST_SESSIONS = '/list-sessions';
const REVOKE_SESSION = '/revoke-session';
const VERIFY_CODE = '/two-factor/verify-totp';
const VERIFY_BACKUP_CODE = '/two-factor/verify-backup-code';
const VERIFY_PASSWORD = '/verify-password';
const ENABLE = '/two-factor/enable';
const DISABLE = '/two-factor/disable';
const REPLACE = '/two-factor/replace';
/** Deletes the cookie of a sign-in that waited for its second factor. */
const CHALLENGE_ENDED = 'turnpike.two_factor=;';

export async function answerRequest(
  auth: BetterAuth,
  throttle: Throttle,
  settings: SignInSettings,
  asked: AuthRequest,
): Promise<AuthResponse> {
  if (asked.path === SIGN_IN) return signIn(auth, throttle, settings, asked);
  if (asked.path === SIGN_OUT) await endSession(auth, asked.cookie);
  if (asked.path === LIST_SESSIONS) return ofJson(await listSessions(auth, asked));
  if (asked.path === REPLACE) return replaceSecondFactor(auth, throttle, settings, asked);
  if (asked.path === REVOKE_SESSION) return ofJson(await revokeSession(auth, asked));
  const request = toRequest(asked, settings);
  const isCallback = asked.path.startsWith('/callback/');
  const answer = await (isCallback ? handleCallback(auth, request, asked.address) : auth.handler(request));
  if (asked.path === CHANGE_PASSWORD && answer.ok) await endOthers(auth, answer);
  if (asked.path === VERIFY_CODE && answer.ok && (await isReplayed(auth, throttle, asked, answer)))
    return { status: 401, headers: [], body: JSON.stringify({ code: 'INVALID_CODE' }) };
  return toText(answer);
}

/** Done here because better-auth reports success even if the session could not be ended. Rejects with the cause. */
export async function endSession(auth: BetterAuth, cookie: string): Promise<null> {
  const found = await auth.api.getSession({ headers: new Headers({ cookie }) });
  if (found !== null) await (await auth.$context).internalAdapter.deleteSession(found.session.token);
  return null;
}

/** The sessions of the signed-in person, without their tokens. */
async function listSessions(auth: BetterAuth, { cookie, lifetimeMs }: AuthRequest): Promise<object[]> {
  const found = await auth.api.getSession({ headers: new Headers({ cookie }) });
  if (found === null) return [];
  const sessions = await (await auth.$context).internalAdapter.listSessions(found.user.id);
  return sessions
    .map(({ id, createdAt, updatedAt, expiresAt, ipAddress, userAgent }) => {
      const endsAt = new Date(Math.min(createdAt.getTime() + (lifetimeMs ?? 0), expiresAt.getTime()));
      return { id, createdAt, updatedAt, endsAt, ipAddress, userAgent, isCurrent: id === found.session.id };
    })
    .filter(({ endsAt }) => endsAt.getTime() > Date.now());
}

async function revokeSession(auth: BetterAuth, { cookie, body }: AuthRequest): Promise<object> {
  const found = await auth.api.getSession({ headers: new Headers({ cookie }) });
  const { internalAdapter } = await auth.$context;
  const sessions = found === null ? [] : await internalAdapter.listSessions(found.user.id);
  const revoked = sessions.find(({ id }) => id === body?.['id']);
  if (revoked !== undefined) await internalAdapter.deleteSession(revoked.token);
  return { status: true };
}

/**
 * For another app: with the password and a code of the present one, or a backup code. The answer is that of setting up;
 * until a code of the new app confirms it, the person has no second factor.
 */
async function replaceSecondFactor(
  auth: BetterAuth,
  throttle: Throttle,
  settings: SignInSettings,
  asked: AuthRequest,
): Promise<AuthResponse> {
  const { password = '', code = '' } = asked.body ?? {};
  const found = await auth.api.getSession({ headers: new Headers({ cookie: asked.cookie }) });
  const name = `replace:${found?.user.id}`;
  const { secondFactorGuessesMax, secondFactorRestMs } = bounds;
  const counted = await throttle.take(name, secondFactorGuessesMax, secondFactorRestMs, Date.now());
  if (!counted.isAllowed) return tooMany(counted.retryAfterMs);
  const ask = (path: string, body: Record<string, string>, cookie = asked.cookie) =>
    auth.handler(toRequest({ ...asked, method: 'POST', path, body, cookie }, settings));
  const verified = await ask(VERIFY_PASSWORD, { password });
  if (!verified.ok) return toText(verified);
  const proven = await ask(/^\d{6}$/.test(code) ? VERIFY_CODE : VERIFY_BACKUP_CODE, { code });
  if (!proven.ok) return toText(proven);
  await throttle.forget(name);
  const disabled = await ask(DISABLE, { password });
  if (!disabled.ok) return toText(disabled);
  const cookies = disabled.headers.getSetCookie();
  const enabled = await ask(ENABLE, { password }, cookies.map((one) => one.split(';')[0]).join('; '));
  for (const cookie of cookies) enabled.headers.append('set-cookie', cookie);
  return toText(enabled);
}

function ofJson(value: object): AuthResponse {
  return { status: 200, headers: [], body: JSON.stringify(value) };
}

/** Each code opens one session, so that a code seen while typed is useless. Ends the session of a second use. */
async function isReplayed(
  auth: BetterAuth,
  throttle: Throttle,
  asked: AuthRequest,
  answer: Response,
): Promise<boolean> {
  const isSignIn = answer.headers.getSetCookie().some((cookie) => cookie.startsWith(CHALLENGE_ENDED));
  if (!isSignIn) return false; // it has just been set up
  const { token, user } = (await answer.clone().json()) as { token: string; user: { id: string } };
  const name = `code:${user.id}:${digest(asked.body?.['code'] ?? '')}`;
  const { isAllowed } = await throttle.take(name, 1, bounds.secondFactorCodeMs, Date.now());
  if (!isAllowed) await (await auth.$context).internalAdapter.deleteSession(token);
  return !isAllowed;
}

const SIGN_IN_LIMITS = {
  subscriber: bounds.signInsPerAddressMax,
  site: bounds.signInsPerSiteMax,
  region: bounds.signInsPerRegionMax,
};
const FREE_SHARES = { site: bounds.siteFreeShare, region: bounds.regionFreeShare };

/**
 * The networks are counted first: a refused network does not use up the limit of an email. Of that, networks that guess
 * leave something for the person.
 */
async function countGuess(throttle: Throttle, person: string, address: string): Promise<Counted> {
  const count: Count = (name, max, windowMs) => throttle.take(name, max, windowMs, Date.now());
  const { signInWindowMs, passwordGuessesMax: max, passwordGuessesWindowMs: windowMs } = bounds;
  const byNetwork = await countNetworks(count, 'sign-in', address, SIGN_IN_LIMITS, FREE_SHARES, signInWindowMs);
  if (!byNetwork.isAllowed) return byNetwork;
  if (isDevice(person)) return count(person, max, windowMs);
  const limits = { subscriber: max, site: max, region: max };
  const own = await countNetworks(count, person, address, limits, FREE_SHARES, windowMs);
  return own.isAllowed ? count(person, own.shareOf(max), windowMs) : own;
}

function isDevice(person: string): boolean {
  return person.startsWith('device:');
}

async function signIn(
  auth: BetterAuth,
  throttle: Throttle,
  settings: SignInSettings,
  asked: AuthRequest,
): Promise<AuthResponse> {
  const email = (asked.body?.['email'] ?? '').toLowerCase();
  const device = readKnownDevice(asked.cookie, email, settings.secret);
  const person = device === null ? `email:${digest(email)}` : `device:${device}`;
  const counted = await countGuess(throttle, person, asked.address);
  if (!counted.isAllowed) return tooMany(counted.retryAfterMs);
  const before = await findPasswordHash(auth, email);
  const answer = await auth.handler(toRequest(asked, settings));
  if (!answer.ok) return toText(answer);
  // The password was replaced meanwhile: the former one must not open a session.
  if ((await findPasswordHash(auth, email)) !== before) {
    await endSessions(auth, email);
    return { status: 401, headers: [], body: JSON.stringify({ code: 'INVALID_EMAIL_OR_PASSWORD' }) };
  }
  const byNetwork = isDevice(person) ? [] : Object.values(networkCounters(person, asked.address));
  for (const name of [person, ...byNetwork]) await throttle.forget(name);
  answer.headers.append('set-cookie', knownDeviceCookie(email, settings.secret));
  return toText(answer);
}

/** Including sessions begun with the former password while it was replaced. */
async function endOthers(auth: BetterAuth, answer: Response): Promise<void> {
  const { token, user } = (await answer.clone().json()) as { token: string | null; user: { id: string } };
  const { internalAdapter } = await auth.$context;
  for (const session of await internalAdapter.listSessions(user.id))
    if (session.token !== token) await internalAdapter.deleteSession(session.token);
}

/** As if sent by the console's own page. The main thread, which knows the connection, has checked that. */
function toRequest(
  { method, path, query, cookie, userAgent, address, body, installation }: AuthRequest,
  settings: SignInSettings,
) {
  const origin = originOf(settings);
  const headers = new Headers({ origin, 'user-agent': userAgent, [ADDRESS_HEADER]: address });
  headers.set(INSTALLATION_HEADER, encodeURIComponent(installation));
  if (cookie !== '') headers.set('cookie', cookie);
  if (method === 'POST') headers.set('content-type', 'application/json');
  const text = method === 'POST' ? JSON.stringify(toValues(body ?? {})) : null;
  return new Request(`${origin}${AUTH_PATH}${path}${query}`, { method, headers, body: text });
}

/** The only value that is not a text. */
function toValues({ revokeOtherSessions, ...body }: Record<string, string>): Record<string, unknown> {
  return revokeOtherSessions === undefined ? body : { ...body, revokeOtherSessions: revokeOtherSessions === 'true' };
}

async function toText(answer: Response): Promise<AuthResponse> {
  return { status: answer.status, headers: [...answer.headers], body: withoutTokens(await answer.text()) };
}

/** better-auth repeats the token of a session in its JSON, where scripts could read it. Only the cookie has it. */
function withoutTokens(body: string): string {
  if (!body.includes('"token"')) return body;
  return JSON.stringify(JSON.parse(body), (name, value) => (name === 'token' ? undefined : value));
}

function tooMany(retryAfterMs: number): AuthResponse {
  const headers: [string, string][] = [['x-retry-after', String(Math.ceil(retryAfterMs / 1000))]];
  return { status: 429, headers, body: '{}' };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
