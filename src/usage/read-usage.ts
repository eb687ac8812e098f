// Reads a `usage` object without trusting it: lists invalid counts and unknown numbers by name.

import { isWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import type { JsonObject, JsonValue, MessageRequest, ServiceTier } from '../wire/wire.ts';
import { isJsonObject, jsonObjects, objectOf, servedTier } from '../wire/wire.ts';

/** Tokens; null if the provider reported nothing credible. */
export interface PartialCounts {
  input: number | null;
  output: number | null;
  cacheRead: number | null;
  /** All cache writes, including the two below, which split them by lifetime. */
  cacheWrite: number | null;
  cacheWrite5m: number | null;
  cacheWrite1h: number | null;
}

export interface PartialUsage extends PartialCounts {
  thinking: number | null;
  /** Tokens of sound, included in the counts above. */
  soundInput: number | null;
  soundOutput: number | null;
  webSearches: number | null;
  tier: ServiceTier | null;
  /** The sum over the summaries that the provider made of the conversation: billed, and not included in the counts above. */
  compactions: PartialCounts | null;
  /** Names of members with an invalid count: not an integer, negative, or, alone or as a sum, above bounds.usageTokensMax. */
  disbelieved: string[];
  /** Names of unknown numbers, "audio.tokens" for nested ones; and a service tier without rates: "service_tier.flex". */
  unknown: string[];
  /** Names of counts that fell in the course of the stream. */
  contradicted: string[];
}

const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation.ephemeral_5m_input_tokens',
  'cache_creation.ephemeral_1h_input_tokens',
  'server_tool_use.web_search_requests',
  'input_tokens_details.audio_tokens',
  'output_tokens_details.audio_tokens',
];
// Known, without a price of their own: thinking is part of the output, a fetch costs only its tokens.
const FREE = ['output_tokens_details.thinking_tokens', 'server_tool_use.web_fetch_requests'];
const KNOWN = new Set([...COUNTS, ...FREE]);
const COUNTED_ITERATIONS = ['message', 'compaction']; // the first ones are included in the total counts
export const NAMES_MAX = 32;
const NAME_CHARACTERS_MAX = 64;

/** Anything but an object reads as nothing reported. The result is a new object. */
export function readUsage(value: JsonValue | undefined): PartialUsage {
  const usage = objectOf(value);
  const disbelieved: string[] = [];
  return {
    ...requireCrediblePrompt(readCounts(usage, disbelieved), disbelieved),
    thinking: readCount(usage['output_tokens_details'], 'thinking_tokens', disbelieved),
    soundInput: readCount(usage['input_tokens_details'], 'audio_tokens', disbelieved),
    soundOutput: readCount(usage['output_tokens_details'], 'audio_tokens', disbelieved),
    webSearches: readCount(usage['server_tool_use'], 'web_search_requests', disbelieved),
    tier: servedTier(usage),
    compactions: readCompactions(usage['iterations'], disbelieved),
    disbelieved,
    unknown: unknownNumbers(usage),
    contradicted: readNames(usage['contradicted']),
  };
}

/** As converters of other protocols list them. */
function readNames(value: JsonValue | undefined): string[] {
  if (!Array.isArray(value)) return [];
  const names = value.filter((name) => typeof name === 'string').slice(0, NAMES_MAX);
  return names.map((name) => name.slice(0, NAME_CHARACTERS_MAX));
}

function readCounts(usage: JsonObject, disbelieved: string[]): PartialCounts {
  const split = usage['cache_creation'];
  return {
    input: readCount(usage, 'input_tokens', disbelieved),
    output: readCount(usage, 'output_tokens', disbelieved),
    cacheRead: readCount(usage, 'cache_read_input_tokens', disbelieved),
    cacheWrite: readCount(usage, 'cache_creation_input_tokens', disbelieved),
    cacheWrite5m: readCount(split, 'ephemeral_5m_input_tokens', disbelieved),
    cacheWrite1h: readCount(split, 'ephemeral_1h_input_tokens', disbelieved),
  };
}

/** The parts of a prompt that is larger than any are disbelieved together. */
function requireCrediblePrompt(counts: PartialCounts, disbelieved: string[]): PartialCounts {
  if (allTokens({ ...includeSplit(counts), output: null }) <= bounds.usageTokensMax) return counts;
  noteDisbelieved(disbelieved, 'input_tokens');
  const unknown = { input: null, cacheRead: null, cacheWrite: null, cacheWrite5m: null, cacheWrite1h: null };
  return { ...unknown, output: counts.output };
}

function readCount(holder: JsonValue | undefined, name: string, disbelieved: string[]): number | null {
  const value = isJsonObject(holder) ? holder[name] : null;
  if (value === undefined || value === null) return null;
  if (isWholeNumber(value) && value <= bounds.usageTokensMax) return value;
  noteDisbelieved(disbelieved, name);
  return null;
}

function noteDisbelieved(disbelieved: string[], name: string): void {
  if (disbelieved.length < NAMES_MAX) disbelieved.push(name);
}

/** The sum of the compactions; null without one. More iterations or tokens than a message can have are disbelieved together. */
function readCompactions(iterations: JsonValue | undefined, disbelieved: string[]): PartialCounts | null {
  if (!Array.isArray(iterations)) return null;
  let sum: PartialCounts | null = null;
  if (iterations.length <= bounds.usageIterationsMax) {
    for (const iteration of jsonObjects(iterations)) {
      if (iteration['type'] !== 'compaction') continue;
      const counts = includeSplit(readCounts(iteration, disbelieved));
      sum = sum === null ? counts : addCounts(sum, counts);
    }
    if (sum === null || allTokens(sum) <= bounds.usageTokensMax) return sum;
  }
  noteDisbelieved(disbelieved, 'iterations');
  return null;
}

/** All tokens of the counts together. */
function allTokens({ input, output, cacheRead, cacheWrite }: PartialCounts): number {
  return (input ?? 0) + (output ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0);
}

/** The counts with cache writes that are at least the sum of their split, so that they can be added to others. */
function includeSplit(counts: PartialCounts): PartialCounts {
  const { cacheWrite, cacheWrite5m, cacheWrite1h } = counts;
  const split = addCount(cacheWrite5m, cacheWrite1h);
  return { ...counts, cacheWrite: split === null ? cacheWrite : Math.max(cacheWrite ?? 0, split) };
}

function addCounts(left: PartialCounts, right: PartialCounts): PartialCounts {
  return {
    input: addCount(left.input, right.input),
    output: addCount(left.output, right.output),
    cacheRead: addCount(left.cacheRead, right.cacheRead),
    cacheWrite: addCount(left.cacheWrite, right.cacheWrite),
    cacheWrite5m: addCount(left.cacheWrite5m, right.cacheWrite5m),
    cacheWrite1h: addCount(left.cacheWrite1h, right.cacheWrite1h),
  };
}

function addCount(left: number | null, right: number | null): number | null {
  return left === null ? right : left + (right ?? 0);
}

/** Tiers with the listed rates or rates of their own; `priority` of the Messages protocol is capacity that the operator has reserved. */
const KNOWN_TIERS: readonly JsonValue[] = ['standard', 'priority', 'auto', 'default', 'flex', 'ultrafast'];
const TIER = 'service_tier.';

/** Whether the provider served a tier whose rates are not known. */
export function isOfUnknownTier({ unknown }: Pick<PartialUsage, 'unknown'>): boolean {
  return unknown.some((name) => name.startsWith(TIER));
}

function unknownNumbers(usage: JsonObject): string[] {
  const names: string[] = [];
  const tier = usage['service_tier'];
  if (typeof tier === 'string' && !KNOWN_TIERS.includes(tier)) noteUnknown(names, TIER + tier);
  for (const name of Object.keys(usage)) {
    const value = usage[name];
    if (typeof value === 'number') noteUnknown(names, name);
    else if (name === 'iterations') noteIterations(names, value);
    else if (isJsonObject(value)) {
      for (const inner of Object.keys(value))
        if (typeof value[inner] === 'number') noteUnknown(names, `${name}.${inner}`);
    }
  }
  return names;
}

function noteUnknown(names: string[], name: string): void {
  if (KNOWN.has(name) || names.length >= NAMES_MAX) return;
  const shown = name.slice(0, NAME_CHARACTERS_MAX);
  if (!names.includes(shown)) names.push(shown);
}

/** Tokens of another model, such as an advisor, are not in the total counts and have no price here. */
function noteIterations(names: string[], iterations: JsonValue | undefined): void {
  if (!Array.isArray(iterations) || iterations.length > bounds.usageIterationsMax) return;
  for (const iteration of jsonObjects(iterations)) {
    const type = String(iteration['type']);
    if (!COUNTED_ITERATIONS.includes(type)) noteUnknown(names, `iterations.${type}`);
  }
}

const THINKING: readonly (JsonValue | undefined)[] = ['enabled', 'adaptive', 'between_tools'];

/** `budgetTokens` is null if the request sets none. */
export function readThinking({ body }: Pick<MessageRequest, 'body'>): { thinks: boolean; budgetTokens: number | null } {
  const thinking = body['thinking'];
  if (!isJsonObject(thinking) || !THINKING.includes(thinking['type'])) return { thinks: false, budgetTokens: null };
  const budget = thinking['budget_tokens'];
  return { thinks: true, budgetTokens: isWholeNumber(budget) ? budget : null };
}
