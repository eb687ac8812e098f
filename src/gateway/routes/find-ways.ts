// The ways that one message may take, in their order. Where there is one alone, nothing is weighed: nearly
// every installation begins so, and pays nothing for what others need.

import type { Catalogue, Offer } from '../../catalog/catalog.ts';
import type { MessageRequest } from '../../wire/wire.ts';
import { type Candidate, listCandidates } from './candidate.ts';
import type { Conversation, Conversations } from './conversations.ts';
import { orderCandidates } from './order-candidates.ts';
import type { RouteHealth } from './route-health.ts';

/** Whose message it is, and what of. */
export interface WaysAsked {
  account: number;
  key: number;
  offer: Offer;
  request: MessageRequest;
}

export interface Ways {
  /** As they are to be tried; also those that have no room at present. */
  candidates: readonly Candidate[];
  /** Told which of them the message went; null where it had no choice. */
  conversation: Conversation | null;
}

export function findWays(
  { health, conversations }: { health: RouteHealth; conversations: Conversations },
  catalogue: Catalogue,
  { account, key, offer, request }: WaysAsked,
): Ways {
  const candidates = listCandidates(catalogue, offer, account);
  if (candidates.length < 2) return { candidates, conversation: null };
  const conversation = conversations.find(key, request);
  const { lotOf, kept } = conversation;
  return { candidates: orderCandidates(candidates, { health, lotOf, kept }), conversation };
}
