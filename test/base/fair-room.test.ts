// Room that owners share: nobody is refused while there is plenty, and nobody shuts out the others.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { FairRoom } from '../../src/base/fair-room.ts';

const roomOf = (max: number) => new FairRoom(() => max);

/** How many of so many the owner gets, one after the other. */
const takeAll = (room: FairRoom, owner: number, count: number) =>
  Array.from({ length: count }, () => room.take(owner, 1)).filter((shortage) => shortage === null).length;

test('one owner alone gets half, and is told that it is the share that is short', () => {
  const room = roomOf(100);
  expect(takeAll(room, 1, 100)).toBe(50);
  expect(room.take(1, 1)).toBe('share');
  expect(room.taken).toBe(50);
});

test('whoever comes beside one that floods gets its share too', () => {
  const room = roomOf(100);
  takeAll(room, 1, 100);
  expect(takeAll(room, 2, 100)).toBe(33);
  expect(takeAll(room, 3, 100)).toBe(17); // what was left
  expect(room.take(4, 1)).toBe('full');
});

test('of many that take little none is refused before it is full', () => {
  const room = roomOf(100);
  for (let owner = 0; owner < 100; owner++) expect(room.take(owner, 1)).toBeNull();
  expect(room.take(100, 1)).toBe('full');
});

test('who has nothing yet may take what is left in one piece', () => {
  const room = roomOf(100);
  takeAll(room, 1, 50);
  expect(room.take(2, 50)).toBeNull();
});

test('what is given back can be taken again, and an owner that has nothing is forgotten', () => {
  const room = roomOf(10);
  expect(room.take(1, 5)).toBeNull();
  expect(room.take(1, 1)).toBe('share');
  room.giveBack(1, 5);
  room.giveBack(1, 0);
  expect(room.taken).toBe(0);
  expect(room.take(1, 10)).toBeNull();
});

test('who takes nothing is no owner: nobody gets less for it', () => {
  const room = roomOf(100);
  for (let owner = 10; owner < 40; owner++) {
    expect(room.take(owner, 0)).toBeNull();
    room.giveBack(owner, 0);
  }
  expect(takeAll(room, 1, 100)).toBe(50);
  expect(takeAll(room, 2, 100)).toBe(33);
});

test('what is taken piece by piece is one thing: who has nothing else is not refused in the midst of it', () => {
  const room = roomOf(100);
  for (let owner = 1; owner <= 5; owner++) room.take(owner, 12);
  for (let begun = 0; begun < 40; begun += 10) expect(room.take(9, 10, begun)).toBeNull();
  expect([room.taken, room.take(9, 10, 40)]).toEqual([100, 'full']);
  room.giveBack(9, 40);
  room.take(9, 10);
  expect(room.take(9, 10)).toBe('share'); // another thing beside the first
});

test('a lowered bound counts from then on; what is taken stays', () => {
  let max = 10;
  const room = new FairRoom(() => max);
  room.take(1, 5);
  max = 4;
  expect(room.hasRoomFor(0)).toBe(false);
  expect(room.take(2, 1)).toBe('full');
  room.giveBack(1, 5);
  expect(room.take(2, 1)).toBeNull();
});

test('whatever is taken and given back, the sum is never above the bound and ends at nothing', () => {
  const step = fc.record({ owner: fc.nat(5), amount: fc.integer({ min: 1, max: 40 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const room = roomOf(100);
      const taken = steps.filter(({ owner, amount }) => room.take(owner, amount) === null && room.taken <= 100);
      expect(room.taken).toBe(taken.reduce((sum, { amount }) => sum + amount, 0));
      for (const { owner, amount } of taken) room.giveBack(owner, amount);
      expect(room.taken).toBe(0);
      expect(room.take(9, 100)).toBeNull();
    }),
  );
});
