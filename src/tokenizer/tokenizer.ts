// The door of the tokenizer: counts the tokens of a text where no provider did. The vocabularies are large, so that only
// a thread has them, and only while they are used.

export { familyOf } from './families.ts';
export { countPromptLocally } from './prompt-texts.ts';
export { countSlice } from './slices.ts';
export { type EndedCount, TOKEN_COUNT_RESULTS, Tokenizer } from './token-counter.ts';
export { type FromTokenizer, TokenizerThread, type ToTokenizer, unpackSlice } from './tokenizer-thread.ts';
