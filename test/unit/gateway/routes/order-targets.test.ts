// The order of targets: healthy before unhealthy, priorities, weights, and conversations that keep their target.

import { expect, test } from 'bun:test';
import { hashText } from '../../../../src/base/hash-text.ts';
import type { BreakerState, Target } from '../../../../src/gateway/route-health.ts';
import { orderTargets } from '../../../../src/gateway/targets.ts';
import { makeTarget } from './make-target.ts';

interface Terms {
  drawOf?: (target: string) => number;
  kept?: string | null;
  breakerStates?: Record<string, BreakerState>;
  waits?: Record<string, number>;
}

function order(
  targets: Target[],
  { drawOf = () => 0.5, kept = null, breakerStates = {}, waits = {} }: Terms = {},
): string {
  const health = {
    breakerState: ({ healthKey }: Target) => breakerStates[healthKey] ?? 'ready',
    waitMs: ({ healthKey }: Target) => waits[healthKey] ?? 0,
  };
  return orderTargets(targets, { health, drawOf, kept })
    .map(({ healthKey }) => healthKey)
    .join(' ');
}

test('routes with a lower priority number come first, whatever the random number', () => {
  const from = [makeTarget('c', { priority: 2, weight: 9 }), makeTarget('a'), makeTarget('b', { priority: 1 })];
  for (const lot of [0, 0.5, 0.999]) expect(order(from, { drawOf: () => lot })).toBe('a b c');
});

test('each target is first in proportion to its weight, also among the remaining ones', () => {
  const from = [makeTarget('a', { weight: 5 }), makeTarget('b', { weight: 3 }), makeTarget('c', { weight: 2 })];
  const counts = new Map<string, number>();
  for (let session = 0; session < 10_000; session++) {
    const [first, second] = order(from, { drawOf: (target) => hashText(`${session} ${target}`) }).split(' ');
    counts.set(`${first}`, (counts.get(`${first}`) ?? 0) + 1);
    if (first === 'a') counts.set(`a ${second}`, (counts.get(`a ${second}`) ?? 0) + 1);
  }
  const near = (name: string, count: number) => expect(Math.abs((counts.get(name) ?? 0) - count)).toBeLessThan(200);
  near('a', 5_000);
  near('b', 3_000);
  near('c', 2_000);
  near('a b', 3_000);
});

test('a session keeps its target when others are added or removed', () => {
  const all = ['a', 'b', 'c', 'd'].map((name) => makeTarget(name));
  for (let session = 0; session < 500; session++) {
    const drawOf = (target: string) => hashText(`${session} ${target}`);
    const whole = order(all, { drawOf }).split(' ');
    const left = all.filter(({ healthKey }) => healthKey !== whole[3]);
    expect(order(left, { drawOf })).toBe(whole.slice(0, 3).join(' '));
  }
});

test('routes of weight 0 come last within their priority', () => {
  const from = [makeTarget('spare', { weight: 0 }), makeTarget('a'), makeTarget('later', { priority: 1 })];
  for (const lot of [0, 0.999]) expect(order(from, { drawOf: () => lot })).toBe('a spare later');
});

test('a conversation keeps its target within a priority, and does not stay at a worse one', () => {
  const from = [makeTarget('a'), makeTarget('b'), makeTarget('later', { priority: 1 })];
  const drawOf = (target: string) => (target === 'a' ? 0.1 : 0.9);
  expect(order(from, { drawOf })).toBe('a b later');
  expect(order(from, { drawOf, kept: 'b' })).toBe('b a later');
  expect(order(from, { drawOf, kept: 'later' })).toBe('a b later');
  expect(order(from, { drawOf, kept: 'b', breakerStates: { b: 'open' } })).toBe('a later b');
});

test('unhealthy targets come last: open circuits, then cooldowns, each by remaining time', () => {
  const from = ['rest-long', 'rest', 'open-long', 'open', 'late'].map((name) => makeTarget(name));
  from.push(makeTarget('spare', { priority: 9 }));
  const breakerStates: Record<string, BreakerState> = {
    'rest-long': 'resting',
    rest: 'resting',
    'open-long': 'open',
    open: 'open',
  };
  const waits = { 'rest-long': 9, rest: 1, 'open-long': 8, open: 2 };
  expect(order(from, { breakerStates, waits })).toBe('late spare open open-long rest rest-long');
});

test('full targets come last', () => {
  expect(order([makeTarget('full'), makeTarget('a', { priority: 3 })], { breakerStates: { full: 'full' } })).toBe(
    'a full',
  );
});
