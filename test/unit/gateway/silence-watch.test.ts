// The watch over a silent upstream, tested without waiting: the times are parameters.

import { expect, test } from 'bun:test';
import { SilenceWatch, SilenceWatches, type WatchBounds, type WatchEvent } from '../../../src/gateway/silence-watch.ts';

const later = (ms: number) => performance.now() + ms;

const BOUNDS = { firstMs: 60_000, silenceMs: 60_000, totalMs: 3_600_000, clientMs: 3_600_000, slowMs: 5_000 };

function open(silenceMs: number, bounds: Partial<WatchBounds> = {}) {
  let silences = 0;
  const watch = new SilenceWatch(
    new SilenceWatches(),
    { ...BOUNDS, silenceMs, ...bounds },
    (event) => (event === 'silent' || event === 'overlong') && silences++,
  );
  return { watch, silences: () => silences };
}

test('only waiting counts as silence, and each wait counts separately', () => {
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

test('a wait after the end of the message is not watched', () => {
  const { watch, silences } = open(60_000);
  watch.close();
  watch.begin();
  watch.look(later(61_000));
  expect(silences()).toBe(0);
});

function openLong() {
  let reported = 0;
  const onEvent = (event: WatchEvent) => event === 'long' && reported++;
  const watch = new SilenceWatch(new SilenceWatches(), BOUNDS, onEvent);
  return { watch, reported: () => reported };
}

test('a long wait is reported once, well before its bound', () => {
  const { watch, reported } = openLong();
  watch.begin();
  watch.look(later(9_000));
  expect(reported()).toBe(0);
  watch.look(later(11_000));
  watch.look(later(20_000));
  expect(reported()).toBe(1);
  watch.close();
});

test('attempts that are fast but take long in total are reported', async () => {
  const { watch, reported } = openLong();
  watch.begin();
  watch.end();
  await Bun.sleep(20);
  watch.begin();
  watch.look(later(9_990));
  expect(reported()).toBe(1);
  watch.close();
});

test('a fast response with a long settlement is reported, and does not count as silence', () => {
  const { watch, reported } = openLong();
  watch.begin();
  watch.finish();
  watch.begin();
  watch.look(later(11_000));
  expect(reported()).toBe(1);
  watch.close();
  const { watch: silent, silences } = open(60_000);
  silent.begin();
  silent.finish();
  silent.look(later(61_000));
  expect(silences()).toBe(0);
  silent.close();
});

test('the first event has its own timeout in each attempt', () => {
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

test('the total time of a response is bounded, even during backpressure, and reported once', () => {
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

test('a slow attempt is reported once; an answered or failed one is not', () => {
  let slow = 0;
  const onEvent = (event: WatchEvent) => event === 'slow' && slow++;
  const watch = new SilenceWatch(new SilenceWatches(), BOUNDS, onEvent);
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

test('the time limit of a stream excludes backpressure', () => {
  const { watch, silences } = open(60_000, { totalMs: 100_000 });
  watch.beginAttempt();
  watch.end();
  watch.pause(later(10_000));
  watch.look(later(500_000));
  watch.resume(later(500_000));
  watch.look(later(580_000));
  expect(silences()).toBe(0);
  watch.look(later(591_000));
  expect(silences()).toBe(1);
  watch.close();
});

test('a stream ends once when the total of its backpressure is too long', () => {
  let late = 0;
  const onEvent = (event: WatchEvent) => event === 'client_slow' && late++;
  const watch = new SilenceWatch(new SilenceWatches(), { ...BOUNDS, clientMs: 100_000 }, onEvent);
  watch.beginAttempt();
  watch.end();
  watch.pause(later(0));
  watch.resume(later(60_000));
  watch.pause(later(70_000));
  watch.look(later(109_000));
  expect(late).toBe(0);
  watch.look(later(111_000));
  watch.look(later(200_000));
  expect(late).toBe(1);
  watch.close();
});

test('after backpressure an upstream counts as delayed until the relay waits for it again', () => {
  const { watch } = open(60_000);
  watch.begin(0);
  watch.end(10);
  watch.pause(20);
  watch.resume(200);
  expect(watch.isBehind).toBe(false); // a short moment is not a pause
  watch.pause(300);
  watch.resume(2_000);
  expect(watch.isBehind).toBe(true);
  watch.begin(2_000);
  watch.end(2_600); // the buffered data is read
  expect(watch.isBehind).toBe(true);
  watch.begin(2_700);
  watch.end(5_200);
  expect(watch.isBehind).toBe(false);
  watch.close();
});
