// Waits that share a timer end in their order, each after its own length.

import { expect, test } from 'bun:test';
import { EqualWaits } from '../../../src/base/timers.ts';

const waitFor = (onEnd: () => void) => ({ endMs: 0, onEnd });

test('each wait ends once, in the order of their beginning, and a cancelled one never', async () => {
  const waits = new EqualWaits(5);
  const ended: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancelled = waitFor(() => ended.push('cancelled'));
  waits.begin(waitFor(() => ended.push('first')));
  waits.begin(cancelled);
  waits.begin(waitFor(() => ended.push('second')));
  waits.cancel(cancelled);
  await Bun.sleep(1);
  waits.begin(waitFor(resolve));
  await promise;
  expect(ended).toEqual(['first', 'second']);
});

test('a wait that begins after all others have ended is timed again', async () => {
  const waits = new EqualWaits(1);
  for (let round = 0; round < 3; round++) await new Promise<void>((resolve) => waits.begin(waitFor(resolve)));
});

test('a wait does not end before its length', async () => {
  const waits = new EqualWaits(20);
  const startMs = performance.now();
  const cancelled = waitFor(() => {});
  waits.begin(cancelled);
  waits.cancel(cancelled);
  await Bun.sleep(10);
  const beganMs = performance.now();
  await new Promise<void>((resolve) => waits.begin(waitFor(resolve)));
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(20);
  expect(beganMs).toBeGreaterThan(startMs);
});
