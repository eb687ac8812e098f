// Cuts texts into slices that a thread counts in a fraction of a second, so that accounts take turns. Cuts are where any
// vocabulary begins a new piece; only in text without such a place can a cut add a token.

import { bounds } from '../config/config.ts';
import { type Family, SCRIPTS } from './families.ts';
import { loadVocabulary } from './vocabularies.ts';

/** Texts to be counted one by one, and how. */
export interface CountedSlice extends Pick<Family, 'vocabulary' | 'hasSingleDigits' | 'scripts'> {
  readonly texts: readonly string[];
}

/** Slices of at most `tokenizerSliceCharactersMax` characters and `tokenizerSliceTextsMax` texts. */
export function* sliceTexts(texts: readonly string[]): Generator<string[]> {
  const most = bounds.tokenizerSliceCharactersMax;
  let slice: string[] = [];
  let left: number = most;
  for (const text of texts) {
    for (let from = 0; from < text.length; ) {
      const end = text.length - from <= left ? text.length : findCut(text, from, from + left);
      slice.push(text.slice(from, end));
      left -= end - from;
      from = end;
      if (from === text.length && left > 0 && slice.length < bounds.tokenizerSliceTextsMax) break;
      yield slice;
      slice = [];
      left = most;
    }
  }
  if (slice.length > 0) yield slice;
}

const CUT_SEARCH_CHARACTERS = 1_024;

/** The last place at or before `end` where text may be cut; `end` itself if there is none near. */
function findCut(text: string, from: number, end: number): number {
  const least = Math.max(from + 1, end - CUT_SEARCH_CHARACTERS);
  for (let at = end; at >= least; at--) if (isCut(text[at - 1] as string, text[at] as string)) return at;
  return isLowSurrogate(text[end] as string) && end - 1 > from ? end - 1 : end;
}

/** No piece continues from text to a space, or from a letter to anything but a letter, a mark or an apostrophe. */
function isCut(before: string, after: string): boolean {
  if (after === ' ') return /\S/.test(before);
  return /\p{L}/u.test(before) && /[^\p{L}\p{M}']/u.test(after) && !isSurrogate(after);
}

function isLowSurrogate(character: string): boolean {
  return (character.charCodeAt(0) & 0xfc00) === 0xdc00;
}

function isSurrogate(character: string): boolean {
  return (character.charCodeAt(0) & 0xf800) === 0xd800;
}

/** Text of one script, with the spaces and punctuation in it. */
const RUNS = Object.fromEntries(
  SCRIPTS.map((name) => [name, new RegExp(`\\p{Script=${name}}[\\p{Script=${name}}\\p{M}\\p{P}\\s]*`, 'gu')]),
) as Record<(typeof SCRIPTS)[number], RegExp>;
const BEYOND_ASCII = /[^\0-\x7f]/;

/** Not rounded. */
export async function countSlice({ vocabulary, hasSingleDigits, scripts, texts }: CountedSlice): Promise<number> {
  const { countTokens } = await loadVocabulary(vocabulary);
  let tokens = 0;
  for (const text of texts) {
    tokens += countTokens(text);
    if (hasSingleDigits)
      for (const [run] of text.matchAll(/[0-9]{2,}/g)) tokens += run.length - Math.ceil(run.length / 3);
    if (!BEYOND_ASCII.test(text)) continue;
    for (const name of SCRIPTS) {
      const factor = scripts[name];
      if (factor === undefined) continue;
      for (const [run] of text.matchAll(RUNS[name])) tokens += countTokens(run) * (factor - 1);
    }
  }
  return tokens;
}
