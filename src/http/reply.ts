// Turns an answer into a Response: JSON text, or an event stream that is pulled as fast as the client reads.

import { asTurnpikeError } from '../errors.ts';

const YEAR_SECONDS = 365 * 24 * 60 * 60;

type SecurityHeaders = Readonly<Record<string, string>>;

const api: SecurityHeaders = Object.freeze({ 'x-content-type-options': 'nosniff' });
const other: SecurityHeaders = Object.freeze({
  ...api,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
});
// Subdomains are not included: they may not be ours.
const transport: SecurityHeaders = Object.freeze({ 'strict-transport-security': `max-age=${YEAR_SECONDS}` });
const overTls = Object.freeze({
  api: Object.freeze({ ...api, ...transport }),
  other: Object.freeze({ ...other, ...transport }),
});

/** Returns shared objects that must not be changed. `api`: routes for API clients. */
export function securityHeaders(kind: 'api' | 'other', isOverTls: boolean): SecurityHeaders {
  if (isOverTls) return overTls[kind];
  return kind === 'api' ? api : other;
}

/** A response made elsewhere, with these headers added. */
export function withSecurityHeaders(response: Response, isOverTls: boolean): Response {
  for (const [name, value] of Object.entries(securityHeaders('other', isOverTls))) response.headers.set(name, value);
  return response;
}

/** JSON text, or the text of an event stream as it arrives, perhaps as bytes of UTF-8. */
interface HttpReply {
  status: number;
  headers: Record<string, string>;
  body: string | AsyncIterable<string | Uint8Array>;
}

const JSON_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'no-store', // valid for one caller at one moment
};
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-store',
  'x-accel-buffering': 'no',
};

/** Headers of many responses, made once: the runtime copies them faster than it reads an object. Must not be changed. */
export interface SharedHeaders {
  json: Headers;
  stream: Headers;
}

export function shareHeaders(headers: Readonly<Record<string, string>>): SharedHeaders {
  return { json: new Headers({ ...JSON_HEADERS, ...headers }), stream: new Headers({ ...STREAM_HEADERS, ...headers }) };
}

const usualHeaders = shareHeaders(securityHeaders('other', false));

/** The response with its request id and shared headers (CORS); the answer's own headers take precedence. */
export function toResponse(
  { status, headers: own, body }: HttpReply,
  requestId: string,
  shared: SharedHeaders = usualHeaders,
): Response {
  const headers = typeof body === 'string' ? shared.json : shared.stream;
  // An async iterable is pulled with backpressure; a ReadableStream of type "direct" would buffer without bound.
  const response = new Response(body as string | (AsyncIterable<string | Uint8Array> & BodyInit), { status, headers });
  response.headers.set('request-id', requestId);
  setHeaders(response.headers, own);
  return response;
}

function setHeaders(headers: Headers, own: Readonly<Record<string, string>>): void {
  for (const name in own) headers.set(name, own[name] as string);
}

const NONE: Record<string, string> = {};

export function errorResponse(thrown: unknown, requestId: string, shared: SharedHeaders = usualHeaders): Response {
  const error = asTurnpikeError(thrown);
  const { headers = NONE } = error.details;
  const response = toResponse({ status: error.status, headers, body: error.body(requestId) }, requestId, shared);
  setHeaders(response.headers, error.retryHeaders());
  return response;
}

export function pathOf(url: string): string {
  // A request without a valid host has only its path here.
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3);
  if (start < 0) return '/';
  const end = url.indexOf('?', start);
  return end < 0 ? url.slice(start) : url.slice(start, end);
}

/** The query without its question mark; empty without one. */
export function queryOf(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

const BEARER = /^bearer(?:\s+(.*))?$/i;

/** `x-api-key`; null without one. A doubled one, joined by ", ", is no valid key. */
export function readApiKey(headers: Headers): string | null {
  return headers.get('x-api-key')?.trim() || null;
}

/** `authorization: Bearer`; null without one. */
export function readBearer(headers: Headers): string | null {
  const authorization = headers.get('authorization');
  if (authorization === null) return null;
  return BEARER.exec(authorization.trim())?.[1]?.trim() || null;
}
