// The service tier of a message: sold if the model has rates for it, the group allows it and a route serves it. And the price of batches.

import { type Catalog, hasTier, type Offer, type Route, readMultiplier, type Settings } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import { type PricedTier, SERVICE_TIERS, type ServiceTier } from '../wire/wire.ts';
import type { Gateway } from './dependencies.ts';

/** The offer over the routes that serve the tier. Throws feature_unavailable, which names the tiers that the offer has. */
export function offerInTier(gateway: Gateway, catalog: Catalog, offer: Offer, tier: ServiceTier): Offer {
  if (tier === 'standard') return offer;
  const routes = routesInTier(gateway, catalog, offer, tier);
  if (routes.length > 0) return { ...offer, routes, tier };
  const others = SERVICE_TIERS.filter(
    (other) => other === 'standard' || routesInTier(gateway, catalog, offer, other).length > 0,
  );
  const field = tier === 'fast' ? 'speed' : 'service_tier';
  const has = others.map((other) => `"${other}"`).join(', ');
  const words = `the service tier "${tier}" is not offered for the model ${offer.model.name}; it has ${has}`;
  throw new TurnpikeError('feature_unavailable', `${field}: ${words}`);
}

const MILLION = 1_000_000n;

/** The offer at the price of batches, rounded up to a millionth. */
export function offerInBatch(offer: Offer, { batchMultiplier }: Pick<Settings, 'batchMultiplier'>): Offer {
  const ofBatches = readMultiplier(batchMultiplier) ?? MILLION;
  const { group } = offer;
  if (ofBatches === MILLION) return offer;
  const multiplierMillionths = (group.multiplierMillionths * ofBatches + MILLION - 1n) / MILLION;
  return { ...offer, group: { ...group, multiplierMillionths } };
}

function routesInTier(
  { providers: kinds }: Gateway,
  { providers }: Catalog,
  { group, model, routes }: Offer,
  tier: PricedTier,
): readonly Route[] {
  if (!hasTier(model.price, tier) || group.tiers?.includes(tier) === false) return [];
  return routes.filter(({ provider: name, upstreamModel, protocol }) => {
    const settings = providers.get(name);
    if (settings === undefined) return false;
    const { baseUrl, region } = settings;
    return kinds.get(settings.kind)?.servesTier?.(tier, { baseUrl, region, upstreamModel, protocol }) === true;
  });
}
