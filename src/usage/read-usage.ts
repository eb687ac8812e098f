// Reads a `usage` object without trusting it: lists invalid counts and unknown numbers by name.

import { isWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config.ts';
import type { JsonObject, JsonValue, MessageRequest } from '../wire/wire.ts';
import { isJsonObject, jsonObjects, objectOf } from '../wire/wire.ts';

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
  webSearches: number | null;
  speed: 'standard' | 'fast' | null;
  /** One per summary that the provider made of the conversation: billed, and not included in the counts above. */
  compactions: PartialCounts[];
  /** Names of members with an invalid count: not an integer, negative, or above bounds.usageTokensMax. */
  disbelieved: string[];
  /** Names of unknown numbers; "audio.tokens" for nested ones. */
  unknown: string[];
}

const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation.ephemeral_5m_input_tokens',
  'cache_creation.ephemeral_1h_input_tokens',
  'server_tool_use.web_search_requests',
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
  const speed = usage['speed'];
  const { input, output, cacheRead, cacheWrite, cacheWrite5m, cacheWrite1h } = readCounts(usage, disbelieved);
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    cacheWrite5m,
    cacheWrite1h,
    thinking: readCount(usage['output_tokens_details'], 'thinking_tokens', disbelieved),
    webSearches: readCount(usage['server_tool_use'], 'web_search_requests', disbelieved),
    speed: speed === 'standard' || speed === 'fast' ? speed : null,
    compactions: readCompactions(usage['iterations'], disbelieved),
    disbelieved,
    unknown: unknownNumbers(usage),
  };
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

function readCount(holder: JsonValue | undefined, name: string, disbelieved: string[]): number | null {
  const value = isJsonObject(holder) ? holder[name] : null;
  if (value === undefined || value === null) return null;
  if (isWholeNumber(value) && value <= bounds.usageTokensMax) return value;
  if (disbelieved.length < NAMES_MAX) disbelieved.push(name);
  return null;
}

function readCompactions(iterations: JsonValue | undefined, disbelieved: string[]): PartialCounts[] {
  if (!Array.isArray(iterations)) return [];
  return jsonObjects(iterations)
    .filter((iteration) => iteration['type'] === 'compaction')
    .map((iteration) => readCounts(iteration, disbelieved));
}

function unknownNumbers(usage: JsonObject): string[] {
  const names: string[] = [];
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
