// Tool choices in the words of each protocol, read from clients and written for providers.

import type { JsonValue } from '../wire/wire.ts';

type ChoiceType = 'auto' | 'none' | 'any';

/** Types of `tool_choice` of Messages by a protocol's words; the first one for a type is written. */
type ChoiceWords = Readonly<Record<string, ChoiceType>>;

/** Other services say `any`. */
export const OPENAI_CHOICES: ChoiceWords = { auto: 'auto', none: 'none', required: 'any', any: 'any' };

/** A validated call is one of the model's choice that fits its schema, which every call should. */
export const GEMINI_CHOICES: ChoiceWords = { AUTO: 'auto', NONE: 'none', ANY: 'any', VALIDATED: 'auto' };

/** null for anything but a word of the protocol. */
export function typeOfChoice(word: JsonValue | undefined, words: ChoiceWords): ChoiceType | null {
  return typeof word === 'string' && Object.hasOwn(words, word) ? (words[word] ?? null) : null;
}

/** null for a choice that no word has, such as of one tool. */
export function wordOfChoice(type: JsonValue | undefined, words: ChoiceWords): string | null {
  return Object.keys(words).find((word) => words[word] === type) ?? null;
}
