// An answer becomes a Response: JSON text whole, or an event stream that is pulled no faster
// than the client reads.

import { asTurnpikeError } from '../errors.ts';
import { securityHeaders } from './security-headers.ts';

/** Text of JSON, or text of an event stream as it comes. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string | AsyncIterable<string>;
}

/** The answer with its request id and the headers that `more` adds (those for browsers); the answer's own win. */
export function toResponse(
  answer: Answer,
  requestId: string,
  more: Record<string, string> = securityHeaders('other', false),
): Response {
  const { status, body } = answer;
  if (typeof body === 'string') {
    const headers = {
      'content-type': 'application/json',
      'cache-control': 'no-store', // it is for one caller, and true for a moment
      'request-id': requestId,
      ...more,
      ...answer.headers,
    };
    return new Response(body, { status, headers });
  }
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-store',
    'x-accel-buffering': 'no',
    'request-id': requestId,
    ...more,
    ...answer.headers,
  };
  // An async iterable is pulled with back-pressure; a ReadableStream of type "direct" would buffer without bound.
  return new Response(body as AsyncIterable<string> & BodyInit, { status, headers });
}

/** Whatever was thrown, as the answer that a caller may see. */
export function errorResponse(
  thrown: unknown,
  requestId: string,
  more: Record<string, string> = securityHeaders('other', false),
): Response {
  const error = asTurnpikeError(thrown);
  return toResponse({ status: error.status, headers: error.headers(), body: error.body(requestId) }, requestId, more);
}
