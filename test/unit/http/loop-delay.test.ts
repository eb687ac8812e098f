// The event loop counts as late when its delay lasts, not after a single stall.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { LoopDelay } from '../../../src/http/http.ts';

test('one stall, however long, is not a lasting delay', () => {
  const delay = new LoopDelay();
  delay.see(60_000);
  expect(delay.standingMs).toBe(0);
  for (let looks = 0; looks < bounds.loopDelaysSeen; looks++) delay.see(1);
  delay.see(60_000);
  expect(delay.standingMs).toBe(1);
});

test('a delay in all recent measurements is a lasting delay, and ends with the first measurement without one', () => {
  const delay = new LoopDelay();
  for (let looks = 0; looks < bounds.loopDelaysSeen; looks++) delay.see(300 + looks);
  expect(delay.standingMs).toBe(300);
  delay.see(400);
  expect(delay.standingMs).toBe(301);
  delay.see(2);
  expect(delay.standingMs).toBe(2);
});
