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
  expect(healthAfter().of('p')).toEqual({ isUp: true, lastSuccessMs: null, lastFailureMs: null });
});

test('one is down once the last attempts have all failed, and up with the first answer', () => {
  expect(healthAfter(...failures(enough - 1)).of('p').isUp).toBe(true);
  expect(healthAfter('answered', ...failures(enough)).of('p').isUp).toBe(false);
  expect(healthAfter(...failures(enough), 'answered').of('p').isUp).toBe(true);
});

test('a refusal of the content is an answer; what was broken off here says nothing', () => {
  expect(healthAfter(...failures(enough), 'rejected').of('p').isUp).toBe(true);
  expect(healthAfter(...failures(enough), 'aborted').of('p')).toEqual({
    isUp: false,
    lastSuccessMs: null,
    lastFailureMs: 999 + enough,
  });
});
