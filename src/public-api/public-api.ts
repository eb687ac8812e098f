// The door of the public API: turns HTTP requests into client requests for the gateway, and replies into responses.

import { chatErrorBody } from '../chat-completions/chat-completions.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import {
  allowOrigin,
  type Connection,
  corsHeaders,
  errorResponse,
  isOverTls,
  pathOf,
  preflightResponse,
  type SharedHeaders,
  securityHeaders,
  shareHeaders,
  toResponse,
} from '../http/http.ts';
import { Call, type PublicDependencies, type Reply } from './call.ts';
import { OPENAI_RATE_HEADERS, openAiRateHeaders } from './post-chat-completions.ts';
import { allowedMethods, findRoute, isChatPath, isForOpenAi, normalPath, takesMethod } from './routes.ts';

export type { Answered, PublicDependencies } from './call.ts';

const SHOWN_PATH_CHARACTERS_MAX = 200;

/**
 * Answers every request that is not for the admin API or the console; a refusal before the body is read needs no promise.
 * Neither throws nor rejects: errors become responses.
 */
export function handlePublic(
  request: Request,
  connection: Connection,
  dependencies: PublicDependencies,
  path: string = pathOf(request.url),
): Response | Promise<Response> {
  const call = new Call(request, path, connection, dependencies);
  if (request.method === 'OPTIONS' && isForBrowsers(path))
    return preflightResponse(request.headers, call.requestId, securityHeaders(kindOf(path), isSecure(call)));
  try {
    const reply = answerCall(call, request.method);
    return reply instanceof Promise ? respondLater(call, reply) : respond(call, reply);
  } catch (thrown) {
    return refuse(call, asTurnpikeError(thrown));
  }
}

function answerCall(call: Call, method: string): Reply | Promise<Reply> {
  const route = findRoute(call.path);
  if (route === null) throw new TurnpikeError('route_not_found', `The path ${shorten(call.path)} does not exist.`);
  if (!takesMethod(route, method))
    throw new TurnpikeError('method_not_allowed', `${method} is not allowed for ${shorten(call.path)}.`, {
      headers: { allow: allowedMethods(route) },
    });
  return route.handle(call);
}

async function respondLater(call: Call, replying: Promise<Reply>): Promise<Response> {
  try {
    return respond(call, await replying);
  } catch (thrown) {
    return refuse(call, asTurnpikeError(thrown));
  }
}

function respond(call: Call, reply: Reply): Response {
  const response = toResponse(reply, call.requestId, sharedHeaders(call));
  call.close(reply);
  return finish(call, response, null);
}

/** Requests in Chat Completions format get errors in that format. */
function refuse(call: Call, failure: TurnpikeError): Response {
  call.close(null);
  const shared = sharedHeaders(call);
  if (!isChatPath(call.path)) return finish(call, errorResponse(failure, call.requestId, shared), failure);
  const { status } = failure;
  const headers = failure.headers();
  Object.assign(headers, openAiRateHeaders(headers, call.vendorPrefix, call.dependencies.clock.nowMs()));
  return finish(call, toResponse({ status, headers, body: chatErrorBody(failure) }, call.requestId, shared), failure);
}

/** Adds the headers that differ between requests, and reports the answer. */
function finish(call: Call, response: Response, failure: TurnpikeError | null): Response {
  const { path, origin, requestId, dependencies } = call;
  if (isForBrowsers(path)) {
    if (origin !== null) allowOrigin(response.headers, origin);
    if (isForOpenAi(path)) response.headers.set('x-request-id', requestId); // OpenAI clients read the request id here
  }
  if (call.isAdmitted) return response;
  call.durationMs = dependencies.clock.nowMs() - call.receivedAtMs;
  call.status = response.status;
  call.failure = failure;
  dependencies.report(call);
  return response;
}

/** The admin API and the console serve only their own origin. */
function isForBrowsers(path: string): boolean {
  return !path.startsWith('/api') && !path.startsWith('/console');
}

/** `api` for API paths, in any spelling; other paths get a 404 as well. */
function kindOf(path: string): 'api' | 'other' {
  return path.startsWith('/v1/') || normalPath(path).startsWith('/v1/') ? 'api' : 'other';
}

function isSecure({ connection, request, dependencies }: Call): boolean {
  return isOverTls(connection, request.headers, dependencies.trustedProxies);
}

/** By vendor prefix; in each, by what `sharedHeaders` distinguishes. */
const sharedByPrefix = new Map<string, (SharedHeaders | undefined)[]>();

function sharedHeaders(call: Call): SharedHeaders {
  const { path, vendorPrefix } = call;
  const kind = kindOf(path);
  const isTls = isSecure(call);
  const isCors = isForBrowsers(path);
  const isChat = isChatPath(path);
  const place = (kind === 'api' ? 1 : 0) + (isTls ? 2 : 0) + (isCors ? 4 : 0) + (isChat ? 8 : 0);
  let made = sharedByPrefix.get(vendorPrefix);
  if (made === undefined) {
    made = [];
    sharedByPrefix.set(vendorPrefix, made);
  }
  made[place] ??= makeHeaders(securityHeaders(kind, isTls), isCors ? vendorPrefix : null, isChat);
  return made[place];
}

function makeHeaders(
  security: Readonly<Record<string, string>>,
  corsPrefix: string | null,
  isChat: boolean,
): SharedHeaders {
  if (corsPrefix === null) return shareHeaders(security);
  const cors = corsHeaders(corsPrefix);
  if (isChat) cors['access-control-expose-headers'] += `, ${OPENAI_RATE_HEADERS}`;
  return shareHeaders({ ...security, ...cors });
}

function shorten(path: string): string {
  return path.slice(0, SHOWN_PATH_CHARACTERS_MAX);
}
