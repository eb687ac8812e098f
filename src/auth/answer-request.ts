// One request below /console/auth, as better-auth answers it, behind a limit of guesses at one person's password: whoever
// guesses from many addresses is slowed down, and nobody is ever locked out of a browser that they signed in with before.

import { createHash } from 'node:crypto';
import { subscriberNetwork } from '../base/address-range.ts';
import { bounds } from '../config.ts';
import type { AskedRequest, GivenAnswer, SignInSettings } from '../sign-in/sign-in.ts';
import type { Throttle } from '../storage/storage.ts';
import { knownDeviceCookie, readKnownDevice } from './known-device.ts';
import { ADDRESS_HEADER, AUTH_PATH, type BetterAuth, originOf } from './make-auth.ts';
import { endSessions, findPasswordHash } from './set-password.ts';

const SIGN_IN = '/sign-in/email';
const SIGN_OUT = '/sign-out';
const CHANGE_PASSWORD = '/change-password';
const VERIFY_CODE = '/two-factor/verify-totp';
/** How the cookie of a sign-in that waited for its second factor is taken back. */
const CHALLENGE_ENDED = 'turnpike.two_factor=;';

export async function answerRequest(
  auth: BetterAuth,
  throttle: Throttle,
  settings: SignInSettings,
  asked: AskedRequest,
): Promise<GivenAnswer> {
  if (asked.path === SIGN_IN) return signIn(auth, throttle, settings, asked);
  if (asked.path === SIGN_OUT) await endSession(auth, asked.cookie);
  const answer = await auth.handler(toRequest(asked, settings));
  if (asked.path === CHANGE_PASSWORD && answer.ok) await endOthers(auth, answer);
  if (asked.path === VERIFY_CODE && answer.ok && (await isReplayed(auth, throttle, asked, answer)))
    return { status: 401, headers: [], body: JSON.stringify({ code: 'INVALID_CODE' }) };
  return toText(answer);
}

/** By ourselves: better-auth says that all is well also where the session could not be ended. Rejects with what kept it from that. */
async function endSession(auth: BetterAuth, cookie: string): Promise<void> {
  const found = await auth.api.getSession({ headers: new Headers({ cookie }) });
  if (found !== null) await (await auth.$context).internalAdapter.deleteSession(found.session.token);
}

/** Each code opens one session: whoever saw it typed has nothing of it. The session of a second one is ended again. */
async function isReplayed(
  auth: BetterAuth,
  throttle: Throttle,
  asked: AskedRequest,
  answer: Response,
): Promise<boolean> {
  const isSignIn = answer.headers.getSetCookie().some((cookie) => cookie.startsWith(CHALLENGE_ENDED));
  if (!isSignIn) return false; // it was set up just now
  const { token, user } = (await answer.clone().json()) as { token: string; user: { id: string } };
  const name = `code:${user.id}:${digest(asked.body?.['code'] ?? '')}`;
  const { isAllowed } = await throttle.take(name, 1, bounds.secondFactorCodeMs, Date.now());
  if (!isAllowed) await (await auth.$context).internalAdapter.deleteSession(token);
  return !isAllowed;
}

/** The address is counted first: whoever may not ask takes nothing from an e-mail. */
async function signIn(
  auth: BetterAuth,
  throttle: Throttle,
  settings: SignInSettings,
  asked: AskedRequest,
): Promise<GivenAnswer> {
  const email = (asked.body?.['email'] ?? '').toLowerCase();
  const network = `address:${subscriberNetwork(asked.address)}`;
  const device = readKnownDevice(asked.cookie, email, settings.secret);
  const person = device === null ? `email:${digest(email)}` : `device:${device}`;
  const { signInsPerAddressMax, signInWindowMs, passwordGuessesMax, passwordGuessesWindowMs } = bounds;
  const byAddress = await throttle.take(network, signInsPerAddressMax, signInWindowMs, Date.now());
  if (!byAddress.isAllowed) return tooMany(byAddress.retryAfterMs);
  const byPerson = await throttle.take(person, passwordGuessesMax, passwordGuessesWindowMs, Date.now());
  if (!byPerson.isAllowed) return tooMany(byPerson.retryAfterMs);
  const before = await findPasswordHash(auth, email);
  const answer = await auth.handler(toRequest(asked, settings));
  if (!answer.ok) return toText(answer);
  // Replaced while it was looked at: whoever replaced it wanted nobody in who has the former one.
  if ((await findPasswordHash(auth, email)) !== before) {
    await endSessions(auth, email);
    return { status: 401, headers: [], body: JSON.stringify({ code: 'INVALID_EMAIL_OR_PASSWORD' }) };
  }
  await throttle.forget(person);
  answer.headers.append('set-cookie', knownDeviceCookie(email, settings.secret));
  return toText(answer);
}

/** Also those that were begun with the former password while it was replaced. */
async function endOthers(auth: BetterAuth, answer: Response): Promise<void> {
  const { token, user } = (await answer.clone().json()) as { token: string | null; user: { id: string } };
  const { internalAdapter } = await auth.$context;
  for (const session of await internalAdapter.listSessions(user.id))
    if (session.token !== token) await internalAdapter.deleteSession(session.token);
}

/** As if it came from the console's own page: that it did is asked by the main thread, which knows the connection. */
function toRequest({ method, path, query, cookie, userAgent, address, body }: AskedRequest, settings: SignInSettings) {
  const origin = originOf(settings);
  const headers = new Headers({ origin, 'user-agent': userAgent, [ADDRESS_HEADER]: address });
  if (cookie !== '') headers.set('cookie', cookie);
  if (method === 'POST') headers.set('content-type', 'application/json');
  const text = method === 'POST' ? JSON.stringify(toValues(body ?? {})) : null;
  return new Request(`${origin}${AUTH_PATH}${path}${query}`, { method, headers, body: text });
}

/** The one value that is not a text. */
function toValues({ revokeOtherSessions, ...body }: Record<string, string>): Record<string, unknown> {
  return revokeOtherSessions === undefined ? body : { ...body, revokeOtherSessions: revokeOtherSessions === 'true' };
}

async function toText(answer: Response): Promise<GivenAnswer> {
  return { status: answer.status, headers: [...answer.headers], body: await answer.text() };
}

function tooMany(retryAfterMs: number): GivenAnswer {
  const headers: [string, string][] = [['x-retry-after', String(Math.ceil(retryAfterMs / 1000))]];
  return { status: 429, headers, body: '{}' };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
