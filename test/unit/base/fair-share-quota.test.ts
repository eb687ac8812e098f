// A quota that owners share: no owner is refused while half is free, and no owner locks out the others.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { FairShareQuota } from '../../../src/base/fair-share-quota.ts';

const quotaOf = (max: number) => new FairShareQuota(() => max);

/** How many of `count` single units the owner gets, one after another. */
const takeAll = (quota: FairShareQuota, owner: number, count: number) =>
  Array.from({ length: count }, () => quota.take(owner, 1)).filter((shortage) => shortage === null).length;

test('one owner alone gets half, and the reason for the refusal is its share', () => {
  const quota = quotaOf(100);
  expect(takeAll(quota, 1, 100)).toBe(50);
  expect(quota.take(1, 1)).toBe('share');
  expect(quota.taken).toBe(50);
});

test('other owners get their share beside one that takes all it can', () => {
  const quota = quotaOf(100);
  takeAll(quota, 1, 100);
  expect(takeAll(quota, 2, 100)).toBe(33);
  expect(takeAll(quota, 3, 100)).toBe(17); // the remainder
  expect(quota.take(4, 1)).toBe('full');
});

test('many owners with small amounts are refused only when the quota is full', () => {
  const quota = quotaOf(100);
  for (let owner = 0; owner < 100; owner++) expect(quota.take(owner, 1)).toBeNull();
  expect(quota.take(100, 1)).toBe('full');
});

test('an owner that holds nothing may take all that remains in one piece', () => {
  const quota = quotaOf(100);
  takeAll(quota, 1, 50);
  expect(quota.take(2, 50)).toBeNull();
});

test('a returned amount can be taken again, and an owner that holds nothing is forgotten', () => {
  const quota = quotaOf(10);
  expect(quota.take(1, 5)).toBeNull();
  expect(quota.take(1, 1)).toBe('share');
  quota.giveBack(1, 5);
  quota.giveBack(1, 0);
  expect(quota.taken).toBe(0);
  expect(quota.take(1, 10)).toBeNull();
});

test('taking zero registers no owner and reduces no share', () => {
  const quota = quotaOf(100);
  for (let owner = 10; owner < 40; owner++) {
    expect(quota.take(owner, 0)).toBeNull();
    quota.giveBack(owner, 0);
  }
  expect(takeAll(quota, 1, 100)).toBe(50);
  expect(takeAll(quota, 2, 100)).toBe(33);
});

test('an owner that takes its only piece in parts is not refused midway', () => {
  const quota = quotaOf(100);
  for (let owner = 1; owner <= 5; owner++) quota.take(owner, 12);
  for (let begun = 0; begun < 40; begun += 10) expect(quota.take(9, 10, begun)).toBeNull();
  expect([quota.taken, quota.take(9, 10, 40)]).toEqual([100, 'full']);
  quota.giveBack(9, 40);
  quota.take(9, 10);
  expect(quota.take(9, 10)).toBe('share'); // a second piece
});

test('a lowered bound applies to new amounts only', () => {
  let max = 10;
  const quota = new FairShareQuota(() => max);
  quota.take(1, 5);
  max = 4;
  expect(quota.hasRoomFor(0)).toBe(false);
  expect(quota.take(2, 1)).toBe('full');
  quota.giveBack(1, 5);
  expect(quota.take(2, 1)).toBeNull();
});

test('the sum of taken amounts never exceeds the bound, and is 0 when everything is returned', () => {
  const step = fc.record({ owner: fc.nat(5), amount: fc.integer({ min: 1, max: 40 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const quota = quotaOf(100);
      const taken = steps.filter(({ owner, amount }) => quota.take(owner, amount) === null && quota.taken <= 100);
      expect(quota.taken).toBe(taken.reduce((sum, { amount }) => sum + amount, 0));
      for (const { owner, amount } of taken) quota.giveBack(owner, amount);
      expect(quota.taken).toBe(0);
      expect(quota.take(9, 100)).toBeNull();
    }),
  );
});

test.each([Number.NaN, -1, -0, 0.5, Number.POSITIVE_INFINITY, 2 ** 53])(
  'an amount of %p is neither taken nor returned, and changes nothing',
  (amount) => {
    const quota = quotaOf(100);
    quota.take(1, 10);
    expect(() => quota.take(1, amount)).toThrow('whole number');
    expect(() => quota.giveBack(1, amount)).toThrow('whole number');
    expect(quota.taken).toBe(10);
  },
);

test('no owner returns more than it took', () => {
  const quota = quotaOf(100);
  quota.take(1, 10);
  quota.take(2, 10);
  expect(() => quota.giveBack(1, 11)).toThrow('no more than it took');
  expect(() => quota.giveBack(3, 1)).toThrow('no more than it took');
  expect(quota.taken).toBe(20);
});
