// The provider's count of tokens in the words of the Messages protocol. Its input includes what was read from and
// written to the cache, ours does not. What is absent or no count stays absent. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';

export function convertUsage(value: JsonValue | undefined): JsonObject {
  const usage = isJsonObject(value) ? value : {};
  const { input_tokens: input, output_tokens: output } = usage;
  const cacheRead = detail(usage['input_tokens_details'], 'cached_tokens') ?? 0;
  const cacheWrite = detail(usage['input_tokens_details'], 'cache_write_tokens') ?? 0;
  const thinking = detail(usage['output_tokens_details'], 'reasoning_tokens');
  return {
    ...(isCount(input) && {
      input_tokens: Math.max(0, input - cacheRead - cacheWrite),
      cache_creation_input_tokens: cacheWrite,
      cache_read_input_tokens: cacheRead,
    }),
    ...(isCount(output) && { output_tokens: output }),
    ...(thinking !== null && { output_tokens_details: { thinking_tokens: thinking } }),
  };
}

function detail(details: JsonValue | undefined, name: string): number | null {
  const value = isJsonObject(details) ? details[name] : undefined;
  return isCount(value) ? value : null;
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
