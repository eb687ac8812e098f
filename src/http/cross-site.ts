// Whether a request that is known by a cookie comes from a page of this service: browsers send the cookie with whatever a page makes
// them ask, so what another site's page asks is refused.

import { TurnpikeError } from '../errors.ts';

/** How a page reaches what it asks for: `sec-fetch-site`, which no page can set. */
const SAME = 'same-origin';
const FOREIGN = ['cross-site', 'same-site'];

/**
 * Throws cross_site_refused unless a page of this origin asks: for a change it must say so, for a look it must not say otherwise.
 * `publicOrigin` is the one by which people reach the service, where that is known.
 */
export function refuseCrossSite(request: Request, publicOrigin: string | null): void {
  const site = request.headers.get('sec-fetch-site');
  if (['GET', 'HEAD'].includes(request.method)) {
    if (site === null || !FOREIGN.includes(site)) return;
  } else if (site === SAME || (site === null && isOwnOrigin(request, publicOrigin))) return;
  throw new TurnpikeError(
    'cross_site_refused',
    'This was not asked by a page of this service. Whoever is signed in by a cookie uses the console; programs use a token.',
  );
}

/** For browsers that do not say `sec-fetch-site`: over plain HTTP, or old. */
function isOwnOrigin(request: Request, publicOrigin: string | null): boolean {
  const origin = request.headers.get('origin');
  const parsed = origin === null ? null : URL.parse(origin);
  if (parsed === null) return false;
  return parsed.origin === publicOrigin || parsed.host === URL.parse(request.url)?.host;
}
