// Providers that fail, as this server's own attempts tell.

import { type AttentionJson, attention } from './attention-json.ts';
import type { AdminDependencies } from './dependencies.ts';

/** Those whose last attempts failed, or to which a route failed so often that it is not asked at present. */
export function listFailingProviders({ catalog, health, routeStates }: AdminDependencies): AttentionJson[] {
  const states = routeStates();
  return [...catalog.current().providers.keys()].flatMap((provider) => {
    const routes = states.filter((state) => state.provider === provider);
    const isUp = health(provider)?.isUp ?? true;
    const isFailing = routes.some(({ state }) => state === 'open' || state === 'half_open');
    if (isUp && !isFailing) return [];
    const notAsked = routes.filter(({ state }) => state !== 'ready').length;
    const isCritical = !isUp || notAsked === routes.length;
    const failures = Math.max(0, ...routes.map(({ failuresInARow }) => failuresInARow));
    const share = routes.length === 0 ? null : notAsked / routes.length;
    return [attention('provider_failing', isCritical ? 'critical' : 'warning', { provider, failures, share })];
  });
}
