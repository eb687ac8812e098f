// Limits that all networks share. Each network has a limit of its own. Of what they share, one network gets little once half
// is used, so that there is something left for a network that used none.

import { type Networks, networksOf } from './addresses.ts';

export interface Counted {
  isAllowed: boolean;
  /** Including this one; without it if it was not allowed. */
  taken: number;
  retryAfterMs: number;
}

/** Counts one more under the name unless there were `max` within the window. */
export type Count = (name: string, max: number, windowMs: number) => Promise<Counted>;

/** The most that one network of each size may take within the window. */
export type NetworkLimits = Readonly<Record<keyof Networks, number>>;

/** How much one network of each size may take before others, however much is used. */
export type FreeShares = Readonly<Record<'site' | 'region', number>>;

/** The most of what is shared that may be used while this network takes from it. */
export type ShareOf = (max: number) => number;

interface Taken extends Counted {
  shareOf: ShareOf;
}

/** Counts one more for the networks of an address. A refused small network does not use up the limit of a larger one. */
export async function countNetworks(
  count: Count,
  name: string,
  address: string,
  limits: NetworkLimits,
  free: FreeShares,
  windowMs: number,
): Promise<Taken> {
  const names = networkCounters(name, address);
  const bySubscriber = await count(names.subscriber, limits.subscriber, windowMs);
  if (!bySubscriber.isAllowed) return { ...bySubscriber, shareOf: () => 0 };
  const bySite = await count(names.site, limits.site, windowMs);
  if (!bySite.isAllowed) return { ...bySite, shareOf: () => 0 };
  const byRegion = await count(names.region, limits.region, windowMs);
  const shareOf = (max: number) =>
    Math.min(fairShare(max, bySite.taken, free.site), fairShare(max, byRegion.taken, free.region));
  return { ...byRegion, shareOf };
}

/** The names of the counters of an address. */
export function networkCounters(name: string, address: string): Networks {
  const { subscriber, site, region } = networksOf(address);
  return {
    subscriber: `${name}:address:${subscriber}`,
    site: `${name}:site:${site}`,
    region: `${name}:region:${region}`,
  };
}

/**
 * The most that may be used of `max`, by all together, while one takes that has taken `taken` with this: all of it for the
 * first `free`, three quarters for as many again, and so on towards a half.
 */
export function fairShare(max: number, taken: number, free: number): number {
  return Math.max(1, Math.floor((max / 2) * (1 + 1 / Math.ceil(taken / free))));
}
