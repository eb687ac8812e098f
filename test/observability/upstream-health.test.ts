// When a provider counts as down.

import { expect, test } from 'bun:test';
import { bounds } from '../../src/config.ts';
import { UpstreamHealth } from '../../src/observability/upstream-health.ts';

function healthAfter(...results: string[]): UpstreamHealth {
  const health = new UpstreamHealth();
  for (const [place, result] of results.entries()) health.note('p', result, 1_000 + place);
  return health;
}

const failures = (count: number) => new Array<string>(count).fill('failed');
const enough = bounds.upstreamHealthAttempts;

test('a provider that nobody has asked is up, and was never seen', () => {
  const health = healthAfter();
  expect([health.isUp('p'), health.lastSuccessMs('p'), health.lastFailureMs('p')]).toEqual([true, 0, 0]);
});

test('one is down once the last attempts have all failed, and up with the first answer', () => {
  expect(healthAfter(...failures(enough - 1)).isUp('p')).toBe(true);
  expect(healthAfter('answered', ...failures(enough)).isUp('p')).toBe(false);
  expect(healthAfter(...failures(enough), 'answered').isUp('p')).toBe(true);
});

test('a refusal of the content is an answer; what was broken off here says nothing', () => {
  expect(healthAfter(...failures(enough), 'rejected').isUp('p')).toBe(true);
  const health = healthAfter(...failures(enough), 'aborted');
  expect([health.isUp('p'), health.lastSuccessMs('p'), health.lastFailureMs('p')]).toEqual([false, 0, 999 + enough]);
});
