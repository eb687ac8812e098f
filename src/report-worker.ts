// The report thread: reads over a read-only connection of its own. Reports may take long, so this thread has a lower
// priority than every other thread.

import { setPriority } from 'node:os';
import {
  answerReport,
  heading,
  openForReading,
  type ReportReads,
  reportReads,
  type ToReports,
} from './storage/sqlite/sqlite.ts';

declare const self: Worker;

const NICENESS = 19;

let reads: ReportReads | null = null;

giveWay();

self.onmessage = async ({ data }: MessageEvent<string>) => {
  const message = JSON.parse(data) as ToReports;
  if ('open' in message) open(message.open.path);
  else self.postMessage(await answerReport(reads as ReportReads, message));
};

function open(path: string): void {
  try {
    reads = reportReads(openForReading(path));
    self.postMessage(heading({ opened: true }));
  } catch (failure) {
    self.postMessage(heading({ failed: `the database ${path} cannot be opened for reports: ${String(failure)}` }));
  }
}

/** Only on Linux, where a priority applies to one thread; elsewhere it would apply to the process. */
function giveWay(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, NICENESS);
  } catch {
    // Not allowed here: reports then compete with messages for the processor.
  }
}
