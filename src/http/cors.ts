// What browsers need to be told. Callers are known by a key in a header, never by a cookie, so
// any origin may ask; a key's own list of origins is checked when the key is.

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

/** One list for each configured prefix. */
const exposedByPrefix = new Map<string, string>();

/** Headers for every answer that a browser may read. `vendorPrefix` is one of the configured ones. */
export function corsHeaders(origin: string | null, vendorPrefix: string): Record<string, string> {
  const exposed = exposedHeaders(vendorPrefix);
  if (origin === null) return { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed };
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposed,
    vary: 'origin',
  };
}

/** The answer to OPTIONS, given before anyone has to say who they are, with the headers that `more` adds. */
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
  // Echoed, because "*" would not cover `authorization`.
  const askedHeaders = asked.get('access-control-request-headers');
  if (askedHeaders !== null) headers['access-control-allow-headers'] = askedHeaders;
  if (asked.get('access-control-request-private-network') === 'true')
    headers['access-control-allow-private-network'] = 'true';
  return new Response(null, { status: 204, headers });
}

function exposedHeaders(vendorPrefix: string): string {
  let exposed = exposedByPrefix.get(vendorPrefix);
  if (exposed === undefined) {
    const rates = LIMITS.flatMap((limit) => FIGURES.map((figure) => `${vendorPrefix}-ratelimit-${limit}-${figure}`));
    exposed = [...ALWAYS, ...rates].join(', ');
    exposedByPrefix.set(vendorPrefix, exposed);
  }
  return exposed;
}
