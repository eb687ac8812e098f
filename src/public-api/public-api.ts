// The door of the public API: what callers with a key can ask for, and the probes. A request
// becomes a submission here, and whatever comes of it a Response; the work itself is the gateway's.

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
import type { Call, PublicDependencies, Reply } from './call.ts';
import { OPENAI_RATE_HEADERS, openAiRateHeaders } from './openai-rate-headers.ts';
import { isChatPath, isForOpenAi, normalPath } from './path.ts';
import { allowedMethods, findRoute, takesMethod } from './routes.ts';

export type { Answered, Load, MessageGateway, PublicDependencies } from './call.ts';

const SHOWN_PATH_CHARACTERS_MAX = 200;

/** Answers any request that is not the admin API's or the console's. Never rejects: what is thrown becomes an answer. */
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
    submission: null,
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
  if (call.submission?.isAdmitted !== true) reportAnswer(call, response.status, failure);
  return response;
}

/** Whoever asks in the words of Chat Completions is refused in them, whatever the reason. */
function refuse(call: Call, failure: TurnpikeError, more: Readonly<Record<string, string>>): Response {
  if (!isChatPath(call.path)) return errorResponse(failure, call.requestId, more);
  const { status } = failure;
  const headers = failure.headers();
  Object.assign(headers, openAiRateHeaders(headers, call.vendorPrefix, call.dependencies.clock.nowMs()));
  return toResponse({ status, headers, body: chatErrorBody(failure) }, call.requestId, more);
}

function answerCall(call: Call, method: string): Reply | Promise<Reply> {
  const route = findRoute(call.path);
  if (route === null) throw new TurnpikeError('route_not_found', `There is no ${shorten(call.path)} here.`);
  if (!takesMethod(route, method))
    throw new TurnpikeError('method_not_allowed', `${method} is not allowed for ${shorten(call.path)}.`, {
      headers: { allow: allowedMethods(route) },
    });
  return route.handle(call);
}

function reportAnswer(call: Call, status: number, failure: TurnpikeError | null): void {
  const { dependencies } = call;
  dependencies.report({
    requestId: call.requestId,
    receivedAtMs: call.receivedAtMs,
    durationMs: dependencies.clock.nowMs() - call.receivedAtMs,
    method: call.request.method,
    path: call.path,
    address: call.address,
    status,
    submission: call.submission,
    failure,
  });
}

/** The admin API and the console are for their own origin only. */
function isForBrowsers(path: string): boolean {
  return !path.startsWith('/api') && !path.startsWith('/console');
}

/** What clients of models ask for, by any of its spellings; all else is no page either, and says so. */
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
  if (isForOpenAi(call.path)) headers['x-request-id'] = call.requestId; // where clients of OpenAI look for it
  if (isChatPath(call.path)) headers['access-control-expose-headers'] += `, ${OPENAI_RATE_HEADERS}`;
  return headers;
}

function shorten(path: string): string {
  return path.slice(0, SHOWN_PATH_CHARACTERS_MAX);
}
