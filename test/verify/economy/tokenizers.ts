// Tokenizers of the providers. Each gives the tokens of any beginning of an answer, and of any part of a prompt.

import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { type Text, type TextKind, textKinds, writePiece } from './texts.ts';

export interface Tokenizer {
  /** The tokens of the first bytes of a piece; not rounded. */
  tokens(kind: TextKind, bytes: number): number;
}

/** Tokens per byte of each kind. */
function byRates(rates: Readonly<Record<TextKind, number>>): Tokenizer {
  return { tokens: (kind, bytes) => rates[kind] * bytes };
}

function everyByte(rate: number): Tokenizer {
  const rates = Object.fromEntries(textKinds.map((kind) => [kind, rate])) as Record<TextKind, number>;
  return byRates(rates);
}

const STEP_BYTES = 240; // a multiple of each character's size
const BLOCK_BYTES = 17 * STEP_BYTES;

/** A vendor's own vocabulary. A text is counted in blocks: each is as the first of its kind. */
class Vocabulary implements Tokenizer {
  readonly #counted = new Map<TextKind, number[]>();

  tokens(kind: TextKind, bytes: number): number {
    const counted = this.#counted.get(kind) ?? this.#count(kind);
    const ofBlocks = Math.floor(bytes / BLOCK_BYTES) * (counted.at(-1) as number);
    const rest = (bytes % BLOCK_BYTES) / STEP_BYTES;
    const before = counted[Math.floor(rest)] as number;
    const after = counted[Math.ceil(rest)] as number;
    return ofBlocks + before + (after - before) * (rest % 1);
  }

  /** The tokens of the first steps of a block, by their number. */
  #count(kind: TextKind): number[] {
    const counted = [];
    for (let bytes = 0; bytes <= BLOCK_BYTES; bytes += STEP_BYTES)
      counted.push(encode(writePiece(kind, 0, bytes)).length);
    this.#counted.set(kind, counted);
    return counted;
  }
}

export const tokenizers = {
  quarters: everyByte(0.25),
  kinds: byRates({ prose: 0.24, code: 0.3, cjk: 0.3, letters: 0.6, digits: 0.5, spaces: 0.02 }),
  bytes: everyByte(1),
  vendor: new Vocabulary(),
} as const satisfies Record<string, Tokenizer>;

/** The tokens of the text's first bytes, or of all of it; not rounded. */
export function countTokens(tokenizer: Tokenizer, text: Text, bytesMax = Number.POSITIVE_INFINITY): number {
  let tokens = 0;
  let left = bytesMax;
  for (const [kind, bytes] of text) {
    if (left <= 0) break;
    tokens += tokenizer.tokens(kind, Math.min(left, bytes));
    left -= bytes;
  }
  return tokens;
}

/** The bytes of the text's beginning that has at most so many tokens. */
export function bytesWithin(tokenizer: Tokenizer, text: Text, tokensMax: number): number {
  let bytes = 0;
  let left = tokensMax;
  for (const [kind, most] of text) {
    const tokens = tokenizer.tokens(kind, most);
    if (tokens > left) return bytes + fitting(tokenizer, kind, most, left);
    bytes += most;
    left -= tokens;
  }
  return bytes;
}

function fitting(tokenizer: Tokenizer, kind: TextKind, bytesMax: number, tokensMax: number): number {
  let [least, most] = [0, bytesMax]; // what fits, and what does not
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2);
    if (tokenizer.tokens(kind, middle) <= tokensMax) least = middle;
    else most = middle;
  }
  return least;
}
