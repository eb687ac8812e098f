// The targets of a message, in order. With a single target nothing is computed, since most installations have only
// one.

import type { Catalog, Offer } from '../../catalog/catalog.ts';
import type { MessageRequest } from '../../wire/wire.ts';
import type { Conversation, Conversations } from './conversations.ts';
import type { BreakerState, RouteHealth } from './route-health.ts';
import { listTargets, type Target } from './target.ts';

const RANKS: Readonly<Record<BreakerState, number>> = { ready: 0, open: 1, resting: 2, full: 3 };

/** The inputs of the order. */
export interface OrderInputs {
  health: Pick<RouteHealth, 'breakerState' | 'waitMs'>;
  /** A number in [0, 1): random, or derived from the conversation and this target. */
  drawOf(healthKey: string): number;
  /** The conversation's current target: kept while it is healthy and no better tier is. */
  kept: string | null;
}

/** All targets, including full ones: they may have a free slot when their turn comes. */
export function orderTargets(targets: readonly Target[], { health, drawOf, kept }: OrderInputs): Target[] {
  const ranked = targets.map((target) => {
    const rank = RANKS[health.breakerState(target)];
    const waitMs = rank === RANKS.ready ? 0 : health.waitMs(target);
    const lot = target.healthKey === kept ? -1 : arrivalTime(drawOf(target.healthKey), target.weight);
    return { target, rank, waitMs, lot };
  });
  ranked.sort(
    (one, other) =>
      one.rank - other.rank ||
      one.waitMs - other.waitMs ||
      one.target.route.priority - other.target.route.priority ||
      one.lot - other.lot,
  );
  return ranked.map(({ target }) => target);
}

/**
 * Arrival time of a Poisson process with rate `weight`: each target comes first with its share of the weight, and
 * removing one keeps the order of the others. Weight 0 comes last.
 */
function arrivalTime(lot: number, weight: number): number {
  return weight === 0 ? Number.MAX_VALUE : -Math.log(1 - lot) / weight;
}

/** The message to find targets for. */
export interface TargetQuery {
  account: number;
  key: number;
  offer: Offer;
  request: MessageRequest;
}

export interface TargetList {
  /** In the order of attempts; includes targets that are full at present. */
  targets: readonly Target[];
  /** Records which target the message used; null with a single target. */
  conversation: Conversation | null;
}

export function findTargets(
  { health, conversations }: { health: RouteHealth; conversations: Conversations },
  catalog: Catalog,
  { account, key, offer, request }: TargetQuery,
): TargetList {
  const targets = listTargets(catalog, offer, account);
  if (targets.length < 2) return { targets, conversation: null };
  const conversation = conversations.find(key, request);
  const { drawOf, kept } = conversation;
  return { targets: orderTargets(targets, { health, drawOf, kept }), conversation };
}
