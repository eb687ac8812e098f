// The reports' thread: composes their reads over a connection of its own that never writes. What is
// asked here may take a while, and must not disturb the messages: it gives way to every other thread.

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

/** On Linux a priority is a thread's; elsewhere it would be the whole process's, so nothing is done there. */
function giveWay(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, NICENESS);
  } catch {
    // Not allowed here: then reports compete with messages for the processor, and nothing else changes.
  }
}
