// The door of the public API: turns HTTP requests into client requests for the gateway, and replies into responses.

import { newRequestId } from '../base/ids.ts';
import { chatErrorBody } from '../chat-completions/chat-completions.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import {
  type Connection,
  clientAddress,
  corsHeaders,
  errorResponse,
  isOverTls,
  pathOf,
  preflightResponse,
  securityHeaders,
  toResponse,
} from '../http/http.ts';
import { OPENAI_RATE_HEADERS, openAiRateHeaders } from './post-chat-completions.ts';
import { allowedMethods, findRoute, isChatPath, isForOpenAi, normalPath, takesMethod } from './routes.ts';
import type { Call, PublicDependencies, Reply } from './submit-call.ts';

export type { Answered, PublicDependencies } from './submit-call.ts';

const SHOWN_PATH_CHARACTERS_MAX = 200;

/** Answers every request that is not for the admin API or the console. Never rejects: errors become responses. */
export async function handlePublic(
  request: Request,
  connection: Connection,
  dependencies: PublicDependencies,
): Promise<Response> {
  const receivedAtMs = dependencies.clock.nowMs();
  const requestId = newRequestId(receivedAtMs);
  const { method, headers } = request;
  const { trustedProxies } = dependencies;
  const path = pathOf(request.url);
  const mayBrowse = isForBrowsers(path);
  const secure = securityHeaders(isForClients(path) ? 'api' : 'other', isOverTls(connection, headers, trustedProxies));
  if (method === 'OPTIONS' && mayBrowse) return preflightResponse(headers, requestId, secure);
  const address = clientAddress(connection.address, headers, trustedProxies);
  const call: Call = {
    request,
    connection,
    dependencies,
    requestId,
    receivedAtMs,
    path,
    address,
    vendorPrefix: 'anthropic',
    clientRequest: null,
  };
  let response: Response;
  let failure: TurnpikeError | null = null;
  try {
    const reply = await answerCall(call, method);
    response = toResponse(reply, requestId, browserHeaders(call, mayBrowse, secure));
  } catch (thrown) {
    failure = asTurnpikeError(thrown);
    response = refuse(call, failure, browserHeaders(call, mayBrowse, secure));
  }
  if (call.clientRequest?.isAdmitted !== true) reportAnswer(call, response.status, failure);
  return response;
}

/** Requests in Chat Completions format get errors in that format. */
function refuse(call: Call, failure: TurnpikeError, more: Readonly<Record<string, string>>): Response {
  if (!isChatPath(call.path)) return errorResponse(failure, call.requestId, more);
  const { status } = failure;
  const headers = failure.headers();
  Object.assign(headers, openAiRateHeaders(headers, call.vendorPrefix, call.dependencies.clock.nowMs()));
  return toResponse({ status, headers, body: chatErrorBody(failure) }, call.requestId, more);
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

function reportAnswer(call: Call, status: number, failure: TurnpikeError | null): void {
  const { dependencies, request, requestId, receivedAtMs, path, address, clientRequest } = call;
  const { method } = request;
  const durationMs = dependencies.clock.nowMs() - receivedAtMs;
  dependencies.report({ requestId, receivedAtMs, durationMs, method, path, address, status, clientRequest, failure });
}

/** The admin API and the console serve only their own origin. */
function isForBrowsers(path: string): boolean {
  return !path.startsWith('/api') && !path.startsWith('/console');
}

/** API paths, in any spelling; other paths get a 404 as well. */
function isForClients(path: string): boolean {
  return path.startsWith('/v1/') || normalPath(path).startsWith('/v1/');
}

function browserHeaders(
  call: Call,
  mayBrowse: boolean,
  secure: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (!mayBrowse) return secure;
  const headers = { ...secure, ...corsHeaders(call.request.headers.get('origin'), call.vendorPrefix) };
  if (isForOpenAi(call.path)) headers['x-request-id'] = call.requestId; // OpenAI clients read the request id here
  if (isChatPath(call.path)) headers['access-control-expose-headers'] += `, ${OPENAI_RATE_HEADERS}`;
  return headers;
}

function shorten(path: string): string {
  return path.slice(0, SHOWN_PATH_CHARACTERS_MAX);
}
