// What a message used, in tokens, as the Messages protocol counts it: `input` is what was
// neither read from nor written to the cache, `output` includes thinking.

export interface TokenCounts {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
  webSearches: number;
}

export const NO_TOKENS: Readonly<TokenCounts> = Object.freeze({
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  webSearches: 0,
});

/** All tokens of the prompt, however they were cached. */
export function promptTokens(counts: TokenCounts): number {
  return counts.input + counts.cacheRead + counts.cacheWrite5m + counts.cacheWrite1h;
}
