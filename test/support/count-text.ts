// The bill for a text that no provider counted.

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { formatUsd } from '../../src/base/money.ts';

/** Tokens of a text for a model whose vocabulary is not known. */
export function countText(text: string): number {
  return countTokens(text);
}

/** The cost of so many tokens, in decimal digits. Prices are in USD per million tokens. */
export function costOf(input: number, inputPrice: number, output: number, outputPrice: number): string {
  return formatUsd(input * inputPrice * 1_000 + output * outputPrice * 1_000);
}
