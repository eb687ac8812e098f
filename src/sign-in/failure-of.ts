// What better-auth says against a request, as an error of this service's table. Its own code is told beside it, for the console.

import { overloaded, TurnpikeError } from '../errors.ts';
import type { GivenAnswer } from './messages.ts';

const WRONG_PASSWORD = 'The e-mail or the password is wrong.';
const WRONG_CODE = 'The code is wrong, or was used before.';

type Made = (details: { members: { reason: string } }) => TurnpikeError;

const signInFailed: Made = (details) => new TurnpikeError('sign_in_failed', WRONG_PASSWORD, details);
const secondFailed: Made = (details) => new TurnpikeError('second_factor_failed', WRONG_CODE, details);
const beginAnew: Made = (details) =>
  new TurnpikeError('second_factor_failed', 'This sign-in has ended: begin with the password again.', details);
const storeGone: Made = (details) =>
  new TurnpikeError('store_unavailable', 'Signing in is not possible at the moment. Try again shortly.', details);

const made: Readonly<Record<string, Made>> = {
  INVALID_EMAIL_OR_PASSWORD: signInFailed,
  INVALID_EMAIL: signInFailed,
  PASSWORD_TOO_LONG: signInFailed,
  // Whoever has no rights is told no more than whoever is not known.
  person_unknown: signInFailed,
  person_disabled: signInFailed,
  store_unavailable: storeGone,
  CROWDED: () => overloaded('Too many people sign in at the moment. Try again shortly.'),
  INVALID_CODE: secondFailed,
  INVALID_BACKUP_CODE: secondFailed,
  INVALID_TWO_FACTOR_COOKIE: beginAnew,
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: beginAnew,
  INVALID_PASSWORD: (details) => new TurnpikeError('invalid_request', 'password: is wrong', details),
  UNAUTHORIZED: (details) => new TurnpikeError('token_missing', 'This is for who is signed in.', details),
  PROVIDER_NOT_FOUND: (details) =>
    new TurnpikeError('upstream_failed', 'The issuer of single sign-on cannot be reached at the moment.', details),
};

/** Null for an answer that is none. */
export function failureOf({ status, headers, body }: GivenAnswer): TurnpikeError | null {
  if (status < 400) return null;
  const { code: reason, message } = readBody(body);
  const details = { members: { reason } };
  if (status === 429) {
    const seconds = Number(headers.find(([name]) => name === 'x-retry-after')?.[1] ?? 60);
    return new TurnpikeError('too_many_failures', 'Too many tries. Wait a while.', {
      ...details,
      retryAfterMs: seconds * 1000,
    });
  }
  const known = Object.hasOwn(made, reason) ? made[reason] : undefined;
  if (known !== undefined) return known(details);
  return status >= 500 ? storeGone(details) : new TurnpikeError('invalid_request', message, details);
}

function readBody(body: string): { code: string; message: string } {
  const fallback = { code: 'UNKNOWN', message: 'The request is wrong.' };
  try {
    const value = JSON.parse(body) as { code?: unknown; message?: unknown } | null;
    return {
      code: typeof value?.code === 'string' ? value.code : fallback.code,
      message: typeof value?.message === 'string' ? value.message : fallback.message,
    };
  } catch {
    return fallback;
  }
}
