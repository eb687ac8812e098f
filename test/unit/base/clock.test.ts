// The clock never goes backward and never stands still; periods are UTC and weeks start on Monday.

import { expect, test } from 'bun:test';
import { type Period, periodEndMs, periodStartMs, systemClock } from '../../../src/base/clock.ts';

test('after the machine’s clock was set back, a clock runs at half speed until the machine catches up', () => {
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
  expect(pass(1_000)).toBe(1_061_000); // the machine has caught up
});

const PERIODS: [period: Period, startMs: number, endMs: number][] = [
  ['day', Date.UTC(2026, 10, 18), Date.UTC(2026, 10, 19)],
  ['day', Date.UTC(2028, 1, 29), Date.UTC(2028, 2, 1)],
  ['week', Date.UTC(2026, 10, 16), Date.UTC(2026, 10, 23)],
  ['week', Date.UTC(2026, 11, 28), Date.UTC(2027, 0, 4)],
  ['month', Date.UTC(2026, 10, 1), Date.UTC(2026, 11, 1)],
  ['month', Date.UTC(2026, 11, 1), Date.UTC(2027, 0, 1)],
  ['month', Date.UTC(2028, 1, 1), Date.UTC(2028, 2, 1)],
];

for (const [period, startMs, endMs] of PERIODS) {
  test(`the ${period} from ${new Date(startMs).toISOString()} contains its first millisecond and its last`, () => {
    for (const atMs of [startMs, startMs + 1, endMs - 1])
      expect([periodStartMs(period, atMs), periodEndMs(period, atMs)]).toEqual([startMs, endMs]);
    expect(periodStartMs(period, endMs)).toBe(endMs);
    expect(periodEndMs(period, startMs - 1)).toBe(startMs);
  });
}

test('the total period never ends', () => {
  expect([periodStartMs('total', 1_000_000), periodEndMs('total', 1_000_000)]).toEqual([0, null]);
});
