// The door of the public API: turns HTTP requests into client requests for the gateway, and replies into responses.

import { asTurnpikeError, type TurnpikeError } from '../errors.ts';
import { type Connection, findHeadFault, pathOf, preflightResponse, securityHeaders } from '../http/http.ts';
import { answerCall, isForBrowsers, isSecure, kindOf, refuse, respond } from './answer-call.ts';
import type { PublicDependencies } from './dependencies.ts';
import type { EncodedReply } from './encode-reply.ts';
import { Exchange } from './exchange.ts';

export type { AgentEndpoints, Answered, BatchEndpoints, PublicDependencies } from './dependencies.ts';
export { type ItemRequest, planItemOf, readItemAnswer, type SentRequest, sendItem } from './send-item.ts';

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
  const exchange = new Exchange(request, path, connection, dependencies);
  if (request.method === 'OPTIONS' && isForBrowsers(path) && findHeadFault(request.headers) === null)
    return preflightResponse(request.headers, exchange.requestId, securityHeaders(kindOf(path), isSecure(exchange)));
  try {
    const answer = answerCall(exchange, request.method);
    return answer instanceof Promise ? respondLater(exchange, answer) : respond(exchange, answer);
  } catch (thrown) {
    return refuse(exchange, asTurnpikeError(thrown));
  }
}

async function respondLater(exchange: Exchange, answering: Promise<EncodedReply | TurnpikeError>): Promise<Response> {
  try {
    return respond(exchange, await answering);
  } catch (thrown) {
    return refuse(exchange, asTurnpikeError(thrown));
  }
}
