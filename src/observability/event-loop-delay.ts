// How late the event loop is: a timer that looks how much later than asked for it was called. A
// message that comes meanwhile waits as long.

import { bounds } from '../config.ts';

/** Observes the delay in seconds until the returned function is called. */
export function watchEventLoop(observe: (seconds: number) => void): () => void {
  let dueMs = performance.now() + bounds.eventLoopSampleMs;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    observe(Math.max(0, nowMs - dueMs) / 1000);
    dueMs = nowMs + bounds.eventLoopSampleMs;
  }, bounds.eventLoopSampleMs);
  timer.unref();
  return () => clearInterval(timer);
}
