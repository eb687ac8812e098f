// What a message used, as Chat Completions reports it: there the prompt includes what was read from the cache and
// written to it.

import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';

/** The usage of an answer, from that of a message. */
export function convertUsage(usage: JsonObject): JsonObject {
  const cached = countOf(usage['cache_read_input_tokens']);
  const written = countOf(usage['cache_creation_input_tokens']);
  const prompt = countOf(usage['input_tokens']) + cached + written;
  const completion = countOf(usage['output_tokens']);
  const { output_tokens_details: details } = usage;
  const thought = isJsonObject(details) ? details['thinking_tokens'] : null;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    ...(typeof thought === 'number' && { completion_tokens_details: { reasoning_tokens: thought } }),
  };
}

function countOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}
