// The watch over a silent upstream, without waiting: a test looks at the time that it names.

import { expect, test } from 'bun:test';
import { SilenceWatch, SilenceWatches } from '../../src/gateway/silence-watch.ts';

const later = (ms: number) => performance.now() + ms;

function open(boundMs: number) {
  let silences = 0;
  const watch = new SilenceWatch(new SilenceWatches(), boundMs, () => silences++);
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
  const watch = new SilenceWatch(
    new SilenceWatches(),
    60_000,
    () => {},
    () => told++,
  );
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
