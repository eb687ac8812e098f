// A thread of reports that takes as many milliseconds as the page has rows, and answers with the page
// and with how many it was asked for before. It dies of a page of 666. Run by report-thread.test.ts.

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
