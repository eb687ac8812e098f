// Ways to a model, made by hand for tests. No tests of its own.

import type { Credential, Route } from '../../../src/catalog/catalog.ts';
import type { Candidate } from '../../../src/gateway/routes/routes.ts';
import { Secret } from '../../../src/secrets/secrets.ts';

/** By the name of its provider, which is the target as well. */
export function makeCandidate(
  provider: string,
  bounds: Partial<Pick<Route, 'priority' | 'weight' | 'concurrency'>> = {},
  secret: string | null = null,
): Candidate {
  const route: Route = {
    provider,
    upstreamModel: 'm',
    priority: 0,
    weight: 1,
    concurrency: null,
    cost: null,
    ...bounds,
  };
  const credential: Credential | null =
    secret === null ? null : { name: 'default', secret: new Secret(secret), account: null, group: null };
  const settings = {
    name: provider,
    kind: 'anthropic',
    baseUrl: '',
    credentials: credential === null ? [] : [credential],
  };
  return { route, settings, credential, weight: route.weight, lane: `model ${provider}`, target: provider };
}
