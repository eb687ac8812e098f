// The tokenizer's thread, which dies or hangs when it should count certain texts. It has no tests of its own.

import '../../../src/tokenizer-worker.ts';
import { type ToTokenizer, unpackSlice } from '../../../src/tokenizer/tokenizer.ts';

declare const self: Worker;

const receive = self.onmessage as (event: MessageEvent<ToTokenizer>) => void;

self.onmessage = (event: MessageEvent<ToTokenizer>) => {
  const { texts } = unpackSlice(event.data);
  if (texts.includes('die')) process.exit(1);
  if (texts.includes('hang')) for (;;);
  receive(event);
};
