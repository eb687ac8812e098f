// Answers as the tokenizer's thread does, with the number of words, and dies or hangs at certain texts. It needs no vocabulary, which takes
// most of the time of a start. It has no tests of its own.

import { type FromTokenizer, type ToTokenizer, unpackSlice } from '../../../src/tokenizer/tokenizer.ts';

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<ToTokenizer>) => {
  const { texts } = unpackSlice(data);
  if (texts.includes('die')) process.exit(1);
  if (texts.includes('hang')) for (;;);
  const answer: FromTokenizer = { tokens: texts.join(' ').split(' ').length };
  self.postMessage(answer);
};
