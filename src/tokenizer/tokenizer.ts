// The door of the tokenizer: counts the tokens of a text where no provider did. The vocabularies are large, so that only
// a thread has them, and only while they are used.

export { type Family, familyOf, type VocabularyName } from './families.ts';
export { countPromptLocally, type PromptTexts, promptTexts } from './prompt-texts.ts';
export { type CountedSlice, countSlice, sliceTexts } from './slices.ts';
export {
  type CountQuestion,
  type CountResult,
  type EndedCount,
  type SliceCounter,
  TOKEN_COUNT_RESULTS,
  Tokenizer,
} from './token-counter.ts';
export { type FromTokenizer, packSlice, TokenizerThread, type ToTokenizer, unpackSlice } from './tokenizer-thread.ts';
export { loadVocabulary, type Vocabulary } from './vocabularies.ts';
