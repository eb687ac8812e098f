// The plan of a message before admission: output limit, prompt estimate, the amount to hold and the minimum that must
// be available.

import type { Caller } from '../accounts/accounts.ts';
import type { Nano } from '../base/money.ts';
import {
  type Catalog,
  DEFAULT_MAX_TOKENS,
  type Offer,
  outputTokensThatFit,
  type Passthrough,
  passes,
  priceWorstCase,
  type Route,
  type Settings,
  type WorstCase,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { Attribution, IdempotencyClaim } from '../ledger/ledger.ts';
import type { Provider } from '../providers/providers.ts';
import { inputTokensUpperBound, measurePrompt, type PromptMeasure, readThinking } from '../usage/usage.ts';
import {
  EXTRA_MEMBER,
  type MessageRequest,
  objectOf,
  type RequestFeatures,
  type Units,
  unitsOf,
} from '../wire/wire.ts';
import type { ClientRequest } from './client-request.ts';

const WEB_SEARCHES_UNBOUNDED = 20; // held for a request without `max_uses`
const OUTPUT_TOKENS_MAX = 1_000_000_000; // for a model without a limit; keeps sums exact
const OPEN_END_TOKENS = 32_000; // typical for coding agents; providers count max_tokens against their own rate limits
const ESTIMATE_MARGIN = 1.25; // of a prompt, when reserving room for the answer in the context window
const COUNT_MARGIN = 1.02; // a provider calls its count an estimate
const COUNT_MARGIN_TOKENS = 32;
const TEXT_BYTES_PER_TOKEN_MAX = 64; // a count of fewer tokens is not believed
const SEARCH_TOKENS_MAX = 20_000; // results of one web search; measured: up to 12,000
const FETCH_TOKENS_TYPICAL = 10_000; // what one use of a tool adds to the prompt
const FETCHES_PAYABLE = 5; // uses that must be payable where nothing limits them
const UNREADABLE_TOKENS_PAYABLE = 200_000; // the usual context window, for a document that cannot be read

export interface MessagePlan {
  measure: PromptMeasure;
  /** The client's max_tokens, with default and clamped to the model's limit. */
  maxTokens: number;
  /** Likely prompt tokens, without what tools of the provider add. */
  inputEstimate: number;
  /** The most prompt tokens that the provider may count, with what its tools add. */
  inputBound: number;
  /** False: nothing but the largest credible count limits the prompt. */
  isBounded: boolean;
  /** Tools of the provider add to the prompt while it answers. */
  hasServerTools: boolean;
  /** The provider may summarize the conversation first, which costs more than the prompt that it reports. */
  isCompacted: boolean;
  /** The minimum that must be payable: the prompt, and all output, or the first tranche of a stream. */
  worstCase: WorstCase;
  /** The price of the worst case, with the group's multiplier. */
  least: number;
  /**
   * Held until the provider has counted the prompt: the largest possible prompt with the first tranche of a stream.
   */
  firstCase: WorstCase;
  amount: number;
  /** The message may cost more than must be payable: if less than `amount` is available, it runs alone. */
  isAloneIfShort: boolean;
  /** The prompt tokens are a count, not an estimate, and nothing is added to them. */
  isCounted: boolean;
  /** Output tokens by which a stream's hold is extended. */
  trancheTokens: number;
  /** The path of the first block of sound that the client sent; null: none. */
  sound: string | null;
  /** As in the features of the request. */
  compacted: string | null;
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
  /** The fields beyond the protocol that providers of the offer get as they are. */
  passthroughs: readonly Passthrough[];
}

/** A message that requests admission. */
export interface AdmissionRequest {
  clientRequest: ClientRequest;
  caller: Caller;
  /** The catalog of the offer. It applies until the message has ended, whatever the operator changes meanwhile. */
  catalog: Catalog;
  request: MessageRequest;
  offer: Offer;
  terms: PlanTerms;
  claim: IdempotencyClaim | null;
  /** Replaced when the provider has counted the prompt. */
  plan: MessagePlan;
  attribution: Attribution;
}

/** A message as it was admitted. Nothing in it changes. */
export interface AdmittedRequest
  extends Readonly<Pick<AdmissionRequest, 'clientRequest' | 'caller' | 'catalog' | 'offer' | 'plan' | 'attribution'>> {
  readonly isStream: boolean;
  /** The max_tokens sent to the provider. */
  readonly maxTokens: number;
}

/** Measures a prompt for the models of an offer's routes. A promise only if it has documents. */
export function measureFor(request: MessageRequest, { routes }: Offer): PromptMeasure | Promise<PromptMeasure> {
  return measurePrompt(request, upstreamModels(routes));
}

/** Plans a message over an offer. `counted` is the provider's token count of the prompt, if it was requested. */
export function planMessage(
  request: MessageRequest,
  offer: Offer,
  terms: PlanTerms,
  measure: PromptMeasure,
  counted: number | null = null,
): MessagePlan {
  const { model, group } = offer;
  const { features, settings } = terms;
  const input = planInput(request, offer, terms, measure, counted);
  const maxTokens = planMaxTokens(request, offer, input.typical);
  const firstTokens = request.stream ? Math.min(maxTokens, settings.outputTrancheTokens) : maxTokens;
  const units = planUnits(request, offer, measure);
  const leastTokens = request.stream ? Math.min(maxTokens, settings.outputFloorTokens) : maxTokens;
  const worstCase: WorstCase = {
    inputTokens: input.least,
    outputTokens: leastTokens,
    webSearches: features.webSearch === null ? 0 : (features.webSearch.usesMax ?? WEB_SEARCHES_UNBOUNDED),
    ...(units !== undefined && { units }),
    ...(features.speaks && { speaks: true }),
    ...(request.spoken !== undefined && features.sound === null && { recalls: true }),
    tier: features.tier,
    cacheWrites: features.cacheControl,
  };
  const least = priceWorstCase(model.price, worstCase, group.multiplierMillionths);
  const isAllAtOnce = firstTokens === leastTokens && input.least === input.most; // as without a stream
  const { thinks, budgetTokens } = readThinking(request);
  const firstCase = isAllAtOnce ? worstCase : { ...worstCase, inputTokens: input.most, outputTokens: firstTokens };
  return {
    measure,
    maxTokens,
    inputEstimate: input.typical,
    inputBound: input.most,
    isBounded: input.isBounded,
    hasServerTools: features.serverTools !== 'none',
    isCompacted: input.isCompacted,
    worstCase,
    least,
    firstCase,
    amount: isAllAtOnce ? least : priceWorstCase(model.price, firstCase, group.multiplierMillionths),
    isAloneIfShort: input.least < input.most,
    isCounted: input.isCounted && features.serverTools === 'none',
    trancheTokens: settings.outputTrancheTokens,
    sound: features.sound,
    compacted: features.compacted,
    // A model that thinks by default, or may in the words of its server, is planned like one that was asked to think.
    thinks: thinks || thinksByDefault(offer, terms.providers) || mayAskToThink(request, terms),
    budgetTokens,
  };
}

/**
 * The plan of a message that holds less than its bound, because it runs alone: what the hold pays for besides the output
 * counts as its prompt, until the provider has counted that.
 */
export function planHeld(plan: MessagePlan, offer: Offer, held: Nano): MessagePlan {
  if (held >= plan.amount) return plan;
  const { price } = offer.model;
  const costOf = (inputTokens: number) =>
    priceWorstCase(
      price,
      { ...plan.firstCase, inputTokens, outputTokens: plan.maxTokens },
      offer.group.multiplierMillionths,
    );
  let [inputTokens, beyond] = [plan.worstCase.inputTokens, plan.inputBound + 1];
  while (beyond - inputTokens > 1) {
    const middle = Math.floor((inputTokens + beyond) / 2);
    if (costOf(middle) <= held) inputTokens = middle;
    else beyond = middle;
  }
  return { ...plan, firstCase: { ...plan.firstCase, inputTokens } };
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
  const fits = outputTokensThatFit(price, plan.worstCase, offer.group.multiplierMillionths, available);
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

const THINKING_WORDS = /reason|think|effort|budget|template|option/i;

/** Whether fields that a server gets as they are may ask for thinking that is not shown. */
function mayAskToThink({ body, protocol }: MessageRequest, { passthroughs }: PlanTerms): boolean {
  if (passthroughs.length === 0) return false;
  const names = Object.keys(protocol === 'messages' ? body : objectOf(body[EXTRA_MEMBER]));
  return names.some(
    (name) =>
      THINKING_WORDS.test(name) &&
      (protocol !== 'messages' || name !== 'thinking') &&
      passthroughs.some((passthrough) => passes(name, passthrough)),
  );
}

function thinksByDefault({ routes }: Offer, providers: readonly Provider[]): boolean {
  for (let at = 0; at < routes.length; at++)
    if (providers[at]?.thinksByDefault?.((routes[at] as Route).upstreamModel) === true) return true;
  return false;
}

/** Routes are immutable: their names are gathered once. */
const keptModels = new WeakMap<readonly Route[], readonly string[]>();

function upstreamModels(routes: readonly Route[]): readonly string[] {
  const models = keptModels.get(routes) ?? [...new Set(routes.map(({ upstreamModel }) => upstreamModel))];
  keptModels.set(routes, models);
  return models;
}

interface PlannedInput {
  /** Upper bound: an honest provider never counts more. */
  most: number;
  /** The tokens that must be payable: less than `most` if the message runs alone when that is not available. */
  least: number;
  typical: number;
  isBounded: boolean;
  isCounted: boolean;
  /** The provider may summarize the conversation first. */
  isCompacted: boolean;
}

function planInput(
  request: MessageRequest,
  offer: Offer,
  { features, providers }: PlanTerms,
  measure: PromptMeasure,
  counted: number | null,
): PlannedInput {
  const exact = countLocally(request, providers);
  if (exact !== null) {
    return { most: exact, least: exact, typical: exact, isBounded: true, isCounted: true, isCompacted: false };
  }
  const windowTokens = offer.model.maxInputTokens ?? Number.POSITIVE_INFINITY;
  const isCounted = counted !== null && isCredible(counted, measure);
  const sent = isCounted
    ? Math.ceil(counted * COUNT_MARGIN) + COUNT_MARGIN_TOKENS // also above the bound, which a provider may exceed
    : Math.min(inputTokensUpperBound(measure) + addedBytesMax(request, offer, providers), windowTokens);
  const isReadable = isCounted || measure.isBounded;
  const added = fetchedTokensMax(features);
  const limit = isReadable ? sent + added : Number.POSITIVE_INFINITY;
  const read = Math.min(bounds.usageTokensMax, limit, Math.max(sent, windowTokens));
  const summary = summaryTokensMax(features, sent, read);
  const most = Math.min(bounds.usageTokensMax, read + summary);
  const isCompacted = summary > 0;
  const isBounded = Number.isFinite(Math.min(limit, windowTokens));
  const typical = isCounted ? counted : measure.typicalTokens;
  if (isBounded && (added + summary === 0 || !request.stream))
    return { most, least: most, typical, isBounded, isCounted, isCompacted };
  const payable = sent + fetchedTokensPayable(features, isBounded) + (isReadable ? 0 : UNREADABLE_TOKENS_PAYABLE);
  return { most, least: Math.min(most, payable), typical, isBounded, isCounted, isCompacted };
}

/** Each byte may be a token, as in the bound of the prompt. */
function addedBytesMax(request: MessageRequest, { routes }: Offer, providers: readonly Provider[]): number {
  let most = 0;
  for (let at = 0; at < routes.length; at++)
    most = Math.max(most, providers[at]?.addedBytesMax?.(request, routes[at] as Route) ?? 0);
  return most;
}

/** A provider may count wrongly: nothing, or fewer tokens than any text of this length has. */
function isCredible(counted: number, { textBytes }: PromptMeasure): boolean {
  if (!Number.isSafeInteger(counted) || counted <= 0 || counted > bounds.usageTokensMax) return false;
  return counted >= textBytes / TEXT_BYTES_PER_TOKEN_MAX;
}

/** The most that a summary costs, in input tokens: the provider reads the prompt once more, and writes. */
function summaryTokensMax({ compactsFrom, serverTools }: RequestFeatures, sent: number, read: number): number {
  if (compactsFrom === null || (sent < compactsFrom && serverTools === 'none')) return 0;
  return read + SUMMARY_TOKENS_MAX * OUTPUT_RATE_USUAL;
}

const SUMMARY_TOKENS_MAX = 8_192; // no maximum is documented; its examples have 3,500
const OUTPUT_RATE_USUAL = 5; // the price of an output token in input tokens

/** The most that tools of the provider add to the prompt. */
function fetchedTokensMax({ serverTools, webSearch }: RequestFeatures): number {
  if (serverTools === 'none') return 0;
  const usesMax = serverTools === 'searches' ? (webSearch?.usesMax ?? null) : null;
  return usesMax === null ? Number.POSITIVE_INFINITY : usesMax * SEARCH_TOKENS_MAX;
}

/** The tokens that they add in one use, or in a few if nothing limits them. */
function fetchedTokensPayable({ serverTools, fetchesMax }: RequestFeatures, isBounded: boolean): number {
  if (serverTools === 'none') return 0;
  return FETCH_TOKENS_TYPICAL * (isBounded ? 1 : Math.min(fetchesMax ?? FETCHES_PAYABLE, FETCHES_PAYABLE));
}

/**
 * An image of Gemini's models has at most as many, whatever quality was asked for: Gemini 3 Pro Image 2,000
 * (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/models/gemini/3-pro-image, 1 December 2026), and 3.1 Flash Image, which costs up to
 * 0.151 USD at 60 USD per million, 2,520.
 */
const GEMINI_IMAGE_TOKENS = 2_520;

/** The most units: for anything but a message as its request says, for a message the tokens of its sound. */
function planUnits({ units }: MessageRequest, offer: Offer, { soundTokensMax }: PromptMeasure): Units | undefined {
  const { model, routes } = offer;
  const { images = 0, output_image_tokens: drawn } = units?.counts ?? {};
  if (units !== undefined && drawn !== undefined && upstreamModels(routes).some((name) => /gemini/i.test(name))) {
    const output_image_tokens = Math.max(drawn, images * GEMINI_IMAGE_TOKENS);
    return unitsOf({ ...units.counts, output_image_tokens }, units.image);
  }
  if (soundTokensMax === 0) return units;
  const most = Math.min(soundTokensMax, model.maxInputTokens ?? Number.POSITIVE_INFINITY, bounds.usageTokensMax);
  return unitsOf({ ...units?.counts, input_audio_tokens: most }, units?.image);
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
