// The plan of a message before admission: output limit, prompt estimate, the amount to hold and the minimum that must
// be available.

import type { Caller } from '../accounts/accounts.ts';
import {
  DEFAULT_MAX_TOKENS,
  type Offer,
  outputTokensThatFit,
  priceWorstCase,
  type Route,
  type Settings,
  type WorstCase,
} from '../catalog/catalog.ts';
import type { IdempotencyClaim } from '../ledger/ledger.ts';
import type { Provider } from '../providers/providers.ts';
import { inputTokensUpperBound, measurePrompt, type PromptMeasure, readThinking } from '../usage/usage.ts';
import type { MessageRequest, RequestFeatures } from '../wire/wire.ts';
import type { ClientRequest } from './client-request.ts';

const WEB_SEARCHES_UNBOUNDED = 20; // held for a request without `max_uses`
const OUTPUT_TOKENS_MAX = 1_000_000_000; // for a model without a limit; keeps sums exact
const OPEN_END_TOKENS = 32_000; // typical for coding agents; providers count max_tokens against their own rate limits
const ESTIMATE_MARGIN = 1.25; // of a prompt, when reserving room for the answer in the context window
const COUNT_MARGIN = 1.02; // a provider calls its count an estimate
const COUNT_MARGIN_TOKENS = 32;

export interface MessagePlan {
  measure: PromptMeasure;
  /** The client's max_tokens, with default and clamped to the model's limit. */
  maxTokens: number;
  /** Likely prompt tokens: charged only if the provider reports none. */
  inputEstimate: number;
  /** The minimum that must be payable: the largest possible prompt, and all output, or the first tranche of a stream. */
  worstCase: WorstCase;
  /** The price of the worst case, with the group's multiplier. */
  least: number;
  /**
   * Held until the provider has counted the prompt: the largest possible prompt with the first tranche of a stream.
   */
  firstCase: WorstCase;
  amount: number;
  /** The prompt tokens are a count, not an estimate. */
  isCounted: boolean;
  /** Output tokens by which a stream's hold is extended. */
  trancheTokens: number;
  /** Whether the model may produce output that is not visible in the stream. */
  thinks: boolean;
  /** max_tokens must stay above this. */
  budgetTokens: number | null;
}

/** Inputs of a plan besides the request and its offer. */
export interface PlanTerms {
  features: RequestFeatures;
  settings: Pick<Settings, 'outputTrancheTokens' | 'outputFloorTokens'>;
  /** The provider of each route of the offer. */
  providers: readonly Provider[];
}

/** A message that requests admission. */
export interface AdmissionRequest {
  clientRequest: ClientRequest;
  caller: Caller;
  request: MessageRequest;
  offer: Offer;
  terms: PlanTerms;
  claim: IdempotencyClaim | null;
  /** Replaced when the provider has counted the prompt. */
  plan: MessagePlan;
}

/** Plans a message over an offer. `counted` is the provider's token count of the prompt, if it was requested. */
export function planMessage(
  request: MessageRequest,
  offer: Offer,
  terms: PlanTerms,
  counted: number | null = null,
): MessagePlan {
  const { model, group } = offer;
  const { features, settings } = terms;
  const measure = measurePrompt(request);
  const input = planInput(request, offer, terms.providers, measure, counted);
  const maxTokens = planMaxTokens(request, offer, input.typical);
  const firstTokens = request.stream ? Math.min(maxTokens, settings.outputTrancheTokens) : maxTokens;
  const leastTokens = request.stream ? Math.min(maxTokens, settings.outputFloorTokens) : maxTokens;
  const worstCase: WorstCase = {
    inputTokens: input.most,
    outputTokens: leastTokens,
    webSearches: features.webSearch === null ? 0 : (features.webSearch.usesMax ?? WEB_SEARCHES_UNBOUNDED),
    speed: features.speed,
    cacheWrites: features.cacheControl,
  };
  const least = priceWorstCase(model.price, worstCase, group.multiplierMillionths);
  const isAllAtOnce = firstTokens === leastTokens; // as without a stream
  const { thinks, budgetTokens } = readThinking(request);
  const firstCase = isAllAtOnce ? worstCase : { ...worstCase, outputTokens: firstTokens };
  return {
    measure,
    maxTokens,
    inputEstimate: input.typical,
    worstCase,
    least,
    firstCase,
    amount: isAllAtOnce ? least : priceWorstCase(model.price, firstCase, group.multiplierMillionths),
    isCounted: input.isCounted,
    trancheTokens: settings.outputTrancheTokens,
    // A model that thinks by default is planned like one that was asked to think.
    thinks: thinks || thinksByDefault(offer, terms.providers),
    budgetTokens,
  };
}

/** The largest max_tokens that `available` pays for in the worst case. */
export function maxTokensThatFit(plan: MessagePlan, offer: Offer, available: number): number {
  return outputTokensThatFit(offer.model.price, plan.worstCase, offer.group.multiplierMillionths, available);
}

/**
 * The max_tokens sent to the provider. Output that is not visible cannot be stopped in time, so max_tokens is lowered
 * to what `available` pays if possible.
 */
export function payableMaxTokens(plan: MessagePlan, offer: Offer, available: number): number {
  if (!plan.thinks) return plan.maxTokens;
  const { price } = offer.model;
  const fits = outputTokensThatFit(price, plan.firstCase, offer.group.multiplierMillionths, available);
  return Math.min(plan.maxTokens, Math.max(fits, (plan.budgetTokens ?? 0) + 1));
}

/**
 * The output limit. OpenAI clients send no limit when they want the whole answer: a stream, whose hold is extended as
 * it goes, gets more than the default unless the operator set one.
 */
function planMaxTokens(request: MessageRequest, { model }: Offer, promptTokens: number): number {
  const { defaultMaxTokens, maxOutputTokens, maxInputTokens } = model;
  const limit = maxOutputTokens ?? OUTPUT_TOKENS_MAX;
  if (request.protocol === 'messages' || request.maxTokens !== null)
    return Math.min(request.maxTokens ?? defaultMaxTokens, limit);
  const budgetTokens = readThinking(request).budgetTokens ?? 0; // max_tokens must be above the budget
  const usual = Math.min(limit, budgetTokens + defaultMaxTokens);
  if (!request.stream || maxOutputTokens === null || defaultMaxTokens !== DEFAULT_MAX_TOKENS) return usual;
  const room = (maxInputTokens ?? Number.POSITIVE_INFINITY) - Math.ceil(promptTokens * ESTIMATE_MARGIN);
  return Math.max(usual, Math.min(limit, budgetTokens + OPEN_END_TOKENS, room));
}

function thinksByDefault({ routes }: Offer, providers: readonly Provider[]): boolean {
  for (let at = 0; at < routes.length; at++)
    if (providers[at]?.thinksByDefault?.((routes[at] as Route).upstreamModel) === true) return true;
  return false;
}

interface PlannedInput {
  /** Upper bound: an honest provider never counts more. */
  most: number;
  typical: number;
  isCounted: boolean;
}

function planInput(
  request: MessageRequest,
  offer: Offer,
  providers: readonly Provider[],
  measure: PromptMeasure,
  counted: number | null,
): PlannedInput {
  const exact = countLocally(request, providers);
  if (exact !== null) return { most: exact, typical: exact, isCounted: true };
  const windowTokens = offer.model.maxInputTokens ?? Number.POSITIVE_INFINITY;
  const upperBound = Math.min(inputTokensUpperBound(measure), windowTokens);
  if (counted !== null) {
    const most = Math.min(upperBound, Math.ceil(counted * COUNT_MARGIN) + COUNT_MARGIN_TOKENS);
    return { most, typical: counted, isCounted: true };
  }
  return { most: upperBound, typical: measure.typicalTokens, isCounted: false };
}

/** The exact count if every provider of the offer can count locally; the largest of them. */
function countLocally(request: MessageRequest, providers: readonly Provider[]): number | null {
  let most: number | null = null;
  for (const provider of providers) {
    const count = provider.countLocally(request);
    if (count === null) return null;
    most = Math.max(most ?? 0, count);
  }
  return most;
}
