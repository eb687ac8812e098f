// The models of the economy, and how the provider of each behaves.

import type { JsonObject } from '../../../src/wire/wire.ts';
import { type Tokenizer, tokenizers } from './texts.ts';

export interface Behaviour {
  tokenizer: Tokenizer;
  /** When it reports the tokens of the prompt; those of the output come at the end. */
  reports: 'at the start' | 'at the end';
  /** Whether it counts prompts without answering them. */
  counts: boolean;
  /** How long it lets its reader block a write; null: for ever. */
  givesUpMs: number | null;
  /** It cuts half of its streams off by itself. */
  isCut: boolean;
  /** It refuses, is silent or is slow before its first event, mostly. */
  isFaulty: boolean;
  /** It reports what cannot be. */
  isOdd: boolean;
}

const steady: Behaviour = {
  tokenizer: tokenizers.quarters,
  reports: 'at the start',
  counts: true,
  givesUpMs: null,
  isCut: false,
  isFaulty: false,
  isOdd: false,
};

const behaviours = {
  quarters: steady,
  kinds: { ...steady, tokenizer: tokenizers.kinds, counts: false },
  late: { ...steady, tokenizer: tokenizers.kinds, counts: false, reports: 'at the end' },
  bytes: { ...steady, tokenizer: tokenizers.bytes },
  stall: { ...steady, givesUpMs: 30_000 },
  cuts: { ...steady, tokenizer: tokenizers.kinds, isCut: true },
  faulty: { ...steady, isFaulty: true },
  odd: { ...steady, isOdd: true },
} as const satisfies Record<string, Behaviour>;

export type ModelName = keyof typeof behaviours;
export const modelNames = Object.keys(behaviours) as ModelName[];

/** Those whose reports are true, however they fail. */
export const honestModels = modelNames.filter((name) => !behaviours[name].isOdd);

/** Those that fail only by what their reader does. */
export const wellModels = honestModels.filter((name) => !behaviours[name].isCut && !behaviours[name].isFaulty);

export function behaviourOf(model: ModelName): Behaviour {
  return behaviours[model];
}

/** Dollars per million tokens, of every model. */
export const PRICE = { input: 30, output: 150 };
const NANO_PER_DOLLAR_PER_MILLION = 1_000;

/** Cost of this many tokens, in nanodollars. */
export function priceOf(inputTokens: number, outputTokens: number): number {
  return NANO_PER_DOLLAR_PER_MILLION * (inputTokens * PRICE.input + outputTokens * PRICE.output);
}

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
  ];
  return reports[luck % reports.length] as JsonObject | null;
}
