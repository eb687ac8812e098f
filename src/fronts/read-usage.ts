// The token counts of a message, for the usage of other protocols.

import { isWholeNumber } from '../base/checked-number.ts';
import { isJsonObject, type JsonObject, type JsonValue, laterCounts, objectOf } from '../wire/wire.ts';

interface Usage {
  /** All tokens of the prompt, cached or not. */
  prompt: number;
  cached: number;
  written: number;
  /** Includes thinking. */
  output: number;
  /** null: unknown. */
  thinking: number | null;
}

export function readUsage(usage: JsonObject): Usage {
  const cached = countOf(usage['cache_read_input_tokens']);
  const written = countOf(usage['cache_creation_input_tokens']);
  const thought = objectOf(usage['output_tokens_details'])['thinking_tokens'];
  return {
    prompt: countOf(usage['input_tokens']) + cached + written,
    cached,
    written,
    output: countOf(usage['output_tokens']),
    thinking: isWholeNumber(thought) ? thought : null,
  };
}

function countOf(value: JsonValue | undefined): number {
  return isWholeNumber(value) ? value : 0;
}

/** Adds later counts of a stream, which are cumulative. A stream may begin with estimates. */
export function addCounts(usage: JsonObject, counts: JsonValue | undefined): void {
  if (isJsonObject(counts)) Object.assign(usage, laterCounts(usage, counts, true));
}
