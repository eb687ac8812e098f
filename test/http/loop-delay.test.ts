// What counts as a late event loop: a delay that stands, not one that was.

import { expect, test } from 'bun:test';
import { bounds } from '../../src/config.ts';
import { LoopDelay } from '../../src/http/http.ts';

test('one stall, however long, is no standing delay', () => {
  const delay = new LoopDelay();
  delay.see(60_000);
  expect(delay.standingMs).toBe(0);
  for (let looks = 0; looks < bounds.loopDelaysSeen; looks++) delay.see(1);
  delay.see(60_000);
  expect(delay.standingMs).toBe(1);
});

test('a delay in all of the last looks stands, and is over with the first look that is in time', () => {
  const delay = new LoopDelay();
  for (let looks = 0; looks < bounds.loopDelaysSeen; looks++) delay.see(300 + looks);
  expect(delay.standingMs).toBe(300);
  delay.see(400);
  expect(delay.standingMs).toBe(301);
  delay.see(2);
  expect(delay.standingMs).toBe(2);
});
