// A ledger thread that opens and then dies at its first request. Run by ledger-thread.test.ts.

import { parentPort } from 'node:worker_threads';

parentPort?.on('message', (text: string) => {
  if (!text.includes('"open"')) throw new Error('this thread dies');
  parentPort?.postMessage(JSON.stringify({ opened: true }));
});
