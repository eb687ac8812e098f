// The tokenizer without its thread, for gateways that tests assemble. Its counts take no time of the machine once the
// vocabularies are loaded, so that virtual time can pass over them.

import type { VocabularyName } from '../../src/tokenizer/families.ts';
import { countSlice, Tokenizer } from '../../src/tokenizer/tokenizer.ts';
import { loadVocabulary } from '../../src/tokenizer/vocabularies.ts';

export function inPlaceTokenizer(): Tokenizer {
  return new Tokenizer({ count: countSlice, close() {} });
}

const vocabularies: readonly VocabularyName[] = ['o200k', 'cl100k', 'claude'];

/** Before time is virtual: a count that must load its vocabulary waits for the machine. */
export async function loadVocabularies(): Promise<void> {
  for (const name of vocabularies) await loadVocabulary(name);
}
