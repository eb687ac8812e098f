// Usage as Chat Completions reports it, as Messages usage. There the prompt includes what was cached; here it does
// not, so that nothing is counted twice. A count that cannot be believed is left out, and is estimated by who reads it.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';

/** Members that are known, with those of their details; other numbers are passed on under their own names. */
const KNOWN: readonly string[] = [
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_tokens_details.cached_tokens',
  'prompt_tokens_details.cache_write_tokens',
  'prompt_tokens_details.cache_creation_tokens', // LiteLLM
  'prompt_tokens_details.text_tokens',
  'prompt_tokens_details.image_tokens',
  'completion_tokens_details.reasoning_tokens',
  'completion_tokens_details.text_tokens',
  'completion_tokens_details.accepted_prediction_tokens',
  'completion_tokens_details.rejected_prediction_tokens',
  'prompt_cache_hit_tokens', // DeepSeek
  'prompt_cache_miss_tokens',
  'cached_tokens', // Moonshot
  'num_cached_tokens', // Mistral
  'queue_time', // Groq
  'prompt_time',
  'completion_time',
  'total_time',
  'cost', // OpenRouter: what it charges the operator
  'cost_details.upstream_inference_cost',
  'cost_details.upstream_inference_prompt_cost',
  'cost_details.upstream_inference_completions_cost',
  'cost_in_usd_ticks', // xAI
];

/** What a number beside the known ones must not be called: here the name has a meaning, and what is billed hangs on it. */
const TAKEN =
  /^(?:(?:input|output|cache_\w+_input)_tokens|(?:cache_creation|output_tokens_details|server_tool_use)(?:\..*)?)$/;

/** Null for what reports nothing: no usage at all, or zeros in the place of counts that are not known yet. */
export function convertUsage(value: JsonValue | undefined): JsonObject | null {
  if (!isJsonObject(value)) return null;
  const prompt = readCount(value['prompt_tokens']);
  const completion = readCount(value['completion_tokens']);
  if ((prompt ?? 0) === 0 && (completion ?? 0) === 0) return null; // no prompt has no tokens
  return { ...promptCounts(value, prompt), ...outputCounts(value, prompt, completion), ...unknownNumbers(value) };
}

/** The part that is known when a message begins. */
export function startUsage(usage: JsonObject | null): JsonObject {
  if (usage === null) return {};
  return Object.fromEntries(Object.entries(usage).filter(([name]) => /^(?:input|cache_\w+_input)_tokens$/.test(name)));
}

function promptCounts(usage: JsonObject, prompt: number | null): JsonObject {
  const details = isJsonObject(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  const cached =
    readCount(details['cached_tokens']) ??
    readCount(usage['prompt_cache_hit_tokens']) ??
    readCount(usage['cached_tokens']) ??
    readCount(usage['num_cached_tokens']) ??
    0;
  const written = readCount(details['cache_write_tokens']) ?? readCount(details['cache_creation_tokens']) ?? 0;
  if (prompt === null || prompt === 0) return {};
  // More in the cache than in the prompt cannot be; the whole prompt is the most that can have been there.
  const read = Math.min(cached, prompt);
  const wrote = Math.min(written, prompt - read);
  return {
    input_tokens: prompt - read - wrote,
    cache_creation_input_tokens: wrote,
    cache_read_input_tokens: read,
  };
}

function outputCounts(usage: JsonObject, prompt: number | null, completion: number | null): JsonObject {
  if (completion === null) return {};
  const details = isJsonObject(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {};
  const reasoning = readCount(details['reasoning_tokens']);
  const total = readCount(usage['total_tokens']);
  // Some report the reasoning beside the completion: there only the total tells.
  const isBeside = reasoning !== null && prompt !== null && total === prompt + completion + reasoning;
  return {
    output_tokens: isBeside ? completion + reasoning : completion,
    ...(reasoning !== null && { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}

function readCount(value: JsonValue | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function isTold(name: string): boolean {
  return KNOWN.includes(name) || TAKEN.test(name);
}

/** Numbers that nobody here knows, where they were found: whoever counts the message tells the operator of them. */
function unknownNumbers(usage: JsonObject): JsonObject {
  const found: JsonObject = {};
  for (const [name, value] of Object.entries(usage)) {
    if (typeof value === 'number' && value !== 0 && !isTold(name)) found[name] = value;
    if (!isJsonObject(value)) continue;
    const inner = Object.entries(value).filter(
      ([part, count]) => typeof count === 'number' && count !== 0 && !isTold(`${name}.${part}`),
    );
    if (inner.length > 0) found[name] = Object.fromEntries(inner);
  }
  return found;
}
