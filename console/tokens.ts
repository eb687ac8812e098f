// The kinds of tokens that every tile, row, chart and statement counts: input that is not cached, cached input, output.

import { formatCount } from './figures.ts';

export interface TokenCounts {
  input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
  output_tokens: number;
}

export interface TokenSplit {
  /** Without cached input. */
  input: number;
  /** Read from the prompt cache and written to it. */
  cached: number;
  output: number;
}

export const tokenKinds = [
  { name: 'input', label: 'Input', title: 'Input tokens without cached ones', color: 'blue.6' },
  { name: 'cached', label: 'Cached', title: 'Input tokens read from the cache or written to it', color: 'cyan.4' },
  { name: 'output', label: 'Output', title: 'Output tokens', color: 'orange.6' },
] as const satisfies readonly { name: keyof TokenSplit; label: string; title: string; color: string }[];

export function splitTokens(counts: TokenCounts): TokenSplit {
  return {
    input: counts.input_tokens,
    cached: counts.cache_read_input_tokens + counts.cache_creation_input_tokens,
    output: counts.output_tokens,
  };
}

export function sumTokens({ input, cached, output }: TokenSplit): number {
  return input + cached + output;
}

/** "1,200 input · 300 cached · 500 output". */
export function tokensText(split: TokenSplit, format: (count: number) => string = formatCount): string {
  return tokenKinds.map(({ name, label }) => `${format(split[name])} ${label.toLowerCase()}`).join(' · ');
}
