// The secret that a request shows, as clients of every generation send it. Whether it is any
// good is not asked here.

const BEARER = /^bearer(?:\s+(.*))?$/i;

/**
 * `x-api-key`, else `authorization: Bearer`; null when neither says anything. A doubled
 * `x-api-key` arrives joined by ", " and stays so: it is no key.
 */
export function readBearer(headers: Headers): string | null {
  const apiKey = headers.get('x-api-key')?.trim();
  if (apiKey) return apiKey;
  const authorization = headers.get('authorization');
  if (authorization === null) return null;
  return BEARER.exec(authorization.trim())?.[1]?.trim() || null;
}
