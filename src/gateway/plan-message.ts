// What a message will ask for before it is admitted: how many tokens it may produce, how many its
// prompt may have, and the most that it can cost.

import { type Offer, outputTokensThatFit, priceWorstCase, type WorstCase } from '../catalog/catalog.ts';
import type { Provider } from '../providers/providers.ts';
import { inputTokensUpperBound, typicalInputTokens } from '../usage/usage.ts';
import type { MessageRequest, RequestFeatures } from '../wire/wire.ts';

const WEB_SEARCHES_UNBOUNDED = 20; // held for a request that names no `max_uses`
const OUTPUT_TOKENS_MAX = 1_000_000_000; // of a model without a limit: none comes near, and sums of it stay exact

export interface MessagePlan {
  /** The caller's max_tokens, defaulted and clamped to the model's limit. */
  maxTokens: number;
  /** What the prompt likely has: charged only where the provider reports nothing. */
  inputEstimate: number;
  worstCase: WorstCase;
  /** The price of the worst case, with the group's multiplier: what is held. */
  amount: number;
}

/** Plans a message over an offer. `providerOf` gives the provider of a route's provider name. */
export function planMessage(
  request: MessageRequest,
  offer: Offer,
  features: RequestFeatures,
  providerOf: (name: string) => Provider,
): MessagePlan {
  const { model, group } = offer;
  const asked = request.maxTokens ?? model.defaultMaxTokens;
  const maxTokens = Math.min(asked, model.maxOutputTokens ?? OUTPUT_TOKENS_MAX);
  const counted = countLocally(request, offer, providerOf);
  const upperBound = counted ?? inputTokensUpperBound(request);
  const worstCase: WorstCase = {
    inputTokens:
      model.maxInputTokens === null || counted !== null ? upperBound : Math.min(upperBound, model.maxInputTokens),
    outputTokens: maxTokens,
    webSearches: features.webSearch === null ? 0 : (features.webSearch.usesMax ?? WEB_SEARCHES_UNBOUNDED),
    speed: features.speed,
  };
  return {
    maxTokens,
    inputEstimate: counted ?? typicalInputTokens(request),
    worstCase,
    amount: priceWorstCase(model.price, worstCase, group.multiplierMillionths),
  };
}

/** The largest max_tokens that `available` would pay. */
export function maxTokensThatFit(plan: MessagePlan, offer: Offer, available: number): number {
  const { inputTokens, speed, webSearches } = plan.worstCase;
  return outputTokensThatFit(
    offer.model.price,
    inputTokens,
    offer.group.multiplierMillionths,
    speed,
    available,
    webSearches,
  );
}

/** The exact count, where every provider of the offer can count without being asked; the largest of them. */
function countLocally(request: MessageRequest, offer: Offer, providerOf: (name: string) => Provider): number | null {
  let most: number | null = null;
  for (const route of offer.routes) {
    const count = providerOf(route.provider).countLocally(request);
    if (count === null) return null;
    most = Math.max(most ?? 0, count);
  }
  return most;
}
