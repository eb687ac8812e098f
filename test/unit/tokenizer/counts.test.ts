// Counts of the tokenizer, compared with the libraries alone, and over texts made to be slow.

import { describe, expect, test } from 'bun:test';
import { getTokenizer } from '@anthropic-ai/tokenizer';
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { bounds } from '../../../src/config/config.ts';
import type { VocabularyName } from '../../../src/tokenizer/families.ts';
import { sliceTexts } from '../../../src/tokenizer/slices.ts';
import { countSlice, familyOf } from '../../../src/tokenizer/tokenizer.ts';
import { inPlaceTokenizer } from '../../support/in-place-tokenizer.ts';
import { textsOfKinds } from './kinds.ts';

const CHARACTERS = bounds.tokenizerSliceCharactersMax + 3_000; // more than a slice

const claude = getTokenizer();

const asText = { disallowedSpecial: new Set<string>() };
const libraries: Readonly<Record<VocabularyName, (text: string) => number>> = {
  o200k: (text) => countO200k(text, asText),
  cl100k: (text) => countCl100k(text, asText),
  claude: (text) => claude.encode(text, 'all').length,
};

async function countWith(vocabulary: VocabularyName, text: string): Promise<number> {
  let tokens = 0;
  for (const texts of sliceTexts([text]))
    tokens += await countSlice({ vocabulary, hasSingleDigits: false, scripts: {}, texts });
  return tokens;
}

describe('the count of a text', () => {
  const kinds = textsOfKinds(20261128, CHARACTERS);
  for (const vocabulary of Object.keys(libraries) as VocabularyName[])
    test(`in slices is the library's count with ${vocabulary}, for each kind of text`, async () => {
      for (const [kind, text] of kinds) {
        const cuts = kind === 'digits' ? Math.ceil(text.length / bounds.tokenizerPieceCharactersMax) : 0; // in one run
        const extra = (await countWith(vocabulary, text)) - libraries[vocabulary](text);
        expect([kind, extra >= 0 && extra <= cuts]).toEqual([kind, true]);
      }
    });

  test('is linear in its length, whatever it repeats', async () => {
    // The library alone takes more than an hour for each.
    for (const run of ['a', 'A', ' ', '\n', '!', '한', '😀', 'é', '\u0301', '1', 'ʰA'])
      expect(await countWith('o200k', run.repeat(400_000))).toBeGreaterThan(1_000);
  });

  test('takes names of special tokens for text', async () => {
    for (const text of ['<|endoftext|>', 'a <|im_start|>user', '<EOT>']) {
      expect(await countWith('o200k', text)).toBe(countO200k(text, asText));
      expect(await countWith('claude', text)).toBeGreaterThan(0);
    }
  });

  test('of half a surrogate pair, or of nothing, is a count', async () => {
    expect(await countWith('o200k', '')).toBe(0);
    expect(await countWith('o200k', '\ud83d a \ude00')).toBeGreaterThan(2);
  });
});

describe('slices', () => {
  test('are bounded in characters and texts, and have every character in order', () => {
    const many = Array.from({ length: 3_000 }, (_, at) => `text ${at}`);
    const texts = ['', ...many, ...textsOfKinds(7, CHARACTERS).values(), '😀'.repeat(CHARACTERS), ''];
    const slices = [...sliceTexts(texts)];
    for (const slice of slices) {
      expect(slice.length).toBeLessThanOrEqual(bounds.tokenizerSliceTextsMax);
      expect(slice.join('').length).toBeLessThanOrEqual(bounds.tokenizerSliceCharactersMax);
      for (const text of slice) expect(text.isWellFormed()).toBe(true);
    }
    expect(slices.flat().join('')).toBe(texts.join(''));
  });
});

describe('the family of a model', () => {
  const CLAUDE = { vocabulary: 'claude', isExact: false, factor: 1.1 };
  const LATER = { vocabulary: 'claude', isExact: false, factor: 1.1 * 1.3 };
  const OWN = { vocabulary: 'o200k', isExact: true, factor: 1, hasSingleDigits: false };
  const NEAREST = { ...OWN, isExact: false };
  const cl100k = { isExact: true, vocabulary: 'cl100k', factor: 1, hasSingleDigits: false };
  test.each([
    ['claude-3-opus-20240229', CLAUDE],
    ['claude-3-5-sonnet-20241022', CLAUDE],
    ['claude-opus-4-20250514', CLAUDE],
    ['claude-opus-4-5-20251101', CLAUDE],
    ['claude-sonnet-4-6', CLAUDE],
    ['us.anthropic.claude-haiku-4-5-20251001-v1:0', CLAUDE],
    ['anthropic/claude-opus-4.6', CLAUDE],
    ['claude-opus-4-7', LATER],
    ['claude-opus-4-8@20260701', LATER],
    ['eu.anthropic.claude-opus-4-10-v1:0', LATER],
    ['anthropic/claude-opus-4.7', LATER],
    ['claude-opus-5', LATER],
    ['claude-sonnet-5-20260801', LATER],
    ['claude-mythos-preview', LATER],
    ['claude-fable-5', LATER],
    ['gpt-5.1', OWN],
    ['gpt-4o-mini', OWN],
    ['gpt-4.1', OWN],
    ['o3-mini', OWN],
    ['openai/o4', OWN],
    ['openai/gpt-oss-120b', OWN],
    ['gpt-4', cl100k],
    ['gpt-4-turbo', cl100k],
    ['gpt-35-turbo', cl100k],
    ['text-embedding-3-large', cl100k],
    ['gemini-3-pro-preview', { vocabulary: 'o200k', factor: 1.03, hasSingleDigits: true }],
    ['Qwen/Qwen3-235B', { vocabulary: 'o200k', hasSingleDigits: true, scripts: { Devanagari: 3.13 } }],
    ['meta-llama/Llama-3.3-70B', { ...NEAREST, scripts: { Hebrew: 2.69 } }],
    ['deepseek-v3.2', { ...NEAREST, scripts: { Greek: 1.53 } }],
    ['deepseek-chat', NEAREST],
    ['sandbox-echo', NEAREST],
    ['solo1', NEAREST],
  ])('of %s', (model, expected) => expect(familyOf(model)).toMatchObject(expected));

  test('has its factor and single digits in a count', async () => {
    const tokenizer = inPlaceTokenizer();
    const count = (model: string, text: string) => tokenizer.count({ account: 1, model, texts: [text] });
    const text = 'The answer is good. '.repeat(100);
    const tokens = libraries.claude(text);
    expect(await count('claude-sonnet-4-5', text)).toBe(Math.round(tokens * 1.1));
    expect(await count('claude-opus-5', text)).toBe(Math.round(tokens * 1.1 * 1.3));
    expect([await count('gpt-4o', '1234567'), await count('qwen3', '1234567, 1')]).toEqual([3, 10]);
  });

  test('has its factors of scripts in a count, each for the text in it', async () => {
    const tokenizer = inPlaceTokenizer();
    const count = (model: string, text: string) => tokenizer.count({ account: 1, model, texts: [text] });
    const [english, hindi] = ['The answer is good. '.repeat(50), 'भारत में बारिश होती है। '.repeat(50)];
    const tokens = (text: string) => libraries.o200k(text);
    expect(await count('gpt-4o', english + hindi)).toBe(tokens(english + hindi));
    expect(await count('qwen3-max', english)).toBe(tokens(english));
    expect(await count('qwen3-max', hindi)).toBe(Math.round(tokens(hindi) * 3.13));
    expect(await count('qwen3-max', english + hindi)).toBe(Math.round(tokens(english + hindi) + tokens(hindi) * 2.13));
    expect(await count('llama-4-scout', '국'.repeat(100))).toBe(Math.round(tokens('국'.repeat(100)) * 1.07));
  });
});
