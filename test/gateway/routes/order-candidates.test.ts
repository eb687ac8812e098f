// The order in which ways are tried: healthy before unhealthy, tiers, shares, and conversations that stay.

import { expect, test } from 'bun:test';
import { hashText } from '../../../src/base/hash-text.ts';
import { type Candidate, orderCandidates, type Standing } from '../../../src/gateway/routes/routes.ts';
import { makeCandidate } from './make-candidate.ts';

interface Terms {
  lotOf?: (target: string) => number;
  kept?: string | null;
  standings?: Record<string, Standing>;
  waits?: Record<string, number>;
}

function order(
  candidates: Candidate[],
  { lotOf = () => 0.5, kept = null, standings = {}, waits = {} }: Terms = {},
): string {
  const health = {
    standing: ({ target }: Candidate) => standings[target] ?? 'ready',
    waitMs: ({ target }: Candidate) => waits[target] ?? 0,
  };
  return orderCandidates(candidates, { health, lotOf, kept })
    .map(({ target }) => target)
    .join(' ');
}

test('lower priorities come first, whatever the lot says', () => {
  const from = [
    makeCandidate('c', { priority: 2, weight: 9 }),
    makeCandidate('a'),
    makeCandidate('b', { priority: 1 }),
  ];
  for (const lot of [0, 0.5, 0.999]) expect(order(from, { lotOf: () => lot })).toBe('a b c');
});

test('each is first as often as its share of the weight, and so among those that are left', () => {
  const from = [
    makeCandidate('a', { weight: 5 }),
    makeCandidate('b', { weight: 3 }),
    makeCandidate('c', { weight: 2 }),
  ];
  const counts = new Map<string, number>();
  for (let session = 0; session < 10_000; session++) {
    const [first, second] = order(from, { lotOf: (target) => hashText(`${session} ${target}`) }).split(' ');
    counts.set(`${first}`, (counts.get(`${first}`) ?? 0) + 1);
    if (first === 'a') counts.set(`a ${second}`, (counts.get(`a ${second}`) ?? 0) + 1);
  }
  const near = (name: string, count: number) => expect(Math.abs((counts.get(name) ?? 0) - count)).toBeLessThan(200);
  near('a', 5_000);
  near('b', 3_000);
  near('c', 2_000);
  near('a b', 3_000);
});

test('a session stays with its way when others come or go', () => {
  const all = ['a', 'b', 'c', 'd'].map((name) => makeCandidate(name));
  for (let session = 0; session < 500; session++) {
    const lotOf = (target: string) => hashText(`${session} ${target}`);
    const whole = order(all, { lotOf }).split(' ');
    const left = all.filter(({ target }) => target !== whole[3]);
    expect(order(left, { lotOf })).toBe(whole.slice(0, 3).join(' '));
  }
});

test('routes of weight 0 come last of their priority', () => {
  const from = [makeCandidate('spare', { weight: 0 }), makeCandidate('a'), makeCandidate('later', { priority: 1 })];
  for (const lot of [0, 0.999]) expect(order(from, { lotOf: () => lot })).toBe('a spare later');
});

test('a conversation keeps its way in its tier, and does not stay in a worse one', () => {
  const from = [makeCandidate('a'), makeCandidate('b'), makeCandidate('later', { priority: 1 })];
  const lotOf = (target: string) => (target === 'a' ? 0.1 : 0.9);
  expect(order(from, { lotOf })).toBe('a b later');
  expect(order(from, { lotOf, kept: 'b' })).toBe('b a later');
  expect(order(from, { lotOf, kept: 'later' })).toBe('a b later');
  expect(order(from, { lotOf, kept: 'b', standings: { b: 'open' } })).toBe('a later b');
});

test('what is not well comes after all that is: open circuits, then who told us to wait, each by how soon', () => {
  const from = ['rest-long', 'rest', 'open-long', 'open', 'late'].map((name) => makeCandidate(name));
  from.push(makeCandidate('spare', { priority: 9 }));
  const standings: Record<string, Standing> = {
    'rest-long': 'resting',
    rest: 'resting',
    'open-long': 'open',
    open: 'open',
  };
  const waits = { 'rest-long': 9, rest: 1, 'open-long': 8, open: 2 };
  expect(order(from, { standings, waits })).toBe('late spare open open-long rest rest-long');
});

test('the full ones are last, and still there', () => {
  expect(order([makeCandidate('full'), makeCandidate('a', { priority: 3 })], { standings: { full: 'full' } })).toBe(
    'a full',
  );
});
