// The report thread: reads over a read-only connection of its own. Reports may take long, so this thread has a lower
// priority than every other thread.

import { giveWay } from '../base/give-way.ts';
import {
  answerReport,
  heading,
  openForReading,
  type ReportReads,
  reportReads,
  type ToReports,
} from '../storage/sqlite/sqlite.ts';

declare const self: Worker;

const NICENESS = 19;

let reads: ReportReads | null = null;

giveWay(NICENESS);

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
