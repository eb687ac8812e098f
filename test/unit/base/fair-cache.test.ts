// A cache that owners share: bounded, and no owner evicts what another has within its share.

import { expect, test } from 'bun:test';
import { FairCache } from '../../../src/base/fair-cache.ts';

const keptOf = (cache: FairCache<number, string>, owner: number, keys: number) =>
  Array.from({ length: keys }, (_, key) => key).filter((key) => cache.get(owner, key) !== undefined);

test('one owner may use all of it, and loses its least recent entry beyond', () => {
  const cache = new FairCache<number, string>(3);
  for (const key of [0, 1, 2]) expect(cache.set(1, key, 'x')).toBeNull();
  expect(cache.set(1, 0, 'y')).toBeNull();
  expect(cache.set(1, 3, 'x')).toEqual([1, 'x']);
  expect(keptOf(cache, 1, 4)).toEqual([0, 2, 3]);
  expect(cache.get(1, 0)).toBe('y');
  cache.delete(1, 2);
  expect(cache.set(1, 4, 'x')).toBeNull();
});

test('an owner within its share keeps its entries, however many others set, before and after', () => {
  const cache = new FairCache<number, string>(100);
  for (let key = 0; key < 100; key++) cache.set(1, key, 'x');
  for (let key = 0; key < 10; key++) cache.set(2, key, 'x');
  for (let key = 0; key < 1_000; key++) for (const owner of [1, 3, 4]) cache.set(owner, key, 'x');
  expect(keptOf(cache, 2, 10)).toHaveLength(10);
  const sizes = [1, 3, 4].map((owner) => keptOf(cache, owner, 1_000).length);
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(25);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(90);
});

test('with more owners than entries, a new one still finds room', () => {
  const cache = new FairCache<number, string>(10);
  for (let owner = 0; owner < 100; owner++) {
    cache.set(owner, 0, 'x');
    expect(cache.get(owner, 0)).toBe('x');
  }
  const kept = Array.from({ length: 100 }, (_, owner) => owner).filter((owner) => cache.get(owner, 0) !== undefined);
  expect(kept).toEqual([90, 91, 92, 93, 94, 95, 96, 97, 98, 99]);
});
