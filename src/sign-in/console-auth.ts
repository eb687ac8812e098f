// Requests below /console/auth: validates them, forwards them to the sign-in thread, and maps the answers. Errors
// are those of the admin API; redirects lead only to the console.

import { parseWholeNumber } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import { type ErrorCode, overloaded, TurnpikeError } from '../errors.ts';
import { exchange, pathOf, queryOf, refuseCrossSite, securityHeaders, shareHeaders } from '../http/http.ts';
import type { AuthResponse, FoundSession } from './messages.ts';
import {
  CHANGE_PASSWORD,
  DISABLE_SECOND_FACTOR,
  type Endpoint,
  endpoints,
  GET_SESSION,
  readFields,
} from './read-fields.ts';
import { type SessionRules, sessionState } from './session-rules.ts';
import type { SignInThread } from './sign-in-thread.ts';

// Cookies of sign-in. Over TLS each has the "__Host-" prefix in browsers, so that neither another subdomain nor an
// unencrypted connection can replace it.
const OURS = 'turnpike.';
const SESSION = 'turnpike.session_token=';
const BOUND = '__Host-';

/** Our cookies, under the thread's names; empty if there are none. */
function readCookies(header: string | null, isOverTls: boolean): string {
  if (header === null) return '';
  const prefix = isOverTls ? BOUND + OURS : OURS;
  const cookies = header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(prefix))
    .map((part) => part.slice(prefix.length - OURS.length))
    .join('; ');
  return cookies.length > bounds.signInCookieCharactersMax ? '' : cookies;
}

/** Whether the request may have a session. No query. */
export function hasSessionCookie(header: string | null, isOverTls: boolean): boolean {
  return readCookies(header, isOverTls).includes(SESSION);
}

/** The cookie as set in a browser. */
function boundCookie(cookie: string, isOverTls: boolean): string {
  return isOverTls ? `${BOUND}${cookie}; Secure` : cookie;
}

const RETRY_SECONDS = 60; // if the thread gives no time

type Failure = [code: ErrorCode, message: string];

const SIGN_IN_FAILED: Failure = ['sign_in_failed', 'The email or password is incorrect.'];
const WRONG_CODE: Failure = ['second_factor_failed', 'The code is incorrect or was already used.'];
const BEGIN_AGAIN: Failure = [
  'second_factor_failed',
  'This sign-in attempt has ended. Start again with your password.',
];
const SIGNED_OUT: Failure = ['token_missing', 'You are not signed in.'];
const LIMITED: Failure = [
  'second_factor_required',
  'This installation requires a second factor. Set one up in the console, then continue.',
];
const NOT_WITHOUT: Failure = [
  'conflict',
  'The second factor cannot be turned off, because this installation requires one. You can replace it.',
];
const UNAVAILABLE: Failure = ['store_unavailable', 'Sign-in is temporarily unavailable. Try again shortly.'];

/** Errors by the reason that the sign-in thread gives. */
const FAILURES: Readonly<Record<string, Failure>> = {
  INVALID_EMAIL_OR_PASSWORD: SIGN_IN_FAILED,
  INVALID_EMAIL: SIGN_IN_FAILED,
  PASSWORD_TOO_LONG: SIGN_IN_FAILED,
  // People without rights get the same error as unknown people.
  person_unknown: SIGN_IN_FAILED,
  person_disabled: SIGN_IN_FAILED,
  store_unavailable: UNAVAILABLE,
  INVALID_CODE: WRONG_CODE,
  INVALID_BACKUP_CODE: WRONG_CODE,
  INVALID_TWO_FACTOR_COOKIE: BEGIN_AGAIN,
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: BEGIN_AGAIN,
  INVALID_PASSWORD: ['invalid_request', 'password: is incorrect'],
  UNAUTHORIZED: SIGNED_OUT,
  PROVIDER_NOT_FOUND: ['upstream_failed', 'The single sign-on issuer cannot be reached.'],
};

/** null if the answer is not an error. */
function failureOf({ status, headers, body }: AuthResponse): TurnpikeError | null {
  if (status < 400) return null;
  const { code: reason, message } = readBody(body);
  const faults = reason === 'WEAK_PASSWORD' ? [{ path: ['newPassword'], message }] : undefined;
  const details = { members: { reason, ...(faults && { faults }) } };
  if (status === 429) {
    const seconds = parseWholeNumber(headers.find(([name]) => name === 'x-retry-after')?.[1] ?? '') ?? RETRY_SECONDS;
    return new TurnpikeError('too_many_failures', 'Too many attempts. Try again later.', {
      ...details,
      retryAfterMs: Math.min(seconds * 1000, DAY_MS),
    });
  }
  if (reason === 'CROWDED') return overloaded('Too many sign-ins are in progress. Try again shortly.');
  if (faults !== undefined) return new TurnpikeError('invalid_request', `newPassword: ${message}`, details);
  const unknown: Failure = status >= 500 ? UNAVAILABLE : ['invalid_request', message];
  const [code, text] = (Object.hasOwn(FAILURES, reason) ? FAILURES[reason] : null) ?? unknown;
  return new TurnpikeError(code, text, details);
}

function readBody(body: string): { code: string; message: string } {
  const fallback = { code: 'UNKNOWN', message: 'The request is invalid.' };
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

export const AUTH_PATH = '/console/auth';
const SIGN_IN_PAGE = '/console/sign-in';

/** An enabled person, and the rules for their sessions. */
export interface Known<Person> {
  person: Person;
  rules: SessionRules;
}

export interface AnswerParts<Person> {
  thread: Pick<SignInThread, 'ask'>;
  publicOrigin: string | null;
  /** The ids of issuers. */
  issuers: readonly string[];
  /** The enabled person with this email; null: there is none. */
  findPerson(email: string): Promise<Known<Person> | null>;
  /** The name of the installation. */
  installation(): string;
  nowMs(): number;
  /** Called for each response; `failure` if it is an error or redirects because of one. */
  answered(answered: ConsoleAnswered): void;
  /** Called when the person with this email has changed their password. */
  onPasswordChanged(email: string, address: string): void;
}

export interface ConsoleAnswered {
  requestId: string;
  method: string;
  path: string;
  status: number;
  code: string | null;
  address: string;
  durationMs: number;
  /** A failed attempt to authenticate. */
  isFailedProof: boolean;
  failure: unknown;
}

/** The origin of a request. */
interface Circumstances {
  address: string;
  isOverTls: boolean;
}

/** A session that is not ended; `isLimited`: the person must set up a second factor before anything else. */
export interface OpenSession<Person> extends Known<Person> {
  email: string;
  /** To be set with the response. */
  cookies: readonly string[];
  isLimited: boolean;
}

export interface ConsoleAuth<Person> {
  /** Never rejects. */
  fetch(request: Request, from: Circumstances): Promise<Response>;
  /** The person of the request's cookie; null: the session has ended. Throws second_factor_required, and as the thread does. */
  findSession(
    header: string | null,
    isOverTls: boolean,
  ): Promise<Pick<OpenSession<Person>, 'person' | 'cookies'> | null>;
}

export function makeConsoleAuth<Person>(parts: AnswerParts<Person>): ConsoleAuth<Person> {
  return {
    fetch: (request, from) => answerAny(parts, request, from),
    async findSession(header, isOverTls) {
      const session = await openSession(parts, readCookies(header, isOverTls));
      if (session?.isLimited === true) throw new TurnpikeError(...LIMITED);
      return session && { ...session, cookies: session.cookies.map((one) => boundCookie(one, isOverTls)) };
    },
  };
}

function answerAny<Person>(parts: AnswerParts<Person>, request: Request, from: Circumstances): Promise<Response> {
  const { method, url } = request;
  const path = pathOf(url);
  const name = path.slice(AUTH_PATH.length);
  const endpoint = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined;
  let redirectCode: string | null = null;
  return exchange(
    parts.nowMs,
    async (requestId) => {
      const { response, code } = await answer(parts, endpoint, request, from, requestId);
      redirectCode = code;
      return response;
    },
    ({ requestId, durationMs, status, failure, thrown }) => {
      const code = failure?.code ?? redirectCode;
      const isFailedProof = endpoint?.isProof === true && code !== null;
      const { address } = from;
      parts.answered({ requestId, method, path, status, code, address, durationMs, isFailedProof, failure: thrown });
    },
    shareHeaders(securityHeaders('other', from.isOverTls)),
  );
}

/** `code` says why the browser is redirected to the sign-in page. */
async function answer<Person>(
  parts: AnswerParts<Person>,
  endpoint: Endpoint | undefined,
  request: Request,
  from: Circumstances,
  requestId: string,
): Promise<{ response: Response; code: string | null }> {
  const path = pathOf(request.url).slice(AUTH_PATH.length);
  const { issuers } = parts;
  const isOfOther = endpoint?.issuer !== undefined && !issuers.includes(endpoint.issuer);
  if (endpoint === undefined || isOfOther || (endpoint.asksIssuer && issuers.length === 0))
    throw new TurnpikeError('route_not_found', `The path ${AUTH_PATH}${path} does not exist.`);
  if (request.method !== endpoint.method)
    throw new TurnpikeError('method_not_allowed', `${request.method} is not allowed for ${AUTH_PATH}${path}.`, {
      headers: { allow: endpoint.method },
    });
  const isCallback = endpoint.issuer !== undefined;
  if (!isCallback) refuseCrossSite(request, parts.publicOrigin); // the issuer redirects here
  const cookie = readCookies(request.headers.get('cookie'), from.isOverTls);
  const hasSession = endpoint.needsSession || (endpoint.mayHaveSession && cookie.includes(SESSION));
  const session = hasSession ? await openSession(parts, cookie) : null;
  if (hasSession && session === null) {
    // This endpoint needs no session: it reports whether the client is signed in.
    if (path !== GET_SESSION) throw new TurnpikeError(...SIGNED_OUT);
    return { response: new Response('null', { headers: headersOf(requestId, from) }), code: null };
  }
  if (session?.isLimited && !endpoint.isForLimited) throw new TurnpikeError(...LIMITED);
  if (path === DISABLE_SECOND_FACTOR && session?.rules.needsSecondFactor) throw new TurnpikeError(...NOT_WITHOUT);
  const query = isCallback ? queryOf(request.url) : '';
  if (query.length > bounds.signInQueryCharactersMax)
    throw new TurnpikeError('invalid_request', 'The query is too long.');
  const body = endpoint.method === 'POST' ? await readFields(request, endpoint, issuers) : null;
  const given = await parts.thread.ask<AuthResponse>({
    kind: 'handle',
    request: {
      method: endpoint.method,
      path,
      query: query === '' ? '' : `?${query}`,
      cookie,
      userAgent: (request.headers.get('user-agent') ?? '').slice(0, bounds.userAgentCharactersMax),
      address: from.address,
      body,
      installation: parts.installation(),
      lifetimeMs: session?.rules.lifetimeMs ?? null,
    },
  });
  if (path === CHANGE_PASSWORD && given.status === 200 && session !== null)
    parts.onPasswordChanged(session.email, from.address);
  return toResponse(given, session?.cookies ?? [], isCallback, requestId, from);
}

/** null: there is none, or it has ended. */
async function openSession<Person>(parts: AnswerParts<Person>, cookie: string): Promise<OpenSession<Person> | null> {
  if (cookie === '') return null;
  const { thread, findPerson, nowMs } = parts;
  const found = await thread.ask<FoundSession | null>({ kind: 'find-session', cookie });
  if (found === null) return null;
  const known = await findPerson(found.email);
  if (known === null) return null;
  const state = sessionState(found, known.rules, nowMs());
  if (state !== 'ended')
    return { ...known, email: found.email, cookies: found.cookies, isLimited: state === 'limited' };
  await thread.ask({ kind: 'end-session', cookie }); // a later setting must not open it again
  return null;
}

function toResponse(
  given: AuthResponse,
  cookies: readonly string[],
  isCallback: boolean,
  requestId: string,
  from: Circumstances,
) {
  const failure = failureOf(given);
  const headers = headersOf(requestId, from);
  const set = given.headers.filter(([name]) => name === 'set-cookie').map(([, value]) => value);
  for (const cookie of [...cookies, ...set]) headers.append('set-cookie', boundCookie(cookie, from.isOverTls));
  if (failure !== null) {
    for (const [name, value] of Object.entries(failure.headers())) headers.set(name, value);
    return { response: new Response(failure.body(requestId), { status: failure.status, headers }), code: failure.code };
  }
  const location = given.headers.find(([name]) => name === 'location')?.[1];
  if (!isCallback || location === undefined)
    return { response: new Response(given.body, { status: given.status, headers }), code: null };
  const { to, code } = leadTo(location);
  headers.set('location', to);
  headers.delete('content-type');
  return { response: new Response(null, { status: 302, headers }), code };
}

/** The redirect target within the console. Keeps only the code of an error, because anyone can choose its text. */
function leadTo(location: string): { to: string; code: string | null } {
  const url = URL.parse(location, 'http://console.invalid');
  const error = url?.searchParams.get('error') ?? null;
  if (error !== null || url === null) {
    const code = error === 'account_not_linked' ? 'email_not_verified' : error;
    const shown = /^[a-z_]{1,60}$/.test(code ?? '') ? code : 'sign_in_failed';
    return { to: `${SIGN_IN_PAGE}?error=${shown}`, code: shown };
  }
  const path = url.pathname + url.search;
  return { to: /^\/console\/(?!auth\/)/.test(path) ? path : '/console/', code: null };
}

function headersOf(requestId: string, { isOverTls }: Circumstances): Headers {
  return new Headers({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'request-id': requestId,
    ...securityHeaders('other', isOverTls),
  });
}
