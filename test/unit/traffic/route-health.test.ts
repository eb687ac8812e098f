// The health of routes: what is counted as a failure, and which attempts decide.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { bucketMs, bucketOf } from '../../../src/traffic/route-counts.ts';
import { judgeRoute, RouteCounter, type RouteHour } from '../../../src/traffic/traffic.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 20, 10, 30);

function attempts(result: string, count: number, ms = 100) {
  return Array.from({ length: count }, () => ({ provider: 'anthropic', model: 'claude', result, ms }));
}

/** The hours of one route after attempts, each with its age in hours. */
function hoursOf(...parts: [ageHours: number, result: string, count: number, ms?: number][]): RouteHour[] {
  const hours: RouteHour[] = [];
  for (const [ageHours, result, count, ms] of parts) {
    const counter = new RouteCounter('a');
    for (const attempt of attempts(result, count, ms))
      counter.count({ model: 'fable', outcome: 'completed', attempts: [attempt] }, NOW_MS - ageHours * HOUR_MS);
    hours.push(...counter.take());
  }
  return hours;
}

const stateOf = (...parts: Parameters<typeof hoursOf>) => judgeRoute(hoursOf(...parts), 'closed', NOW_MS).state;

test('a route that was never called is not used, and one that failed 2 of 2 is not healthy', () => {
  expect(stateOf()).toBe('not_used');
  expect(stateOf([0, 'failed', 2])).toBe('degraded');
});

test('a route is down below half of at least five, degraded below 95 of 100, and healthy else', () => {
  expect(stateOf([0, 'overloaded', 5])).toBe('down');
  expect(stateOf([0, 'answered', 2], [0, 'timeout', 3])).toBe('down');
  expect(stateOf([0, 'answered', 3], [0, 'timeout', 3])).toBe('degraded');
  expect(stateOf([0, 'answered', 94], [0, 'failed', 6])).toBe('degraded');
  expect(stateOf([0, 'answered', 95], [0, 'failed', 5])).toBe('healthy');
});

test('the last hour decides, and without attempts in it the last day', () => {
  expect(stateOf([3, 'failed', 50], [0, 'answered', 5])).toBe('healthy');
  expect(stateOf([3, 'answered', 50], [0, 'failed', 5])).toBe('down');
  expect(stateOf([3, 'failed', 50])).toBe('down');
  // Half of the hour before counts, half an hour after its end.
  expect(stateOf([1, 'failed', 8], [0, 'answered', 5])).toBe('degraded');
  expect(stateOf([1, 'failed', 12], [0, 'answered', 5])).toBe('down');
});

test('open circuits make a route down or degraded', () => {
  const hours = hoursOf([0, 'answered', 100]);
  expect(judgeRoute(hours, 'all open', NOW_MS).state).toBe('down');
  expect(judgeRoute(hours, 'some open', NOW_MS).state).toBe('degraded');
});

test('content that the provider rejects and attempts that this service ends are no failures', () => {
  const { state, answered, failed, rejected, faults } = judgeRoute(
    hoursOf([0, 'rejected', 50], [0, 'aborted', 9], [0, 'answered', 1], [0, 'overloaded', 2], [0, 'timeout', 1]),
    'closed',
    NOW_MS,
  );
  expect({ state, answered, failed, rejected }).toEqual({ state: 'degraded', answered: 1, failed: 3, rejected: 50 });
  expect(faults).toEqual([
    { fault: 'overloaded', count: 2 },
    { fault: 'timeout', count: 1 },
  ]);
  expect(stateOf([0, 'rejected', 50])).toBe('not_used');
});

test('an answer that breaks off is a failure, and an earlier attempt of its message counts as it ended', () => {
  const counter = new RouteCounter('a');
  const message = {
    model: 'fable',
    outcome: 'upstream_cut',
    attempts: [...attempts('timeout', 1), ...attempts('answered', 1)],
  };
  counter.count(message, NOW_MS);
  counter.count({ ...message, outcome: 'client_gone' }, NOW_MS);
  expect(counter.take().map(({ counts }) => counts)).toEqual([
    { answered: 1, faults: { timeout: 2, cut: 1 }, times: { [bucketOf(100)]: 1 } },
  ]);
});

test('times are known to a fifth, over all nodes', () => {
  for (const ms of [0, 1, 7, 100, 1_234, 45_678, 3_000_000]) {
    const shown = bucketMs(bucketOf(ms));
    expect(shown).toBeGreaterThanOrEqual(ms * 0.99);
    expect(shown).toBeLessThanOrEqual(Math.max(1, ms * 1.2));
  }
  const hours = [...hoursOf([0, 'answered', 90, 100]), ...hoursOf([2, 'answered', 10, 5_000])];
  const { p50Ms, p95Ms } = judgeRoute(hours, 'closed', NOW_MS);
  expect([p50Ms, p95Ms]).toEqual([bucketMs(bucketOf(100)), bucketMs(bucketOf(5_000))]);
});

test('an hour is stored whole, again after a failed write, and the next hour begins at zero', () => {
  const counter = new RouteCounter('a');
  const message = { model: 'fable', outcome: 'completed', attempts: attempts('answered', 1) };
  counter.count(message, NOW_MS);
  const taken = counter.take();
  expect(counter.take()).toEqual([]);
  counter.putBack(taken);
  counter.count(message, NOW_MS);
  expect(counter.take().map(({ counts }) => counts.answered)).toEqual([2]);
  counter.count(message, NOW_MS);
  counter.count(message, NOW_MS + HOUR_MS);
  expect(counter.take().map(({ counts }) => counts.answered)).toEqual([3, 1]);
});

test('routes of a catalog that changes without end do not grow in memory', () => {
  const counter = new RouteCounter('a');
  for (let at = 0; at < bounds.routesCountedMax + 100; at++)
    counter.count({ model: `m${at}`, outcome: 'completed', attempts: attempts('answered', 1) }, NOW_MS);
  expect(counter.take()).toHaveLength(bounds.routesCountedMax);
});
