// Which of its ways a message tries next, and when it has tried enough.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config.ts';
import { type Candidate, Tour } from '../../../src/gateway/routes/routes.ts';
import { makeCandidate } from './make-candidate.ts';

/** A route with so many credentials. */
function routeOf(provider: string, credentials: number): Candidate[] {
  return Array.from({ length: credentials }, (_, place) => ({
    ...makeCandidate(provider, {}, `sk-${place}`),
    target: `${provider}${place}`,
  }));
}

/** What is tried, where each attempt fails; `giveUp`: as a whole route. */
function walk(candidates: Candidate[], giveUp = false, secondsMax = 600): string {
  const tour = new Tour(candidates, secondsMax);
  const tried: string[] = [];
  for (let candidate = tour.next(); candidate !== null; candidate = tour.next()) {
    tour.begin(candidate);
    tried.push(candidate.target);
    if (giveUp) tour.giveUp(candidate);
  }
  return tried.join(' ');
}

test('each way is tried once, in order, and no further credential of a route that was given up', () => {
  const all = [...routeOf('a', 2), ...routeOf('b', 2)];
  expect(walk(all)).toBe('a0 a1 b0 b1');
  expect(walk(all, true)).toBe('a0 b0');
  expect(walk(routeOf('a', 1))).toBe('a0');
  expect(walk([])).toBe('');
});

test('no more are tried than their bound', () => {
  expect(walk(routeOf('a', 3 * bounds.attemptsMax)).split(' ')).toHaveLength(bounds.attemptsMax);
});

test('many credentials of one route leave each other route its attempt', () => {
  const tried = walk([...routeOf('a', 20), ...routeOf('b', 20), ...routeOf('c', 1)]).split(' ');
  expect(tried).toHaveLength(bounds.attemptsMax);
  expect(tried.slice(-2)).toEqual(['b0', 'c0']);
});

test('what had no room takes no attempt from the others', () => {
  const tour = new Tour(routeOf('a', 2 * bounds.attemptsMax), 600);
  for (let place = 0; place < bounds.attemptsMax; place++) expect(tour.next()).not.toBeNull(); // not begun
  expect(tour.next()).not.toBeNull();
});

test('when the time is over nothing more is tried', () => {
  expect(walk(routeOf('a', 2), false, -1)).toBe('');
});
