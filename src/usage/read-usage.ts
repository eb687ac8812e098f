// Reads a `usage` object of the Messages protocol without believing it: what is absent stays absent, what
// is no count is named, and so is every number that nobody here knows. Adds nothing up.

import { bounds } from '../config.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../wire/wire.ts';

/** Tokens; null where the provider said nothing that is believed. */
export interface PartialCounts {
  input: number | null;
  output: number | null;
  cacheRead: number | null;
  /** All cache writes, also those that the two below split by lifetime. */
  cacheWrite: number | null;
  cacheWrite5m: number | null;
  cacheWrite1h: number | null;
}

export interface PartialUsage extends PartialCounts {
  /** The part of the output that is thinking. */
  thinking: number | null;
  webSearches: number | null;
  speed: 'standard' | 'fast' | null;
  /** One for each summary that the provider made of the conversation: billed, and not part of the counts above. */
  compactions: PartialCounts[];
  /** Names of members whose value is no count: not whole, negative, above bounds.usageTokensMax. */
  disbelieved: string[];
  /** Names of numbers that nobody here knows, "audio.tokens" for one inside another member. */
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
// Known and without a price of their own: thinking is part of the output, a fetch costs its tokens only.
const FREE = ['output_tokens_details.thinking_tokens', 'server_tool_use.web_fetch_requests'];
const KNOWN = new Set([...COUNTS, ...FREE]);
const COUNTED_ITERATIONS = ['message', 'compaction']; // the first are what the counts of the whole add up
/** How many names of odd counts are kept of one message. */
export const NAMES_MAX = 32;
const NAME_CHARACTERS_MAX = 64;

/** Anything but an object reads as nothing reported. The result is the caller's own. */
export function readUsage(value: JsonValue | undefined): PartialUsage {
  const usage = isJsonObject(value) ? value : {};
  const disbelieved: string[] = [];
  const details = isJsonObject(usage['output_tokens_details']) ? usage['output_tokens_details'] : {};
  const searches = isJsonObject(usage['server_tool_use']) ? usage['server_tool_use'] : {};
  const speed = usage['speed'];
  return {
    ...readCounts(usage, disbelieved),
    thinking: readCount(details, 'thinking_tokens', disbelieved),
    webSearches: readCount(searches, 'web_search_requests', disbelieved),
    speed: speed === 'standard' || speed === 'fast' ? speed : null,
    compactions: readCompactions(usage['iterations'], disbelieved),
    disbelieved,
    unknown: unknownNumbers(usage),
  };
}

function readCounts(usage: JsonObject, disbelieved: string[]): PartialCounts {
  const split = isJsonObject(usage['cache_creation']) ? usage['cache_creation'] : {};
  return {
    input: readCount(usage, 'input_tokens', disbelieved),
    output: readCount(usage, 'output_tokens', disbelieved),
    cacheRead: readCount(usage, 'cache_read_input_tokens', disbelieved),
    cacheWrite: readCount(usage, 'cache_creation_input_tokens', disbelieved),
    cacheWrite5m: readCount(split, 'ephemeral_5m_input_tokens', disbelieved),
    cacheWrite1h: readCount(split, 'ephemeral_1h_input_tokens', disbelieved),
  };
}

function readCount(holder: JsonObject, name: string, disbelieved: string[]): number | null {
  const value = holder[name];
  if (value === undefined || value === null) return null;
  if (isCount(value)) return value;
  if (disbelieved.length < NAMES_MAX) disbelieved.push(name);
  return null;
}

function isCount(value: JsonValue): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= bounds.usageTokensMax;
}

function readCompactions(iterations: JsonValue | undefined, disbelieved: string[]): PartialCounts[] {
  if (!Array.isArray(iterations)) return [];
  return jsonObjects(iterations)
    .filter((iteration) => iteration['type'] === 'compaction')
    .map((iteration) => readCounts(iteration, disbelieved));
}

function unknownNumbers(usage: JsonObject): string[] {
  const names: string[] = [];
  const note = (name: string) => {
    const shown = name.slice(0, NAME_CHARACTERS_MAX);
    if (!KNOWN.has(name) && names.length < NAMES_MAX && !names.includes(shown)) names.push(shown);
  };
  for (const name of Object.keys(usage)) {
    const value = usage[name];
    if (typeof value === 'number') note(name);
    else if (name === 'iterations') noteIterations(value, note);
    else if (isJsonObject(value)) {
      for (const inner of Object.keys(value)) if (typeof value[inner] === 'number') note(`${name}.${inner}`);
    }
  }
  return names;
}

/** Tokens of another model, as an advisor's, are not in the counts of the whole and have no price here. */
function noteIterations(iterations: JsonValue | undefined, note: (name: string) => void): void {
  for (const iteration of jsonObjects(iterations)) {
    const type = String(iteration['type']);
    if (!COUNTED_ITERATIONS.includes(type)) note(`iterations.${type}`);
  }
}
