// The door of the public API: turns HTTP requests into client requests for the gateway, and replies into responses.

import { asTurnpikeError, TurnpikeError, withVendorStatus } from '../errors.ts';
import { findFront, frontOf, OPENAI_RATE_HEADERS, openAiRateHeaders } from '../fronts/fronts.ts';
import {
  allowOrigin,
  type Connection,
  corsHeaders,
  errorResponse,
  findHeadFault,
  isOverTls,
  pathOf,
  preflightResponse,
  type SharedHeaders,
  securityHeaders,
  shareHeaders,
  toResponse,
} from '../http/http.ts';
import { Call, type PublicDependencies } from './call.ts';
import type { EncodedReply } from './encode-reply.ts';
import { describeMissing, shortenPath, type Vendor } from './not-offered.ts';
import { allowedMethods, findRoute, type Handle, isForModels, normalPath, takesMethod } from './routes.ts';

export type { Answered, PublicDependencies } from './call.ts';

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
  if (request.method === 'OPTIONS' && isForBrowsers(path) && findHeadFault(request.headers) === null)
    return preflightResponse(request.headers, call.requestId, securityHeaders(kindOf(path), isSecure(call)));
  try {
    const answer = answerCall(call, request.method);
    return answer instanceof Promise ? respondLater(call, answer) : respond(call, answer);
  } catch (thrown) {
    return refuse(call, asTurnpikeError(thrown));
  }
}

function answerCall(call: Call, method: string): ReturnType<Handle> {
  const route = findRoute(call.path, call);
  call.front = route === null ? findFront(normalPath(call.path), call) : route.front;
  const fault = findHeadFault(call.request.headers);
  if (fault !== null) throw new TurnpikeError('invalid_request', fault);
  if (route === null) throw missing(call);
  if (!takesMethod(route, method)) {
    if (call.request.headers.get('upgrade')?.toLowerCase() === 'websocket')
      throw new TurnpikeError('websocket_unsupported', `${shortenPath(call.path)} does not accept WebSockets.`, {
        headers: { upgrade: 'HTTP/1.1' },
      });
    throw new TurnpikeError('method_not_allowed', `${method} is not allowed for ${shortenPath(call.path)}.`, {
      headers: { allow: allowedMethods(route) },
    });
  }
  return route.handle(call);
}

/** Sets the front of the error's format, too. */
function missing(call: Call): TurnpikeError {
  const path = normalPath(call.path);
  const { message, protocol } = describeMissing(path, () => senderOf(call));
  call.front = findFront(path, call) ?? frontOf(protocol);
  return new TurnpikeError('route_not_found', message);
}

/** The API that the client speaks, by its headers. */
function senderOf({ headers, dependencies }: Call): Vendor {
  if (headers.has('x-goog-api-key')) return 'gemini';
  const { vendorPrefixes } = dependencies.settings();
  const isOfMessages = vendorPrefixes.some((prefix) => headers.has(`${prefix}-version`));
  return headers.has('authorization') && !isOfMessages ? 'openai' : 'messages';
}

async function respondLater(call: Call, answering: Promise<EncodedReply | TurnpikeError>): Promise<Response> {
  try {
    return respond(call, await answering);
  } catch (thrown) {
    return refuse(call, asTurnpikeError(thrown));
  }
}

function respond(call: Call, reply: EncodedReply | TurnpikeError): Response {
  if (reply instanceof TurnpikeError) return refuse(call, reply);
  const response = toResponse(
    call.front === null ? reply : { ...reply, headers: headersOf(call, reply.headers) },
    call.requestId,
    sharedHeaders(call),
  );
  call.close(reply);
  return finish(call, response, null);
}

/** A front's requests get errors in its format. */
function refuse(call: Call, refused: TurnpikeError): Response {
  call.close(null);
  const { dependencies, front, requestId } = call;
  const failure = dependencies.settings().errorStatuses === 'vendor' ? withVendorStatus(refused) : refused;
  const shared = sharedHeaders(call);
  if (front === null) return finish(call, errorResponse(failure, requestId, shared), failure);
  const headers = headersOf(call, failure.headers());
  const reply = { status: failure.status, headers, body: front.errorBody(failure, requestId) };
  return finish(call, toResponse(reply, requestId, shared), failure);
}

function headersOf({ front, vendorPrefix, dependencies }: Call, headers: Record<string, string>) {
  if (front?.hasOpenAiHeaders !== true) return headers;
  return { ...headers, ...openAiRateHeaders(headers, vendorPrefix, dependencies.clock.nowMs()) };
}

/** Adds the headers that differ between requests, and reports the answer. */
function finish(call: Call, response: Response, failure: TurnpikeError | null): Response {
  const { path, origin, requestId, dependencies } = call;
  if (isForBrowsers(path)) {
    if (origin !== null) allowOrigin(response.headers, origin);
    if (call.front?.hasOpenAiHeaders === true || isForModels(path)) response.headers.set('x-request-id', requestId); // OpenAI clients read the request id here
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
  return path.startsWith('/v1/') || /^\/v1(?:beta)?\//.test(normalPath(path)) ? 'api' : 'other';
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
  const hasOpenAiHeaders = call.front?.hasOpenAiHeaders === true;
  const place = (kind === 'api' ? 1 : 0) + (isTls ? 2 : 0) + (isCors ? 4 : 0) + (hasOpenAiHeaders ? 8 : 0);
  let made = sharedByPrefix.get(vendorPrefix);
  if (made === undefined) {
    made = [];
    sharedByPrefix.set(vendorPrefix, made);
  }
  made[place] ??= makeHeaders(securityHeaders(kind, isTls), isCors ? vendorPrefix : null, hasOpenAiHeaders);
  return made[place];
}

function makeHeaders(
  security: Readonly<Record<string, string>>,
  corsPrefix: string | null,
  hasOpenAiHeaders: boolean,
): SharedHeaders {
  if (corsPrefix === null) return shareHeaders(security);
  const cors = corsHeaders(corsPrefix);
  if (hasOpenAiHeaders) cors['access-control-expose-headers'] += `, ${OPENAI_RATE_HEADERS}`;
  return shareHeaders({ ...security, ...cors });
}
