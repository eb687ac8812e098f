// What has no price is not sold: a feature that changes the price is refused for a model that has
// no rate for it. Which features a request asks for is read by wire; here they only meet the price.

import { type ErrorCode, TurnpikeError } from '../errors.ts';
import type { Speed } from './price.ts';
import type { Offer } from './resolve-model.ts';

/** The features of a request that have, or would need, a price of their own. */
export interface PricedFeatures {
  speed: Speed;
  /** Null when the provider's web search is not among the tools. */
  webSearch: { usesMax: number | null } | null;
  /** Whether the beta for prompts above the usual window was asked for. */
  longContext: boolean;
  /** Paths or names of what is known to change the price in a way that nobody can state here. */
  unpriced: readonly string[];
}

// Up to here a prompt needs no beta at its provider, so only models that reach further sell long context.
const USUAL_CONTEXT_TOKENS = 200_000;

/** Throws feature_not_priced; the message begins with the field or the feature's name. */
export function checkFeatures(offer: Offer, features: PricedFeatures): void {
  const { name, price } = offer.model;
  const unpriced = features.unpriced[0];
  if (unpriced !== undefined) refuse('feature_not_priced', unpriced, `has no price for the model ${name}`);
  if (features.speed === 'fast' && price.fast === null)
    refuse('feature_not_priced', 'speed', `"fast" has no price for the model ${name}`);
  if (features.webSearch !== null && price.webSearchPerThousand === null)
    refuse('feature_not_priced', 'web_search', `has no price for the model ${name}`);
  if (features.longContext && !sellsLongContext(offer))
    refuse('feature_not_priced', 'long context', `has no price for the model ${name}`);
}

/** A model whose own window reaches beyond the usual one sells all of it at its standard rates. */
function sellsLongContext({ model }: Offer): boolean {
  return model.price.longContext !== null || (model.maxInputTokens ?? 0) > USUAL_CONTEXT_TOKENS;
}

function refuse(code: ErrorCode, subject: string, words: string): never {
  throw new TurnpikeError(code, `${subject}: ${words}`);
}
