// The rules by which a provider counts as down.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { UpstreamHealth } from '../../../src/observability/gauges.ts';

function healthAfter(...results: string[]): UpstreamHealth {
  const health = new UpstreamHealth();
  for (const [place, result] of results.entries()) health.note('p', result, 1_000 + place);
  return health;
}

const failures = (count: number) => new Array<string>(count).fill('failed');
const enough = bounds.upstreamHealthAttempts;

test('a provider without requests is up, and has no time of a last success', () => {
  expect(healthAfter().of('p')).toEqual({ isUp: true, lastSuccessMs: null, lastFailureMs: null });
});

test('a provider is down once its last attempts have all failed, and up with the first response', () => {
  expect(healthAfter(...failures(enough - 1)).of('p').isUp).toBe(true);
  expect(healthAfter('answered', ...failures(enough)).of('p').isUp).toBe(false);
  expect(healthAfter(...failures(enough), 'answered').of('p').isUp).toBe(true);
});

test('a rejection of the content counts as a success, and an attempt aborted by the service does not count', () => {
  expect(healthAfter(...failures(enough), 'rejected').of('p').isUp).toBe(true);
  expect(healthAfter(...failures(enough), 'aborted').of('p')).toEqual({
    isUp: false,
    lastSuccessMs: null,
    lastFailureMs: 999 + enough,
  });
});
