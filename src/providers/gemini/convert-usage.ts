// Gemini's counts as those of the Messages protocol. Its prompt contains what was read from the cache, its
// candidates do not contain the thoughts. Pure; what is not said is left out, never zero.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';

/** What is known of the prompt, for message_start. */
export function convertInputUsage(metadata: JsonObject): JsonObject {
  const prompt = countOf(metadata, 'promptTokenCount');
  const cached = countOf(metadata, 'cachedContentTokenCount') ?? 0;
  const tools = countOf(metadata, 'toolUsePromptTokenCount') ?? 0;
  // No prompt has no tokens. More from the cache than there was: one of the two is wrong, and neither is believed.
  if (prompt === null || prompt === 0 || cached > prompt) return {};
  return {
    input_tokens: prompt - cached + tools,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
  };
}

/** All of it, of what the last counts say of the whole message. */
export function convertUsage(metadata: JsonObject): JsonObject {
  const output = outputOf(metadata);
  const thoughts = countOf(metadata, 'thoughtsTokenCount');
  return {
    ...convertInputUsage(metadata),
    ...(output !== null && { output_tokens: output }),
    ...(output !== null && thoughts !== null && { output_tokens_details: { thinking_tokens: thoughts } }),
  };
}

/** The tokens of thoughts so far. */
export function thoughtTokens(metadata: JsonObject): number {
  return countOf(metadata, 'thoughtsTokenCount') ?? 0;
}

/** Counts grow from chunk to chunk; one that a chunk leaves out is as it was, unless the total has outgrown it. */
export function mergeUsage(before: JsonObject, metadata: JsonValue | undefined): JsonObject {
  if (!isJsonObject(metadata)) return before;
  const merged = { ...before, ...metadata };
  const hasGrown = (countOf(metadata, 'totalTokenCount') ?? 0) > (countOf(before, 'totalTokenCount') ?? 0);
  if (hasGrown && countOf(metadata, 'candidatesTokenCount') === null) delete merged['candidatesTokenCount'];
  return merged;
}

/** Its JSON leaves out what is zero, so that only the total tells nothing produced from nothing said. */
function outputOf(metadata: JsonObject): number | null {
  const candidates = countOf(metadata, 'candidatesTokenCount');
  const thoughts = countOf(metadata, 'thoughtsTokenCount');
  if (candidates !== null) return candidates + (thoughts ?? 0);
  const prompt = countOf(metadata, 'promptTokenCount');
  const total = countOf(metadata, 'totalTokenCount');
  if (prompt === null || total === null) return null;
  const output = total - prompt - (countOf(metadata, 'toolUsePromptTokenCount') ?? 0);
  return output < (thoughts ?? 0) ? null : output;
}

function countOf(metadata: JsonObject, name: string): number | null {
  const count = metadata[name];
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}
