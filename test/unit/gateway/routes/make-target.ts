// Targets created by hand for tests. It has no tests of its own.

import type { Credential, Route } from '../../../../src/catalog/catalog.ts';
import type { Target } from '../../../../src/gateway/route-health.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';

/** Named after its provider. */
export function makeTarget(
  provider: string,
  bounds: Partial<Pick<Route, 'priority' | 'weight' | 'concurrency'>> = {},
  secret: string | null = null,
): Target {
  const route: Route = {
    provider,
    upstreamModel: 'm',
    protocol: null,
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
    isBearer: false,
    allowsStorage: false,
    fetchUrls: 'off' as const,
    workspace: null,
    region: null,
    project: null,
    residency: null,
    passthrough: null,
    batches: false,
    batchCostMillionths: 1_000_000n,
    batchBucket: null,
    credentials: credential === null ? [] : [credential],
  };
  const endpoint = { name: provider, kind: 'anthropic', baseUrl: '', credential: credential?.secret ?? null };
  return {
    route,
    settings,
    credential,
    endpoint,
    weight: route.weight,
    routeKey: `model ${provider}`,
    healthKey: provider,
  };
}
