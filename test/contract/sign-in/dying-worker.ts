// The sign-in thread, which dies or hangs when it should end the sessions of certain persons. It has no tests of its
// own.

import '../../../src/threads/sign-in-worker.ts';

declare const self: Worker;

const receive = self.onmessage as (event: MessageEvent<string>) => void;

self.onmessage = (event: MessageEvent<string>) => {
  if (event.data.includes('die@example.com')) process.exit(1);
  if (event.data.includes('hang@example.com')) for (;;);
  receive(event);
};
