// The tokenizer's thread: counts slices of text, one at a time. It has a lower priority than threads that serve
// messages, but no low one: bills wait for its counts.

import { setPriority } from 'node:os';
import { countSlice, type FromTokenizer, type ToTokenizer, unpackSlice } from './tokenizer/tokenizer.ts';

declare const self: Worker;

const NICENESS = 5;

giveWay();

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

/** Only on Linux, where a priority applies to one thread; elsewhere it would apply to the process. */
function giveWay(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, NICENESS);
  } catch {
    // Not allowed here: counts then compete with messages for the processor.
  }
}
