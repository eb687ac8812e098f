// CORS: a key in a header, never a cookie, identifies the caller, so any origin is allowed. Keys may list origins.

import { TurnpikeError } from '../errors.ts';

const METHODS = 'GET, POST, PUT, PATCH, DELETE, OPTIONS, HEAD';
const MAX_AGE_SECONDS = '86400';
const ALWAYS = [
  'request-id',
  'x-request-id',
  'retry-after',
  'x-should-retry',
  'idempotency-replayed',
  'idempotency-original-request-id',
];
const LIMITS = ['requests', 'input-tokens', 'output-tokens', 'tokens'];
const FIGURES = ['limit', 'remaining', 'reset'];

/** CORS headers for a response to a request without an origin; `allowOrigin` adds one. */
export function corsHeaders(vendorPrefix: string): Record<string, string> {
  const rates = LIMITS.flatMap((limit) => FIGURES.map((figure) => `${vendorPrefix}-ratelimit-${limit}-${figure}`));
  return {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': [...ALWAYS, ...rates].join(', '),
  };
}

export function allowOrigin(headers: Headers, origin: string): void {
  headers.set('access-control-allow-origin', origin);
  headers.set('vary', 'origin');
}

/** The response to a preflight, which needs no authentication. `more` adds headers. */
export function preflightResponse(
  asked: Headers,
  requestId: string,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers: Record<string, string> = {
    ...more,
    'access-control-allow-origin': asked.get('origin') ?? '*',
    'access-control-allow-methods': METHODS,
    'access-control-max-age': MAX_AGE_SECONDS,
    vary: 'origin, access-control-request-method, access-control-request-headers',
    allow: METHODS,
    'request-id': requestId,
  };
  // Echoed, because "*" does not cover `authorization`.
  const askedHeaders = asked.get('access-control-request-headers');
  if (askedHeaders !== null) headers['access-control-allow-headers'] = askedHeaders;
  if (asked.get('access-control-request-private-network') === 'true')
    headers['access-control-allow-private-network'] = 'true';
  return new Response(null, { status: 204, headers });
}

const SAME = 'same-origin';
const FOREIGN = ['cross-site', 'same-site'];

/** Throws cross_site_refused unless the request is of this origin: a change must say so, a read not say otherwise. */
export function refuseCrossSite(request: Request, publicOrigin: string | null): void {
  const site = request.headers.get('sec-fetch-site');
  if (['GET', 'HEAD'].includes(request.method)) {
    if (site === null || !FOREIGN.includes(site)) return;
  } else if (site === SAME || (site === null && isOwnOrigin(request, publicOrigin))) return;
  throw new TurnpikeError(
    'cross_site_refused',
    'This request did not come from a page of this service. Session cookies work only in the console; programs must use a token.',
  );
}

/** For browsers without `sec-fetch-site`: over plain HTTP, or old ones. */
function isOwnOrigin(request: Request, publicOrigin: string | null): boolean {
  const origin = request.headers.get('origin');
  const parsed = origin === null ? null : URL.parse(origin);
  if (parsed === null) return false;
  return parsed.origin === publicOrigin || parsed.host === URL.parse(request.url)?.host;
}
