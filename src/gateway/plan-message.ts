// What a message will ask for before it is admitted: how many tokens it may produce, how many its
// prompt may have, what is to be held for it, and the least that must be there.

import {
  DEFAULT_MAX_TOKENS,
  type Offer,
  outputTokensThatFit,
  priceWorstCase,
  type Settings,
  type WorstCase,
} from '../catalog/catalog.ts';
import type { Provider } from '../providers/providers.ts';
import {
  type Estimates,
  inputTokensLikely,
  inputTokensUpperBound,
  measurePrompt,
  type PromptMeasure,
  readThinking,
} from '../usage/usage.ts';
import type { MessageRequest, RequestFeatures } from '../wire/wire.ts';

const WEB_SEARCHES_UNBOUNDED = 20; // held for a request that names no `max_uses`
const OUTPUT_TOKENS_MAX = 1_000_000_000; // of a model without a limit: none comes near, and sums of it stay exact
const OPEN_END_TOKENS = 32_000; // what coding agents ask for; providers count what is asked for against their own rates
const ESTIMATE_MARGIN = 1.25; // of a prompt, where its answer is to find room behind it
const COUNT_MARGIN = 1.02; // a provider calls its own count an estimate
const COUNT_MARGIN_TOKENS = 32;

export interface MessagePlan {
  measure: PromptMeasure;
  /** The caller's max_tokens, defaulted and clamped to the model's limit. */
  maxTokens: number;
  /** What the prompt likely has: charged only where the provider reports nothing. */
  inputEstimate: number;
  /** What must be there to be paid: a prompt of one token a byte, and all of its output, or as much as a stream begins with. */
  worstCase: WorstCase;
  /** The price of the worst case, with the group's multiplier. */
  least: number;
  /** What is held until the provider has counted the prompt: of a stream its first tranche, by what is likely. */
  firstCase: WorstCase;
  amount: number;
  /** The prompt's tokens are a count, and not estimated by its bytes. */
  isCounted: boolean;
  /** Output tokens by which a stream's hold grows. */
  trancheTokens: number;
  /** Whether output may be produced that is not seen. */
  thinks: boolean;
  /** A max_tokens may not be lowered to this or below it. */
  budgetTokens: number | null;
}

/** What a plan is made of, beside the request and its offer. */
export interface PlanTerms {
  features: RequestFeatures;
  settings: Pick<Settings, 'outputTrancheTokens' | 'outputFloorTokens'>;
  estimates: Pick<Estimates, 'inputTokensPerByte'>;
  /** Gives the provider of a route's provider name. */
  providerOf(name: string): Provider;
}

/** Plans a message over an offer. `counted` is the provider's own count of the prompt, where it was asked for. */
export function planMessage(
  request: MessageRequest,
  offer: Offer,
  terms: PlanTerms,
  counted: number | null = null,
): MessagePlan {
  const { model, group } = offer;
  const { features, settings } = terms;
  const measure = measurePrompt(request);
  const input = planInput(request, offer, terms, measure, counted);
  const maxTokens = planMaxTokens(request, offer, input.typical);
  const shared = {
    webSearches: features.webSearch === null ? 0 : (features.webSearch.usesMax ?? WEB_SEARCHES_UNBOUNDED),
    speed: features.speed,
    cacheWrites: features.cacheControl,
  };
  const firstTokens = request.stream ? Math.min(maxTokens, settings.outputTrancheTokens) : maxTokens;
  const leastTokens = request.stream ? Math.min(maxTokens, settings.outputFloorTokens) : maxTokens;
  const worstCase = { ...shared, inputTokens: input.most, outputTokens: leastTokens };
  const firstCase = { ...shared, inputTokens: input.likely, outputTokens: firstTokens };
  return {
    measure,
    maxTokens,
    inputEstimate: input.typical,
    worstCase,
    least: priceWorstCase(model.price, worstCase, group.multiplierMillionths),
    firstCase,
    amount: priceWorstCase(model.price, firstCase, group.multiplierMillionths),
    isCounted: input.isCounted,
    trancheTokens: settings.outputTrancheTokens,
    ...planThinking(request, offer, terms),
  };
}

/** The largest max_tokens that `available` would pay, whatever the prompt turns out to have. */
export function maxTokensThatFit(plan: MessagePlan, offer: Offer, available: number): number {
  return outputTokensThatFit(offer.model.price, plan.worstCase, offer.group.multiplierMillionths, available);
}

/**
 * The max_tokens for the provider. Output that is not seen cannot be stopped in time: where it is possible, no
 * more of it is asked for than `available` pays.
 */
export function payableMaxTokens(plan: MessagePlan, offer: Offer, available: number): number {
  if (!plan.thinks) return plan.maxTokens;
  const { price } = offer.model;
  const fits = outputTokensThatFit(price, plan.firstCase, offer.group.multiplierMillionths, available);
  return Math.min(plan.maxTokens, Math.max(fits, (plan.budgetTokens ?? 0) + 1));
}

/**
 * How long the answer may become. Clients of OpenAI name no end where they want all that the model has to say: a stream,
 * whose hold rolls forward with it, gets more than the default, unless the operator chose that one.
 */
function planMaxTokens(request: MessageRequest, { model }: Offer, promptTokens: number): number {
  const { defaultMaxTokens, maxOutputTokens, maxInputTokens } = model;
  const limit = maxOutputTokens ?? OUTPUT_TOKENS_MAX;
  if (request.protocol === 'messages' || request.maxTokens !== null)
    return Math.min(request.maxTokens ?? defaultMaxTokens, limit);
  const budgetTokens = readThinking(request).budgetTokens ?? 0; // it has to be below what is asked for
  const usual = Math.min(limit, budgetTokens + defaultMaxTokens);
  if (!request.stream || maxOutputTokens === null || defaultMaxTokens !== DEFAULT_MAX_TOKENS) return usual;
  const room = (maxInputTokens ?? Number.POSITIVE_INFINITY) - Math.ceil(promptTokens * ESTIMATE_MARGIN);
  return Math.max(usual, Math.min(limit, budgetTokens + OPEN_END_TOKENS, room));
}

/** A model that thinks unasked is held to what one is that was asked. */
function planThinking(
  request: MessageRequest,
  { routes }: Offer,
  { providerOf }: PlanTerms,
): Pick<MessagePlan, 'thinks' | 'budgetTokens'> {
  const { thinks, budgetTokens } = readThinking(request);
  const isUnasked = routes.some(({ provider, upstreamModel }) => providerOf(provider).thinksUnasked?.(upstreamModel));
  return { thinks: thinks || isUnasked, budgetTokens };
}

interface PlannedInput {
  /** Never exceeded. */
  most: number;
  /** Seldom exceeded. */
  likely: number;
  typical: number;
  isCounted: boolean;
}

function planInput(
  request: MessageRequest,
  offer: Offer,
  { estimates, providerOf }: PlanTerms,
  measure: PromptMeasure,
  counted: number | null,
): PlannedInput {
  const exact = countLocally(request, offer, providerOf);
  if (exact !== null) return { most: exact, likely: exact, typical: exact, isCounted: true };
  const windowTokens = offer.model.maxInputTokens ?? Number.POSITIVE_INFINITY;
  const upperBound = Math.min(inputTokensUpperBound(measure), windowTokens);
  if (counted !== null) {
    const most = Math.min(upperBound, Math.ceil(counted * COUNT_MARGIN) + COUNT_MARGIN_TOKENS);
    return { most, likely: most, typical: counted, isCounted: true };
  }
  const tokensPerByte = estimates.inputTokensPerByte(offer.model.name);
  const likely = tokensPerByte === null ? upperBound : Math.min(upperBound, inputTokensLikely(measure, tokensPerByte));
  return { most: upperBound, likely, typical: measure.typicalTokens, isCounted: false };
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
