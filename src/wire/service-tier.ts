// Service tiers: how a provider serves a message, at rates of their own.

import type { JsonObject } from './message-request.ts';

/** Tiers besides the standard one, by which a price may have rates. */
export const PRICED_TIERS = ['fast', 'flex', 'ultrafast'] as const;
export type PricedTier = (typeof PRICED_TIERS)[number];
export type ServiceTier = 'standard' | PricedTier;

/** The tier that a message requests: `speed` for the fast one, else `service_tier`. */
export function tierOf({ speed, service_tier: named }: JsonObject): ServiceTier {
  if (speed === 'fast') return 'fast';
  return named === 'flex' || named === 'ultrafast' ? named : 'standard';
}

/**
 * The tier that a message's usage says has served it; null: it does not say. `service_tier` names the tiers that are not a
 * speed: its "standard" beside a speed is that of reserved capacity.
 */
export function servedTier({ speed, service_tier: named }: JsonObject): ServiceTier | null {
  if (named === 'flex' || named === 'ultrafast') return named;
  return speed === 'standard' || speed === 'fast' ? speed : null;
}

/** From the cheapest to the dearest, as vendors price them. */
export const SERVICE_TIERS = ['flex', 'standard', 'fast', 'ultrafast'] as const satisfies readonly ServiceTier[];

/** The dearer of two tiers. */
export function dearerTier<Tier extends ServiceTier>(one: Tier, other: Tier): Tier {
  return SERVICE_TIERS.indexOf(one) > SERVICE_TIERS.indexOf(other) ? one : other;
}
