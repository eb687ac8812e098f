// Token counts: what is written for a client of a protocol is read back from a provider of it.

import { expect, test } from 'bun:test';
import {
  CHAT_COUNTS,
  CONVERSE_COUNTS,
  GEMINI_COUNTS,
  RESPONSES_COUNTS,
  readCounts,
  writeCounts,
} from '../../../src/protocols/token-counts.ts';

const NONE = {
  prompt: null,
  tools: null,
  cacheRead: null,
  cacheWrite: null,
  output: null,
  thinking: null,
  soundInput: null,
  soundOutput: null,
  total: null,
};
const NAMES = Object.keys(NONE) as (keyof typeof NONE)[];

test.each([
  ['Chat Completions', CHAT_COUNTS],
  ['Responses', RESPONSES_COUNTS],
  ['Gemini', GEMINI_COUNTS],
  ['Converse', CONVERSE_COUNTS],
])('each set of counts of %s is written and read back, zeros and unknown ones, too', (_protocol, words) => {
  const known = NAMES.filter((name) => name in words);
  for (let set = 0; set < 2 ** known.length; set++) {
    const given = known.filter((_, place) => (set >> place) % 2 === 1);
    const counts = { ...NONE, ...Object.fromEntries(given.map((name, place) => [name, place * 7])) };
    const usage = writeCounts(counts, words);
    expect(readCounts(usage, words, true)).toEqual({ ...counts, others: {} });
    expect(writeCounts(readCounts(usage, words, true), words)).toEqual(usage);
  }
});
