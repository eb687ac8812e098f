// The answer to one request: its route, and its reply or error in the client's protocol.

import { TurnpikeError, withVendorStatus } from '../errors.ts';
import { findFront, frontOf, OPENAI_RATE_HEADERS, openAiFiles, openAiRateHeaders } from '../fronts/fronts.ts';
import {
  allowOrigin,
  corsHeaders,
  errorResponse,
  findHeadFault,
  isOverTls,
  type SharedHeaders,
  securityHeaders,
  shareHeaders,
  toResponse,
} from '../http/http.ts';
import type { EncodedReply } from './encode-reply.ts';
import type { Exchange } from './exchange.ts';
import { describeMissing, shortenPath, type Vendor } from './not-offered.ts';
import { allowedMethods, findRoute, type Handle, handlerOf, isForModels, normalPath } from './routes.ts';

export function answerCall(exchange: Exchange, method: string): ReturnType<Handle> {
  const route = findRoute(exchange.path, exchange);
  if (route === null) exchange.front = findFront(normalPath(exchange.path), exchange);
  else if (route.front !== 'sender') exchange.front = route.front;
  else exchange.front = senderOf(exchange) === 'openai' ? openAiFiles : null;
  const fault = findHeadFault(exchange.request.headers);
  if (fault !== null) throw new TurnpikeError('invalid_request', fault);
  if (route === null) throw missing(exchange);
  const handle = handlerOf(route, method);
  if (handle === null) {
    if (exchange.request.headers.get('upgrade')?.toLowerCase() === 'websocket')
      throw new TurnpikeError('websocket_unsupported', `${shortenPath(exchange.path)} does not accept WebSockets.`, {
        headers: { upgrade: 'HTTP/1.1' },
      });
    throw new TurnpikeError('method_not_allowed', `${method} is not allowed for ${shortenPath(exchange.path)}.`, {
      headers: { allow: allowedMethods(route) },
    });
  }
  return handle(exchange);
}

/** Sets the front of the error's format, too. */
function missing(exchange: Exchange): TurnpikeError {
  const path = normalPath(exchange.path);
  const { message, protocol } = describeMissing(path, () => senderOf(exchange));
  exchange.front = findFront(path, exchange) ?? frontOf(protocol);
  return new TurnpikeError('route_not_found', message);
}

/** The API that the client speaks, by its headers. */
function senderOf({ headers, dependencies }: Exchange): Vendor {
  if (headers.has('x-goog-api-key')) return 'gemini';
  const { vendorPrefixes } = dependencies.settings();
  const isOfMessages = vendorPrefixes.some((prefix) => headers.has(`${prefix}-version`));
  return headers.has('authorization') && !isOfMessages ? 'openai' : 'messages';
}

export function respond(exchange: Exchange, reply: EncodedReply | TurnpikeError): Response {
  if (reply instanceof TurnpikeError) return refuse(exchange, reply);
  const response = toResponse(
    exchange.front === null ? reply : { ...reply, headers: headersOf(exchange, reply.headers) },
    exchange.requestId,
    sharedHeaders(exchange),
  );
  exchange.close(reply);
  return finish(exchange, response, null);
}

/** A front's requests get errors in its format. */
export function refuse(exchange: Exchange, refused: TurnpikeError): Response {
  exchange.close(null);
  const { dependencies, front, requestId } = exchange;
  const failure = dependencies.settings().errorStatuses === 'vendor' ? withVendorStatus(refused) : refused;
  const shared = sharedHeaders(exchange);
  if (front === null) return finish(exchange, errorResponse(failure, requestId, shared), failure);
  const headers = headersOf(exchange, failure.headers());
  const reply = { status: failure.status, headers, body: front.errorBody(failure, requestId) };
  return finish(exchange, toResponse(reply, requestId, shared), failure);
}

function headersOf({ front, vendorPrefix, dependencies }: Exchange, headers: Record<string, string>) {
  if (front?.hasOpenAiHeaders !== true) return headers;
  return { ...headers, ...openAiRateHeaders(headers, vendorPrefix, dependencies.clock.nowMs()) };
}

/** Adds the headers that differ between requests, and reports the answer. */
function finish(exchange: Exchange, response: Response, failure: TurnpikeError | null): Response {
  const { path, origin, requestId, dependencies } = exchange;
  if (isForBrowsers(path)) {
    if (origin !== null) allowOrigin(response.headers, origin);
    if (exchange.front?.hasOpenAiHeaders === true || isForModels(path)) response.headers.set('x-request-id', requestId); // OpenAI clients read the request id here
  }
  if (!exchange.isAdmitted) dependencies.report(exchange.answered(response.status, failure));
  return response;
}

/** The admin API and the console serve only their own origin. */
export function isForBrowsers(path: string): boolean {
  return !path.startsWith('/api') && !path.startsWith('/console');
}

/** `api` for API paths, in any spelling; other paths get a 404 as well. */
export function kindOf(path: string): 'api' | 'other' {
  return path.startsWith('/v1/') || /^\/v1(?:beta)?\//.test(normalPath(path)) ? 'api' : 'other';
}

export function isSecure({ connection, request, dependencies }: Exchange): boolean {
  return isOverTls(connection, request.headers, dependencies.trustedProxies);
}

/** By vendor prefix; in each, by what `sharedHeaders` distinguishes. */
const sharedByPrefix = new Map<string, (SharedHeaders | undefined)[]>();

function sharedHeaders(exchange: Exchange): SharedHeaders {
  const { path, vendorPrefix } = exchange;
  const kind = kindOf(path);
  const isTls = isSecure(exchange);
  const isCors = isForBrowsers(path);
  const hasOpenAiHeaders = exchange.front?.hasOpenAiHeaders === true;
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
