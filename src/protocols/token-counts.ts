// The token counts of an answer in the words of each protocol: read from providers, and written for clients.

import { isWholeNumber } from '../base/checked-number.ts';
import { type JsonObject, type JsonValue, jsonObjects, objectOf } from '../wire/wire.ts';

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
  /** Tokens of sound in the prompt and in the output, which include them. */
  soundInput: number | null;
  soundOutput: number | null;
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
  soundInput: ['prompt_tokens_details', 'audio_tokens'],
  thinking: ['completion_tokens_details', 'reasoning_tokens'],
  soundOutput: ['completion_tokens_details', 'audio_tokens'],
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

/** The counts of a usage in these words. Without `hasSound`, the request has nothing to do with sound: none is counted. */
export function readCounts(usage: JsonObject, words: CountWords, hasSound = false): ReportedCounts {
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
    soundInput: hasSound ? count('soundInput') : null,
    soundOutput: hasSound ? count('soundOutput') : null,
    total: count('total'),
    others: {},
  };
}

/** The counts of a `usageMetadata`, whose tokens of sound are in lists by modality. */
export function readGeminiCounts(metadata: JsonObject, hasSound: boolean): ReportedCounts {
  const counts = readCounts(metadata, GEMINI_COUNTS);
  if (!hasSound) return counts;
  const soundIn = (list: JsonValue | undefined): number | null => {
    const found = jsonObjects(list).filter(({ modality }) => modality === 'AUDIO');
    return found.length === 0 ? null : found.reduce((sum, { tokenCount }) => sum + (countOf(tokenCount) ?? 0), 0);
  };
  const all = soundIn(metadata['promptTokensDetails']);
  const cached = soundIn(metadata['cacheTokensDetails']) ?? 0;
  return { ...counts, soundInput: all === null ? null : Math.max(0, all - cached) };
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

type MaybeCount = 'thinking' | 'soundInput' | 'soundOutput';

interface MessageCounts
  extends Record<Exclude<Count, 'tools' | MaybeCount>, number>,
    Record<MaybeCount, number | null> {}

/** The counts of a message's usage: unknown ones are zero, but for thinking and sound. */
export function countsOfMessage(usage: JsonObject): MessageCounts {
  const cacheRead = countOf(usage['cache_read_input_tokens']) ?? 0;
  const cacheWrite = countOf(usage['cache_creation_input_tokens']) ?? 0;
  const prompt = (countOf(usage['input_tokens']) ?? 0) + cacheRead + cacheWrite;
  const output = countOf(usage['output_tokens']) ?? 0;
  const ofOutput = objectOf(usage['output_tokens_details']);
  return {
    prompt,
    cacheRead,
    cacheWrite,
    output,
    thinking: countOf(ofOutput['thinking_tokens']),
    soundInput: countOf(objectOf(usage['input_tokens_details'])['audio_tokens']),
    soundOutput: countOf(ofOutput['audio_tokens']),
    total: prompt + output,
  };
}
