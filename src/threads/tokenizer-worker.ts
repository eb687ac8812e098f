// The tokenizer's thread: counts slices of text, one at a time. It has a lower priority than threads that serve
// messages, but not the lowest: bills wait for its counts.

import { giveWay } from '../base/give-way.ts';
import { countSlice, type FromTokenizer, type ToTokenizer, unpackSlice } from '../tokenizer/tokenizer.ts';

declare const self: Worker;

const NICENESS = 5;

giveWay(NICENESS);

self.onmessage = async ({ data }: MessageEvent<ToTokenizer>) => {
  try {
    post({ tokens: await countSlice(unpackSlice(data)) });
  } catch (failure) {
    post({ failed: String(failure) });
  }
};

function post(answer: FromTokenizer): void {
  self.postMessage(answer);
}
