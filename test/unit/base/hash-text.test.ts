// The hash of a text: the same everywhere, and evenly spread.

import { expect, test } from 'bun:test';
import { hashText } from '../../../src/base/hash-text.ts';

test('the hash of a text never changes between versions', () => {
  expect(hashText('')).toBe(0.7947153489807621);
  expect(hashText('7\nsession\nfirst\nmodel')).toBe(0.10024753671438236);
});

test('similar texts are spread evenly', () => {
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

test('hashes of texts with a common prefix are independent', () => {
  let both = 0;
  for (let number = 0; number < 10_000; number++)
    if (hashText(`${number}\na`) < 0.5 && hashText(`${number}\nb`) < 0.5) both++;
  expect(both).toBeGreaterThan(2_300);
  expect(both).toBeLessThan(2_700);
});
