// A target: a route with one credential of its provider.

import {
  type Catalog,
  type Credential,
  credentialsFor,
  type Offer,
  type ProviderSettings,
  type Route,
} from '../../catalog/catalog.ts';
import type { ProviderEndpoint } from '../../providers/providers.ts';

export interface Target {
  readonly route: Route;
  readonly settings: ProviderSettings;
  /** null if the provider needs none. */
  readonly credential: Credential | null;
  /** The address of its requests. */
  readonly endpoint: ProviderEndpoint;
  /** The route's weight divided among its credentials. */
  readonly weight: number;
  /** Identifies the route of this model; its concurrency limit counts by it. */
  readonly routeKey: string;
  /** Identifies the provider's model and credential; health is tracked by it. */
  readonly healthKey: string;
}

/** Targets that are the same for every account, by the model's routes; valid for one set of providers. */
const shared = new WeakMap<readonly Route[], { providers: Catalog['providers']; targets: readonly Target[] }>();

/** All targets of an offer. At least one, unless the catalog changed since the offer was made. */
export function listTargets({ providers }: Catalog, offer: Offer, account: number): readonly Target[] {
  const known = shared.get(offer.routes);
  if (known !== undefined && known.providers === providers) return known.targets;
  const targets = makeTargets(providers, offer, account);
  if (isForEveryone(providers, offer)) shared.set(offer.routes, { providers, targets });
  return targets;
}

function makeTargets(providers: Catalog['providers'], offer: Offer, account: number): Target[] {
  const targets: Target[] = [];
  for (const route of offer.routes) {
    const settings = providers.get(route.provider);
    if (settings === undefined) continue; // removed meanwhile
    const place = `${route.provider}\n${route.upstreamModel}`;
    const { name, kind, baseUrl } = settings;
    const credentials = usableCredentials(settings, offer, account);
    for (const credential of credentials)
      targets.push({
        route,
        settings,
        credential,
        endpoint: { name, kind, baseUrl, credential: credential?.secret ?? null },
        weight: route.weight / credentials.length,
        routeKey: `${offer.model.name}\n${place}`,
        healthKey: credential === null ? place : `${place}\n${credential.name}`,
      });
  }
  return targets;
}

/**
 * The account's own credential may have been removed meanwhile: an object stored there must not be requested with
 * another credential.
 */
function usableCredentials(
  settings: ProviderSettings,
  { group, ownOnly }: Offer,
  account: number,
): readonly (Credential | null)[] {
  const credentials = credentialsFor(settings, { account, group: group.name });
  return ownOnly === true ? credentials.filter((credential) => credential?.account === account) : credentials;
}

function isForEveryone(providers: Catalog['providers'], { model, routes }: Offer): boolean {
  const isShared = ({ account, group }: Credential) => account === null && group === null;
  return (
    routes === model.routes && routes.every(({ provider }) => providers.get(provider)?.credentials.every(isShared))
  );
}
