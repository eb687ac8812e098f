// A text's place between 0 and 1: the same everywhere, and spread evenly.

import { expect, test } from 'bun:test';
import { hashText } from '../../src/base/hash-text.ts';

test('a text has one place, which another version must not move', () => {
  expect(hashText('')).toBe(0.7947153489807621);
  expect(hashText('7\nsession\nfirst\nmodel')).toBe(0.10024753671438236);
});

test('texts that differ in little are spread evenly', () => {
  const buckets = new Array(16).fill(0);
  for (let number = 0; number < 16_000; number++) {
    const place = hashText(`key\nsession-${number}`);
    expect(place >= 0 && place < 1).toBe(true);
    buckets[Math.floor(place * 16)]++;
  }
  for (const count of buckets) {
    expect(count).toBeGreaterThan(850);
    expect(count).toBeLessThan(1_150);
  }
});

test('for two ends of one text the places have nothing to do with each other', () => {
  let both = 0;
  for (let number = 0; number < 10_000; number++)
    if (hashText(`${number}\na`) < 0.5 && hashText(`${number}\nb`) < 0.5) both++;
  expect(both).toBeGreaterThan(2_300);
  expect(both).toBeLessThan(2_700);
});
