// The models of the economy, and how the provider of each behaves.

import type { JsonObject } from '../../../src/wire/wire.ts';
import { type Tokenizer, tokenizers } from './tokenizers.ts';

/** When a stream tells the tokens of its prompt and output. */
export type Reports =
  | 'at the start' // the prompt; the output at the end
  | 'at the end'
  | 'in every event' // counts so far, and both at the end
  | 'falling' // the same, but zero at the end
  | 'disagreeing' // fewer tokens of the prompt at the end than at the start
  | 'never';

export interface Behaviour {
  /** The tokenizer of prompts. */
  tokenizer: Tokenizer;
  /** The tokenizer of answers. */
  outputTokenizer: Tokenizer;
  /** It streams nothing: nobody could count what was received of its answers. */
  isWholeOnly: boolean;
  reports: Reports;
  /** Whether it counts prompts without answering them. */
  counts: boolean;
  /** How long it lets its reader block a write; null: for ever. */
  givesUpMs: number | null;
  /** It cuts half of its streams off by itself. */
  isCut: boolean;
  /** It falls silent in half of its streams. */
  isMute: boolean;
  /** It refuses, is silent or is slow before its first event, mostly. */
  isFaulty: boolean;
  /** It reports what cannot be. */
  isOdd: boolean;
  /** The model thinks without being asked. */
  thinks: boolean;
  /** Providers that sell the model. */
  routes: 1 | 2;
}

const steady: Behaviour = {
  tokenizer: tokenizers.quarters,
  outputTokenizer: tokenizers.vendor,
  isWholeOnly: false,
  reports: 'at the start',
  counts: true,
  givesUpMs: null,
  isCut: false,
  isMute: false,
  isFaulty: false,
  isOdd: false,
  thinks: false,
  routes: 1,
};
/** Its service has no counter: the count must be made elsewhere. */
const uncounted: Behaviour = { ...steady, tokenizer: tokenizers.vendor, counts: false };

const behaviours = {
  quarters: { ...steady, routes: 2 },
  kinds: { ...steady, tokenizer: tokenizers.kinds },
  vendor: uncounted,
  late: { ...uncounted, reports: 'at the end' },
  lateCounted: { ...steady, tokenizer: tokenizers.kinds, reports: 'at the end', routes: 2 },
  running: { ...steady, tokenizer: tokenizers.kinds, reports: 'in every event', thinks: true },
  falling: { ...uncounted, reports: 'falling', thinks: true },
  disagreeing: { ...steady, tokenizer: tokenizers.kinds, reports: 'disagreeing' },
  never: { ...uncounted, reports: 'never' },
  neverCounted: { ...steady, tokenizer: tokenizers.kinds, reports: 'never' },
  bytes: { ...steady, tokenizer: tokenizers.bytes, outputTokenizer: tokenizers.bytes, isWholeOnly: true },
  stall: { ...steady, givesUpMs: 30_000 },
  cuts: { ...uncounted, isCut: true },
  mute: { ...steady, reports: 'in every event', isMute: true },
  faulty: { ...steady, isFaulty: true, routes: 2 },
  odd: { ...steady, isOdd: true },
} as const satisfies Record<string, Behaviour>;

export type ModelName = keyof typeof behaviours;
export const modelNames = Object.keys(behaviours) as ModelName[];

/** Those whose last counts are true, however they fail. */
export const honestModels = modelNames.filter((name) => !behaviours[name].isOdd);

/** Those that fail only by what their reader does. */
export const wellModels = honestModels.filter((name) => {
  const { isCut, isMute, isFaulty } = behaviours[name];
  return !isCut && !isMute && !isFaulty;
});

/** Whether its counts are true at the end of an answer; with `reports`, only if they come so. */
export function isTruthful(model: ModelName, reports?: Reports): boolean {
  const { isOdd, reports: own } = behaviourOf(model);
  if (isOdd || (reports !== undefined && own !== reports)) return false;
  return own === 'at the start' || own === 'at the end' || own === 'in every event';
}

export function behaviourOf(model: ModelName): Behaviour {
  return behaviours[model];
}

/** Dollars per million tokens, of every model, and per thousand searches. */
export const PRICE = { input: 30, output: 150, searches: 10 };
const NANO_PER_DOLLAR_PER_MILLION = 1_000;
const NANO_PER_DOLLAR_PER_THOUSAND = 1_000_000;

/** Tokens of a prompt that every model takes. */
export const WINDOW_TOKENS = 200_000;

/** By which holds of streams grow. */
export const TRANCHE_TOKENS = 500;

/** Cost of this many tokens and searches, in nanodollars. */
export function priceOf(inputTokens: number, outputTokens: number, searches = 0): number {
  const tokens = NANO_PER_DOLLAR_PER_MILLION * (inputTokens * PRICE.input + outputTokens * PRICE.output);
  return tokens + NANO_PER_DOLLAR_PER_THOUSAND * PRICE.searches * searches;
}

const MANY_ITERATIONS = 900;

/** Reports of an odd provider: too much, nothing, zeros, invalid counts. */
export function oddUsage(luck: number, at: 'start' | 'end' | 'whole', maxTokens: number): JsonObject | null {
  const reports: (JsonObject | null)[] = [
    { input_tokens: 9_000_000_000, output_tokens: 9_000_000_000 },
    { input_tokens: 10, output_tokens: maxTokens * 3 + 5_000 },
    { input_tokens: 0, output_tokens: 0 },
    null,
    { input_tokens: -5, output_tokens: -5 },
    { input_tokens: 'many', output_tokens: 1.5 },
    { output_tokens: at === 'start' ? maxTokens : 3 },
    { input_tokens: 10, output_tokens: 10, iterations: at === 'start' ? [] : manySummaries() },
  ];
  return reports[luck % reports.length] as JsonObject | null;
}

function manySummaries(): JsonObject[] {
  return new Array(MANY_ITERATIONS).fill({ type: 'compaction', input_tokens: 10_000_000, output_tokens: 0 });
}
