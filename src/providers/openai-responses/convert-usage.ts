// The provider's count of tokens in the words of the Messages protocol. Its input includes what was read from and
// written to the cache, ours does not. What is absent or cannot be believed stays absent, and is estimated. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';

export function convertUsage(value: JsonValue | undefined): JsonObject {
  const usage = isJsonObject(value) ? value : {};
  const { input_tokens: input, output_tokens: output } = usage;
  const thinking = detail(usage['output_tokens_details'], 'reasoning_tokens');
  const isSaid = output !== 0 || (isCount(input) && input > 0); // zeros alone stand for what is not known
  // Some report the reasoning beside the output: there only the total tells.
  const isBeside =
    thinking !== null && isCount(input) && isCount(output) && usage['total_tokens'] === input + output + thinking;
  return {
    ...inputCounts(input, usage['input_tokens_details']),
    ...(isCount(output) && isSaid && { output_tokens: output + (isBeside ? thinking : 0) }),
    ...(thinking !== null && { output_tokens_details: { thinking_tokens: thinking } }),
  };
}

/** No prompt has no tokens, and none has more in the cache than there are of it. */
function inputCounts(input: JsonValue | undefined, details: JsonValue | undefined): JsonObject {
  if (!isCount(input) || input === 0) return {};
  const cacheRead = Math.min(detail(details, 'cached_tokens') ?? 0, input);
  const cacheWrite = Math.min(detail(details, 'cache_write_tokens') ?? 0, input - cacheRead);
  return {
    input_tokens: input - cacheRead - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
  };
}

function detail(details: JsonValue | undefined, name: string): number | null {
  const value = isJsonObject(details) ? details[name] : undefined;
  return isCount(value) ? value : null;
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
