// One request below /console/auth, as better-auth answers it, behind a limit of guesses at one person's password: whoever
// guesses from many addresses is slowed down, and nobody is ever locked out of a browser that they signed in with before.

import { createHash } from 'node:crypto';
import { bounds } from '../config.ts';
import type { AskedRequest, GivenAnswer, SignInSettings } from '../sign-in/sign-in.ts';
import type { Throttle } from '../storage/storage.ts';
import { knownDeviceCookie, readKnownDevice } from './known-device.ts';
import { ADDRESS_HEADER, AUTH_PATH, type BetterAuth, originOf } from './make-auth.ts';

const SIGN_IN = '/sign-in/email';

export async function answerRequest(
  auth: BetterAuth,
  throttle: Throttle,
  settings: SignInSettings,
  asked: AskedRequest,
): Promise<GivenAnswer> {
  const email = asked.path === SIGN_IN ? (asked.body?.['email'] ?? '').toLowerCase() : null;
  if (email === null) return await toText(await auth.handler(toRequest(asked, settings)));
  const device = readKnownDevice(asked.cookie, email, settings.secret);
  const key = device === null ? `email:${digest(email)}` : `device:${device}`;
  const max = bounds.passwordGuessesMax;
  const taken = await throttle.take(key, max, bounds.passwordGuessesWindowMs, Date.now());
  if (!taken.isAllowed) return tooMany(taken.retryAfterMs);
  const answer = await auth.handler(toRequest(asked, settings));
  if (!answer.ok) return await toText(answer);
  await throttle.forget(key);
  answer.headers.append('set-cookie', knownDeviceCookie(email, settings.secret));
  return await toText(answer);
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

function digest(email: string): string {
  return createHash('sha256').update(email).digest('base64url');
}
