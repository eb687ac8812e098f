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

/** The ways of models that are the same for every caller, by the model's routes, and the providers that they were made of. */
const shared = new WeakMap<readonly Route[], { providers: Catalogue['providers']; candidates: readonly Candidate[] }>();

/** All ways of an offer. At least one, unless the catalogue changed since the offer was made. */
export function listCandidates({ providers }: Catalogue, offer: Offer, account: number): readonly Candidate[] {
  const known = shared.get(offer.routes);
  if (known !== undefined && known.providers === providers) return known.candidates;
  const candidates = makeCandidates(providers, offer, account);
  if (isForEveryone(providers, offer)) shared.set(offer.routes, { providers, candidates });
  return candidates;
}

function makeCandidates(providers: Catalogue['providers'], offer: Offer, account: number): Candidate[] {
  const candidates: Candidate[] = [];
  for (const route of offer.routes) {
    const settings = providers.get(route.provider);
    if (settings === undefined) continue; // removed since then
    const place = `${route.provider}\n${route.upstreamModel}`;
    const credentials = usableCredentials(settings, offer, account);
    for (const credential of credentials)
      candidates.push({
        route,
        settings,
        credential,
        weight: route.weight / credentials.length,
        lane: `${offer.model.name}\n${place}`,
        target: credential === null ? place : `${place}\n${credential.name}`,
      });
  }
  return candidates;
}

/** Its own may have been taken away since the offer was made: what is stored there must not be asked for with another's. */
function usableCredentials(
  settings: ProviderSettings,
  { group, ownOnly }: Offer,
  account: number,
): readonly (Credential | null)[] {
  const credentials = credentialsFor(settings, { account, group: group.name });
  return ownOnly === true ? credentials.filter((credential) => credential?.account === account) : credentials;
}

function isForEveryone(providers: Catalogue['providers'], { model, routes }: Offer): boolean {
  const isShared = ({ account, group }: Credential) => account === null && group === null;
  return (
    routes === model.routes && routes.every(({ provider }) => providers.get(provider)?.credentials.every(isShared))
  );
}
