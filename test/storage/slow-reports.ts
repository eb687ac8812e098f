// A report thread that takes as many milliseconds as the page has rows, and returns the page with the number of
// earlier requests. A page of 666 rows kills it. Run by report-thread.test.ts.

import { heading } from '../../src/storage/sqlite/sqlite.ts';

declare const self: Worker;

let asked = 0;

self.onmessage = ({ data }: MessageEvent<string>) => {
  const message = JSON.parse(data) as { open: object } | { page: { limit: number } };
  if ('open' in message) {
    self.postMessage(heading({ opened: true }));
    return;
  }
  if (message.page.limit === 666) throw new Error('this thread dies');
  Bun.sleepSync(message.page.limit);
  self.postMessage(`${heading({ rows: 1 })}\n${JSON.stringify([{ ...message.page, asked: asked++ }])}`);
};
