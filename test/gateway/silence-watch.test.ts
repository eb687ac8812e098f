// The watch over a silent upstream, without waiting: a test looks at the time that it names.

import { expect, test } from 'bun:test';
import { SilenceWatch, SilenceWatches, type WatchBounds } from '../../src/gateway/silence-watch.ts';

const later = (ms: number) => performance.now() + ms;

const BOUNDS = { firstMs: 60_000, silenceMs: 60_000, totalMs: 3_600_000, slowMs: 5_000 };

function open(silenceMs: number, bounds: Partial<WatchBounds> = {}) {
  let silences = 0;
  const hooks = { onLate: () => silences++ };
  const watch = new SilenceWatch(new SilenceWatches(), { ...BOUNDS, silenceMs, ...bounds }, hooks);
  return { watch, silences: () => silences };
}

test('only a wait is silence, and each wait counts for itself', () => {
  const { watch, silences } = open(60_000);
  watch.look(later(100_000));
  expect(silences()).toBe(0);
  watch.begin();
  watch.look(later(59_000));
  expect(silences()).toBe(0);
  watch.look(later(61_000));
  watch.look(later(200_000));
  expect(silences()).toBe(1);
  watch.begin();
  watch.end();
  watch.look(later(61_000));
  expect(silences()).toBe(1);
  watch.begin();
  watch.look(later(61_000));
  expect(silences()).toBe(2);
  watch.close();
});

test('a wait that begins when the message has ended is watched by nobody', () => {
  const { watch, silences } = open(60_000);
  watch.close();
  watch.begin();
  watch.look(later(61_000));
  expect(silences()).toBe(0);
});

function openLong() {
  let told = 0;
  const hooks = { onLate: () => {}, onLong: () => told++ };
  const watch = new SilenceWatch(new SilenceWatches(), BOUNDS, hooks);
  return { watch, told: () => told };
}

test('a wait that lasts is told of once, well before its bound', () => {
  const { watch, told } = openLong();
  watch.begin();
  watch.look(later(9_000));
  expect(told()).toBe(0);
  watch.look(later(11_000));
  watch.look(later(20_000));
  expect(told()).toBe(1);
  watch.close();
});

test('quick attempts that together take long are told of', async () => {
  const { watch, told } = openLong();
  watch.begin();
  watch.end();
  await Bun.sleep(20);
  watch.begin();
  watch.look(later(9_990));
  expect(told()).toBe(1);
  watch.close();
});

test('an answer that came quickly and waits long to be billed is told of, and is no silence', () => {
  const { watch, told } = openLong();
  watch.begin();
  watch.finish();
  watch.begin();
  watch.look(later(11_000));
  expect(told()).toBe(1);
  watch.close();
  const { watch: silent, silences } = open(60_000);
  silent.begin();
  silent.finish();
  silent.look(later(61_000));
  expect(silences()).toBe(0);
  silent.close();
});

test('the first event has a bound of its own, at each attempt anew', () => {
  const { watch, silences } = open(10_000, { firstMs: 30_000 });
  watch.beginAttempt();
  watch.look(later(29_000));
  expect(silences()).toBe(0);
  watch.look(later(31_000));
  expect(silences()).toBe(1);
  watch.beginAttempt();
  watch.look(later(29_000));
  watch.end();
  watch.begin();
  watch.look(later(9_000));
  expect(silences()).toBe(1);
  watch.look(later(11_000));
  expect(silences()).toBe(2);
  watch.beginAttempt();
  watch.look(later(29_000));
  expect(silences()).toBe(2);
  watch.close();
});

test('the whole of an answer is bounded, also while nobody waits for it, and once', () => {
  const { watch, silences } = open(10_000, { totalMs: 100_000 });
  watch.beginAttempt();
  watch.end();
  watch.look(later(99_000));
  expect(silences()).toBe(0);
  watch.look(later(101_000));
  watch.look(later(300_000));
  expect(silences()).toBe(1);
  watch.close();
});

test('an attempt that is slow to answer is told of once; one that has answered or failed is not', () => {
  let slow = 0;
  const hooks = { onLate: () => {}, onSlow: () => slow++ };
  const watch = new SilenceWatch(new SilenceWatches(), BOUNDS, hooks);
  watch.beginAttempt();
  watch.look(later(4_000));
  expect(slow).toBe(0);
  watch.look(later(6_000));
  watch.look(later(7_000));
  expect(slow).toBe(1);
  watch.beginAttempt();
  watch.look(later(6_000));
  expect(slow).toBe(2);
  watch.beginAttempt();
  watch.end();
  watch.begin();
  watch.look(later(6_000));
  watch.beginAttempt();
  watch.endAttempt();
  watch.look(later(6_000));
  expect(slow).toBe(2);
  watch.close();
});
