// The token counts of an answer in the words of each protocol: read from providers, and written for clients.

import { isWholeNumber } from '../base/checked-number.ts';
import { type JsonObject, type JsonValue, objectOf } from '../wire/wire.ts';

/** Tokens of one report; null: not reported. */
export interface ReportedCounts {
  /** Includes cached tokens. */
  prompt: number | null;
  /** Tokens that the provider's own tools added, if they are counted beside the prompt. */
  tools: number | null;
  cacheRead: number | null;
  cacheWrite: number | null;
  output: number | null;
  thinking: number | null;
  /** All of the above. Some providers have hidden thinking nowhere else. */
  total: number | null;
  /** Further members of the message's usage, such as unknown numbers. */
  others: JsonObject;
}

type Count = Exclude<keyof ReportedCounts, 'others'>;

/** The member with each count, or an object and its member, in the order in which they are written. */
type CountWords = Readonly<Partial<Record<Count, readonly [member: string, inner?: string]>>>;

export const CHAT_COUNTS = {
  prompt: ['prompt_tokens'],
  output: ['completion_tokens'],
  total: ['total_tokens'],
  cacheRead: ['prompt_tokens_details', 'cached_tokens'],
  cacheWrite: ['prompt_tokens_details', 'cache_write_tokens'],
  thinking: ['completion_tokens_details', 'reasoning_tokens'],
} as const satisfies CountWords;

export const RESPONSES_COUNTS = {
  prompt: ['input_tokens'],
  cacheRead: ['input_tokens_details', 'cached_tokens'],
  cacheWrite: ['input_tokens_details', 'cache_write_tokens'],
  output: ['output_tokens'],
  thinking: ['output_tokens_details', 'reasoning_tokens'],
  total: ['total_tokens'],
} as const satisfies CountWords;

/** The output is without thinking. Zero is omitted: without an output, only the total tells an empty one from an unknown one. */
export const GEMINI_COUNTS = {
  prompt: ['promptTokenCount'],
  tools: ['toolUsePromptTokenCount'],
  output: ['candidatesTokenCount'],
  thinking: ['thoughtsTokenCount'],
  cacheRead: ['cachedContentTokenCount'],
  total: ['totalTokenCount'],
} as const satisfies CountWords;

/** Cached tokens are beside the input. */
export const CONVERSE_COUNTS = {
  prompt: ['inputTokens'],
  cacheRead: ['cacheReadInputTokens'],
  cacheWrite: ['cacheWriteInputTokens'],
  output: ['outputTokens'],
  total: ['totalTokens'],
} as const satisfies CountWords;

export function countOf(value: JsonValue | undefined): number | null {
  return isWholeNumber(value) ? value : null;
}

/** The counts of a usage in these words. */
export function readCounts(usage: JsonObject, words: CountWords): ReportedCounts {
  const count = (name: Count): number | null => {
    const [member = '', inner] = words[name] ?? [];
    return countOf(inner === undefined ? usage[member] : objectOf(usage[member])[inner]);
  };
  return {
    prompt: count('prompt'),
    tools: count('tools'),
    cacheRead: count('cacheRead'),
    cacheWrite: count('cacheWrite'),
    output: count('output'),
    thinking: count('thinking'),
    total: count('total'),
    others: {},
  };
}

/** A usage in these words, without counts that are null or not given. */
export function writeCounts(counts: Readonly<Partial<Record<Count, number | null>>>, words: CountWords): JsonObject {
  const usage: JsonObject = {};
  for (const [name, [member, inner]] of Object.entries(words)) {
    const count = counts[name as Count] ?? null;
    if (count === null) continue;
    usage[member] = inner === undefined ? count : { ...objectOf(usage[member]), [inner]: count };
  }
  return usage;
}

interface MessageCounts extends Record<Exclude<Count, 'tools' | 'thinking'>, number> {
  thinking: number | null;
}

/** The counts of a message's usage: unknown ones are zero, but for thinking. */
export function countsOfMessage(usage: JsonObject): MessageCounts {
  const cacheRead = countOf(usage['cache_read_input_tokens']) ?? 0;
  const cacheWrite = countOf(usage['cache_creation_input_tokens']) ?? 0;
  const prompt = (countOf(usage['input_tokens']) ?? 0) + cacheRead + cacheWrite;
  const output = countOf(usage['output_tokens']) ?? 0;
  const thinking = countOf(objectOf(usage['output_tokens_details'])['thinking_tokens']);
  return { prompt, cacheRead, cacheWrite, output, thinking, total: prompt + output };
}
