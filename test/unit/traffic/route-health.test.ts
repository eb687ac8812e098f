// The health of routes: what is counted as a failure, and which attempts decide.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { bucketMs, bucketOf } from '../../../src/traffic/route-counts.ts';
import { judgeProvider, judgeRoute, RouteCounter, type RouteHour } from '../../../src/traffic/traffic.ts';

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
      counter.count({ ...completed, attempts: [attempt] }, NOW_MS - ageHours * HOUR_MS);
    hours.push(...counter.take().filter(({ provider }) => provider !== ''));
  }
  return hours;
}

const completed = { model: 'fable', outcome: 'completed', error: null };

const stateOf = (...parts: Parameters<typeof hoursOf>) => judgeRoute(hoursOf(...parts), NOW_MS).state;

test('a route that was never called is not used, and one that failed 2 of 2 is not healthy', () => {
  expect(stateOf()).toBe('not_used');
  expect(stateOf([0, 'failed', 2])).toBe('degraded');
});

test('a route is down below half of at least five or without any answer, degraded below 95 of 100, and healthy else', () => {
  expect(stateOf([0, 'overloaded', 3])).toBe('down');
  expect(stateOf([0, 'answered', 2], [0, 'timeout', 3])).toBe('down');
  expect(stateOf([0, 'answered', 3], [0, 'timeout', 3])).toBe('degraded');
  expect(stateOf([0, 'answered', 94], [0, 'failed', 6])).toBe('degraded');
  expect(stateOf([0, 'answered', 95], [0, 'failed', 5])).toBe('healthy');
});

test('the latest attempts decide: of ten minutes, and as many before them as are needed for twenty', () => {
  expect(stateOf([3, 'failed', 50], [0, 'answered', 20])).toBe('healthy');
  expect(stateOf([3, 'answered', 50], [0, 'failed', 20])).toBe('down');
  expect(stateOf([3, 'failed', 50])).toBe('down');
  expect(stateOf([3, 'answered', 50], [0, 'failed', 1], [0, 'answered', 2])).toBe('healthy');
});

test('one failed attempt, or one that is answered, does not change the state of a route that fails half the time', () => {
  const many: Parameters<typeof hoursOf> = [
    [0, 'answered', 40],
    [0, 'failed', 20],
  ];
  expect(stateOf(...many)).toBe('degraded');
  expect(stateOf(...many, [0, 'failed', 1])).toBe('degraded');
  expect(stateOf(...many, [0, 'answered', 1])).toBe('degraded');
});

test('hours that an earlier release counted decide as a whole', () => {
  const hours = hoursOf([0, 'answered', 94], [0, 'failed', 6]).map((hour): RouteHour => {
    const { slots: _, last: __, ...counts } = hour.counts;
    return { ...hour, counts };
  });
  expect(judgeRoute(hours, NOW_MS)).toMatchObject({
    state: 'degraded',
    failingSinceMs: NOW_MS - HOUR_MS / 2,
    last: null,
  });
});

test('failures began with the first of those that no healthy minutes follow', () => {
  const failing = hoursOf([3, 'failed', 2], [2, 'answered', 20], [1, 'failed', 2], [0, 'failed', 2]);
  expect(judgeRoute(failing, NOW_MS).failingSinceMs).toBe(NOW_MS - HOUR_MS);
  expect(judgeRoute(hoursOf([1, 'failed', 2], [0, 'answered', 20]), NOW_MS).failingSinceMs).toBeNull();
});

test('a provider is down if all of its routes that are used are, and healthy if all are', () => {
  expect(judgeProvider([])).toBe('not_used');
  expect(judgeProvider(['not_used', 'down'])).toBe('down');
  expect(judgeProvider(['healthy', 'down'])).toBe('degraded');
  expect(judgeProvider(['healthy', 'degraded'])).toBe('degraded');
  expect(judgeProvider(['healthy', 'not_used'])).toBe('healthy');
});

test('messages of a model count by what their client got', () => {
  const counter = new RouteCounter('a');
  const ended = (outcome: string, results: string[], code: string | null = null) =>
    counter.count(
      {
        model: 'fable',
        outcome,
        attempts: results.flatMap((result) => attempts(result, 1)),
        error: code === null ? null : { code, message: '' },
      },
      NOW_MS,
    );
  ended('completed', ['timeout', 'answered']); // another route answered
  ended('failed', ['timeout', 'overloaded'], 'upstream_overloaded');
  ended('failed', [], 'upstream_rate_limited'); // all routes were in a cooldown
  ended('failed', ['rejected'], 'upstream_rejected');
  ended('client_gone', ['answered']);
  ended('client_gone', ['aborted']);
  const ofModel = counter.take().find(({ provider }) => provider === '');
  expect(ofModel?.counts).toMatchObject({ answered: 2, faults: { overloaded: 1, unavailable: 1 } });
});

test('content that the provider rejects and attempts that this service ends are no failures', () => {
  const { state, answered, failed, rejected, faults } = judgeRoute(
    hoursOf([0, 'rejected', 50], [0, 'aborted', 9], [0, 'answered', 1], [0, 'overloaded', 2], [0, 'timeout', 1]),
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
    ...completed,
    outcome: 'upstream_cut',
    attempts: [...attempts('timeout', 1), ...attempts('answered', 1)],
  };
  counter.count(message, NOW_MS);
  counter.count({ ...message, outcome: 'client_gone' }, NOW_MS);
  expect(counter.take().map(({ counts }) => counts)).toMatchObject([
    { answered: 1, faults: { timeout: 2, cut: 1 }, times: { [bucketOf(100)]: 1 }, last: { fault: 'timeout' } },
    { answered: 1, faults: { cut: 1 } },
  ]);
});

test('times are known to a fifth, over all nodes', () => {
  for (const ms of [0, 1, 7, 100, 1_234, 45_678, 3_000_000]) {
    const shown = bucketMs(bucketOf(ms));
    expect(shown).toBeGreaterThanOrEqual(ms * 0.99);
    expect(shown).toBeLessThanOrEqual(Math.max(1, ms * 1.2));
  }
  const hours = [...hoursOf([0, 'answered', 90, 100]), ...hoursOf([2, 'answered', 10, 5_000])];
  const { p50Ms, p95Ms } = judgeRoute(hours, NOW_MS);
  expect([p50Ms, p95Ms]).toEqual([bucketMs(bucketOf(100)), bucketMs(bucketOf(5_000))]);
});

test('an hour is stored whole, again after a failed write, and the next hour begins at zero', () => {
  const counter = new RouteCounter('a');
  const message = { ...completed, attempts: attempts('answered', 1) };
  counter.count(message, NOW_MS);
  const taken = counter.take();
  expect(counter.take()).toEqual([]);
  counter.putBack(taken);
  counter.count(message, NOW_MS);
  expect(counter.take().map(({ counts }) => counts.answered)).toEqual([2, 2]);
  counter.count(message, NOW_MS);
  counter.count(message, NOW_MS + HOUR_MS);
  expect(counter.take().map(({ counts }) => counts.answered)).toEqual([3, 3, 1, 1]);
});

test('routes of a catalog that changes without end do not grow in memory', () => {
  const counter = new RouteCounter('a');
  for (let at = 0; at < bounds.routesCountedMax + 100; at++)
    counter.count({ ...completed, model: `m${at}`, attempts: attempts('answered', 1) }, NOW_MS);
  expect(counter.take()).toHaveLength(bounds.routesCountedMax);
});
