// The order in which the ways to a model are tried. What is healthy comes first: a tier after another, and in a
// tier by lot or by the conversation, each with its share of the weight. What is not is left for the end.

import type { Candidate } from './candidate.ts';
import type { RouteHealth, Standing } from './route-health.ts';

const RANKS: Readonly<Record<Standing, number>> = { ready: 0, open: 1, resting: 2, full: 3 };

/** What the order is made by. */
export interface Lots {
  health: Pick<RouteHealth, 'standing' | 'waitMs'>;
  /** A number in [0, 1): drawn anew, or the conversation's own for this target. */
  lotOf(target: string): number;
  /** The target that the conversation is on; it stays there while that is healthy and no better tier is. */
  kept: string | null;
}

/** All of them, those that are full too: there may be room when it comes to them. */
export function orderCandidates(candidates: readonly Candidate[], { health, lotOf, kept }: Lots): Candidate[] {
  const ranked = candidates.map((candidate) => {
    const rank = RANKS[health.standing(candidate)];
    const waitMs = rank === RANKS.ready ? 0 : health.waitMs(candidate);
    const lot = candidate.target === kept ? -1 : lateness(lotOf(candidate.target), candidate.weight);
    return { candidate, rank, waitMs, lot };
  });
  ranked.sort(
    (one, other) =>
      one.rank - other.rank ||
      one.waitMs - other.waitMs ||
      one.candidate.route.priority - other.candidate.route.priority ||
      one.lot - other.lot,
  );
  return ranked.map(({ candidate }) => candidate);
}

/**
 * When each would come if all came by chance at the rate of its weight: the first is each with its share of the
 * weight, and where one is missing the others keep their order. Weight 0 comes when nothing else is left.
 */
function lateness(lot: number, weight: number): number {
  return weight === 0 ? Number.MAX_VALUE : -Math.log(1 - lot) / weight;
}
