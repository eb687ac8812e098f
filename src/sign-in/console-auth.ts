// The requests below /console/auth: what is let through to the thread of sign-in, and what its answers become. The errors are those of
// the admin API; whatever leads elsewhere leads to the console alone.

import { newRequestId } from '../base/ids.ts';
import { bounds } from '../config.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import { errorResponse, pathOf, queryOf, refuseCrossSite, securityHeaders } from '../http/http.ts';
import { boundCookie, readCookies } from './cookies.ts';
import { CALLBACK, type Endpoint, endpoints, GET_SESSION } from './endpoints.ts';
import { failureOf } from './failure-of.ts';
import type { FoundSession, GivenAnswer } from './messages.ts';
import { readFields } from './read-fields.ts';
import type { SignInThread } from './sign-in-thread.ts';

export const AUTH_PATH = '/console/auth';
const SIGN_IN_PAGE = '/console/sign-in';

export interface AnswerParts {
  thread: Pick<SignInThread, 'ask'>;
  publicOrigin: string | null;
  hasOidc: boolean;
  /** Whether there is an enabled person of this e-mail. */
  isEnabled(email: string): Promise<boolean>;
  nowMs(): number;
  /** Told of each answer; `failure` where it is an error or leads to one. */
  answered(answered: ConsoleAnswered): void;
}

export interface ConsoleAnswered {
  requestId: string;
  method: string;
  path: string;
  status: number;
  code: string | null;
  address: string;
  durationMs: number;
  /** Somebody tried to prove who they are, and did not. */
  isFailedProof: boolean;
  failure: unknown;
}

/** From where a request came. */
export interface Circumstances {
  address: string;
  isOverTls: boolean;
}

export interface ConsoleAuth {
  /** Never rejects. */
  fetch(request: Request, from: Circumstances): Promise<Response>;
  /** Whoever is signed in by the request's cookie; `cookies` are to be set with the answer. Rejects as the thread does. */
  findSession(header: string | null, isOverTls: boolean): Promise<FoundSession | null>;
}

export function makeConsoleAuth(parts: AnswerParts): ConsoleAuth {
  return {
    fetch: (request, from) => answerAny(parts, request, from),
    findSession: (header, isOverTls) => findSession(parts, header, isOverTls),
  };
}

async function answerAny(parts: AnswerParts, request: Request, from: Circumstances): Promise<Response> {
  const startedMs = parts.nowMs();
  const requestId = newRequestId(startedMs);
  const path = pathOf(request.url);
  const endpoint = Object.hasOwn(endpoints, path.slice(AUTH_PATH.length))
    ? endpoints[path.slice(AUTH_PATH.length)]
    : undefined;
  const tell = (status: number, failure: unknown, code: string | null) =>
    parts.answered({
      requestId,
      method: request.method,
      path,
      status,
      code,
      address: from.address,
      durationMs: parts.nowMs() - startedMs,
      isFailedProof: endpoint?.isProof === true && code !== null,
      failure,
    });
  try {
    const { response, code } = await answer(parts, endpoint, request, from, requestId);
    tell(response.status, null, code);
    return response;
  } catch (failure) {
    const error = asTurnpikeError(failure);
    tell(error.status, failure, error.code);
    return errorResponse(error, requestId, securityHeaders('other', from.isOverTls));
  }
}

/** `code` says why somebody is led back to the page on which they sign in. */
async function answer(
  parts: AnswerParts,
  endpoint: Endpoint | undefined,
  request: Request,
  from: Circumstances,
  requestId: string,
): Promise<{ response: Response; code: string | null }> {
  const path = pathOf(request.url).slice(AUTH_PATH.length);
  if (endpoint === undefined || (endpoint.needsOidc && !parts.hasOidc))
    throw new TurnpikeError('route_not_found', `There is no ${AUTH_PATH}${path}.`);
  if (request.method !== endpoint.method)
    throw new TurnpikeError('method_not_allowed', `${AUTH_PATH}${path} takes ${endpoint.method}.`, {
      headers: { allow: endpoint.method },
    });
  if (path !== CALLBACK) refuseCrossSite(request, parts.publicOrigin); // the issuer's page leads there
  const cookie = readCookies(request.headers.get('cookie'), from.isOverTls);
  const session = endpoint.needsSession ? await findEnabled(parts, cookie) : null;
  if (endpoint.needsSession && session === null) return { response: signedOut(path, requestId, from), code: null };
  const query = path === CALLBACK ? queryOf(request.url) : '';
  if (query.length > bounds.signInQueryCharactersMax)
    throw new TurnpikeError('invalid_request', 'The query is too long.');
  const body = endpoint.method === 'POST' ? await readFields(request, endpoint) : null;
  const given = await parts.thread.ask<GivenAnswer>({
    kind: 'handle',
    request: {
      method: endpoint.method,
      path,
      query: query === '' ? '' : `?${query}`,
      cookie,
      userAgent: (request.headers.get('user-agent') ?? '').slice(0, bounds.userAgentCharactersMax),
      address: from.address,
      body,
    },
  });
  return toResponse(given, session?.cookies ?? [], path, requestId, from);
}

async function findEnabled(parts: AnswerParts, cookie: string): Promise<FoundSession | null> {
  const found = cookie === '' ? null : await parts.thread.ask<FoundSession | null>({ kind: 'find-session', cookie });
  return found !== null && (await parts.isEnabled(found.email)) ? found : null;
}

async function findSession(
  { thread }: AnswerParts,
  header: string | null,
  isOverTls: boolean,
): Promise<FoundSession | null> {
  const cookie = readCookies(header, isOverTls);
  const found = cookie === '' ? null : await thread.ask<FoundSession | null>({ kind: 'find-session', cookie });
  return found && { ...found, cookies: found.cookies.map((one) => boundCookie(one, isOverTls)) };
}

/** Whether anybody is signed in may be asked by anybody. */
function signedOut(path: string, requestId: string, from: Circumstances): Response {
  if (path !== GET_SESSION) throw new TurnpikeError('token_missing', 'This is for who is signed in.');
  const headers = headersOf('application/json', requestId, from);
  return new Response('null', { status: 200, headers });
}

function toResponse(
  given: GivenAnswer,
  cookies: readonly string[],
  path: string,
  requestId: string,
  from: Circumstances,
) {
  const failure = failureOf(given);
  const headers = headersOf('application/json', requestId, from);
  const set = given.headers.filter(([name]) => name === 'set-cookie').map(([, value]) => value);
  for (const cookie of [...cookies, ...set]) headers.append('set-cookie', boundCookie(cookie, from.isOverTls));
  if (failure !== null) {
    for (const [name, value] of Object.entries(failure.headers())) headers.set(name, value);
    return { response: new Response(failure.body(requestId), { status: failure.status, headers }), code: failure.code };
  }
  const location = given.headers.find(([name]) => name === 'location')?.[1];
  if (path !== CALLBACK || location === undefined)
    return { response: new Response(given.body, { status: given.status, headers }), code: null };
  const { to, code } = leadTo(location);
  headers.set('location', to);
  headers.delete('content-type');
  return { response: new Response(null, { status: 302, headers }), code };
}

/** Into the console, wherever the answer leads; of an error its code alone, since its words may be anybody's. */
function leadTo(location: string): { to: string; code: string | null } {
  const url = URL.parse(location, 'http://console.invalid');
  const error = url?.searchParams.get('error') ?? null;
  if (error !== null || url === null) {
    const code = error === 'account_not_linked' ? 'email_not_verified' : error;
    const shown = /^[a-z_]{1,60}$/.test(code ?? '') ? code : 'sign_in_failed';
    return { to: `${SIGN_IN_PAGE}?error=${shown}`, code: shown };
  }
  const path = url.pathname + url.search;
  return { to: isConsolePath(path) ? path : '/console/', code: null };
}

function isConsolePath(path: string): boolean {
  return /^\/console\/(?!auth\/)/.test(path);
}

function headersOf(type: string, requestId: string, { isOverTls }: Circumstances): Headers {
  return new Headers({
    'content-type': type,
    'cache-control': 'no-store',
    'request-id': requestId,
    ...securityHeaders('other', isOverTls),
  });
}
