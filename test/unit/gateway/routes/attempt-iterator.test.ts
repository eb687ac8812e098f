// Which of its targets a message tries next, and when it stops.

import { expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import type { Target } from '../../../../src/gateway/route-health.ts';
import { AttemptIterator } from '../../../../src/gateway/targets.ts';
import { makeTarget } from './make-target.ts';

/** A route with the given number of credentials. */
function routeOf(provider: string, credentials: number): Target[] {
  return Array.from({ length: credentials }, (_, place) => ({
    ...makeTarget(provider, {}, `sk-${place}`),
    healthKey: `${provider}${place}`,
  }));
}

/** The targets that are tried if each attempt fails; `giveUp` gives up the whole route. */
function walk(targets: Target[], giveUp = false, secondsMax = 600): string {
  const attemptIterator = new AttemptIterator(targets, secondsMax);
  const tried: string[] = [];
  for (let target = attemptIterator.next(); target !== null; target = attemptIterator.next()) {
    attemptIterator.begin(target);
    tried.push(target.healthKey);
    if (giveUp) attemptIterator.giveUp(target);
  }
  return tried.join(' ');
}

test('each target is tried once, in order, and no other credential of a route that was given up', () => {
  const all = [...routeOf('a', 2), ...routeOf('b', 2)];
  expect(walk(all)).toBe('a0 a1 b0 b1');
  expect(walk(all, true)).toBe('a0 b0');
  expect(walk(routeOf('a', 1))).toBe('a0');
  expect(walk([])).toBe('');
});

test('the number of attempts is bounded', () => {
  expect(walk(routeOf('a', 3 * bounds.attemptsMax)).split(' ')).toHaveLength(bounds.attemptsMax);
});

test('a route with many credentials leaves at least one attempt to each other route', () => {
  const tried = walk([...routeOf('a', 20), ...routeOf('b', 20), ...routeOf('c', 1)]).split(' ');
  expect(tried).toHaveLength(bounds.attemptsMax);
  expect(tried.slice(-2)).toEqual(['b0', 'c0']);
});

test('a full target does not count as an attempt', () => {
  const attemptIterator = new AttemptIterator(routeOf('a', 2 * bounds.attemptsMax), 600);
  for (let place = 0; place < bounds.attemptsMax; place++) expect(attemptIterator.next()).not.toBeNull(); // a full target is not started
  expect(attemptIterator.next()).not.toBeNull();
});

test('after the time limit no target is tried', () => {
  expect(walk(routeOf('a', 2), false, -1)).toBe('');
});
