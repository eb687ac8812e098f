// The clock of the service: never backward, and never held still.

import { expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';

test('a clock that the machine sets back goes on at half speed until it is caught up with', () => {
  let wallMs = 1_000_000;
  let elapsedMs = 0;
  const clock = systemClock(
    () => wallMs,
    () => elapsedMs,
  );
  const pass = (ms: number) => {
    wallMs += ms;
    elapsedMs += ms;
    return clock.nowMs();
  };
  expect(pass(0)).toBe(1_000_000);
  wallMs -= 60_000;
  expect(pass(0)).toBe(1_000_000);
  expect(pass(10_000)).toBe(1_005_000);
  expect(pass(110_000)).toBe(1_060_000);
  expect(pass(1_000)).toBe(1_061_000); // caught up: the machine's own again
});
