// A clock that a test sets.

import type { Clock } from '../../src/base/clock.ts';

export function manualClock(startMs: number): Clock & { advance(ms: number): void } {
  let currentMs = startMs;
  return {
    nowMs: () => currentMs,
    advance(ms) {
      currentMs += ms;
    },
  };
}
