// The models of a provider's list: names, and what the list says of each. Members beyond the name are read leniently: what is
// missing or implausible is unknown.

import { isWholeNumber } from '../base/checked-number.ts';
import { parseDecimal } from '../base/money.ts';
import { type JsonObject, type JsonValue, objectOf, textOf } from '../wire/wire.ts';

/** Rates in 10^-12 USD per million tokens; null: not stated. */
export interface OfferedRates {
  input: bigint;
  output: bigint;
  cacheRead: bigint | null;
  cacheWrite: bigint | null;
}

export interface OfferedModel {
  name: string;
  displayName: string | null;
  maxInputTokens: number | null;
  maxOutputTokens: number | null;
  /** The provider's own price; null: it states none, or one that tokens alone do not have. */
  rates: OfferedRates | null;
}

/** The first page of a provider's models. */
export interface ModelPage {
  models: readonly OfferedModel[];
  /** There are further pages. */
  hasMore: boolean;
}

/** Reads a page of an API whose lists are like OpenAI's and Anthropic's; null for anything but a list. */
export function readModelPage({ data, has_more: hasMore }: JsonObject): ModelPage | null {
  if (!Array.isArray(data)) return null;
  return { models: data.map(objectOf).map((row) => offeredModel(row, row['id'])), hasMore: hasMore === true };
}

/** Names of the same number at different providers. */
const INPUT_LIMITS = [
  'max_input_tokens',
  'inputTokenLimit',
  'context_length',
  'context_window',
  'max_model_len',
  'max_context_length',
];
const OUTPUT_LIMITS = ['max_output_tokens', 'outputTokenLimit', 'max_completion_tokens', 'max_tokens'];
const NAMES = ['display_name', 'displayName', 'name'];
const NAME_CHARACTERS_MAX = 200;
const TOKENS_MAX = 1_000_000_000;

export function offeredModel(row: JsonObject, name: JsonValue | undefined): OfferedModel {
  const shown = NAMES.map((member) => textOf(row[member])).find((text) => text !== '') ?? null;
  return {
    name: textOf(name),
    displayName: shown !== null && shown.length <= NAME_CHARACTERS_MAX ? shown : null,
    maxInputTokens: firstCount(row, INPUT_LIMITS),
    maxOutputTokens: firstCount(row, OUTPUT_LIMITS) ?? firstCount(objectOf(row['top_provider']), OUTPUT_LIMITS),
    rates: readRouterRates(row),
  };
}

function firstCount(row: JsonObject, members: readonly string[]): number | null {
  const counts = members.map((member) => row[member]);
  return counts.find((count): count is number => isWholeNumber(count) && count > 0 && count <= TOKENS_MAX) ?? null;
}

const PER_TOKEN_DIGITS = 18; // USD per token with 18 fraction digits are 10^-12 USD per million tokens
const RATE_MAX = 10_000n * 10n ** 12n;
/** Prices beside tokens, such as of each image of a prompt; a model that has one would be sold below its cost. */
const OTHER_PRICES = ['request', 'internal_reasoning', 'image'];

/**
 * `pricing` as OpenRouter has it: texts in USD per token. null unless every rate is a decimal from 0 to 10,000 USD per million
 * tokens, and for a price that varies ("-1") or that is not per token (https://openrouter.ai/docs/api-reference/list-available-models, 2026-11-30).
 */
function readRouterRates(row: JsonObject): OfferedRates | null {
  const pricing = objectOf(row['pricing']);
  const input = rateOf(pricing['prompt']);
  const output = rateOf(pricing['completion']);
  const caches = [pricing['input_cache_read'], pricing['input_cache_write']];
  const [cacheRead = null, cacheWrite = null] = caches.map(rateOf);
  const isStrange = caches.some((given) => given !== undefined && rateOf(given) === null);
  const hasOther = OTHER_PRICES.some((name) => pricing[name] !== undefined && rateOf(pricing[name]) !== 0n);
  return input === null || output === null || isStrange || hasOther ? null : { input, output, cacheRead, cacheWrite };
}

function rateOf(value: JsonValue | undefined): bigint | null {
  const units = typeof value === 'string' ? parseDecimal(value, PER_TOKEN_DIGITS) : null;
  return units === null || units < 0n || units > RATE_MAX ? null : units;
}
