// A way that a message may take: a route, with the credential of its provider that is shown there.

import {
  type Catalogue,
  type Credential,
  credentialsFor,
  type Offer,
  type ProviderSettings,
  type Route,
} from '../../catalog/catalog.ts';

export interface Candidate {
  readonly route: Route;
  readonly settings: ProviderSettings;
  /** Null where the provider takes none. */
  readonly credential: Credential | null;
  /** The route's share, parted among its credentials. */
  readonly weight: number;
  /** Names the route of this model: what its bound of messages at once counts by. */
  readonly lane: string;
  /** Names the model at the provider, asked for with this credential: what is healthy or not. */
  readonly target: string;
}

/** All ways of an offer. At least one, unless the catalogue changed since the offer was made. */
export function listCandidates(
  { providers }: Catalogue,
  { model, group, routes }: Offer,
  account: number,
): Candidate[] {
  const candidates: Candidate[] = [];
  for (const route of routes) {
    const settings = providers.get(route.provider);
    if (settings === undefined) continue; // removed since then
    const place = `${route.provider}\n${route.upstreamModel}`;
    const credentials = credentialsFor(settings, { account, group: group.name });
    for (const credential of credentials)
      candidates.push({
        route,
        settings,
        credential,
        weight: route.weight / credentials.length,
        lane: `${model.name}\n${place}`,
        target: credential === null ? place : `${place}\n${credential.name}`,
      });
  }
  return candidates;
}
