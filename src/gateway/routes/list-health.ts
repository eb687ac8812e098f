// How the ways that are sold at present do, for people: one that was taken away would stay as it was last seen.

import type { Catalogue } from '../../catalog/catalog.ts';
import type { RouteHealth, TargetHealth } from './route-health.ts';

/** Those of the catalogue that were used in this run, and others that still carry messages. */
export function listHealth(health: Pick<RouteHealth, 'list'>, { providers, models }: Catalogue): TargetHealth[] {
  const routed = new Set<string>();
  for (const { routes } of models.values())
    for (const { provider, upstreamModel } of routes) routed.add(`${provider}\n${upstreamModel}`);
  return health.list().filter(({ provider, model, credential, inFlight }) => {
    if (inFlight > 0) return true;
    const credentials = providers.get(provider)?.credentials;
    if (credentials === undefined || !routed.has(`${provider}\n${model}`)) return false;
    return credential === null ? credentials.length === 0 : credentials.some(({ name }) => name === credential);
  });
}
