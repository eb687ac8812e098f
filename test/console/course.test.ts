// What the overview makes of a timeline: sums that are exact, comparisons that are fair, and no figure of what was
// not counted.

import { describe, expect, test } from 'bun:test';
import { courseOf, firstDayOf, overviewPeriodOf, periods, timelineQuery } from '../../console/pages/overview/course.ts';
import type { UsageBucketShape, UsageTimelineShape } from '../../src/admin-api/shapes.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse('2026-11-22T17:45:12.345Z');

/** Two weeks of days, the last one the present; `known` is of each day's place. */
function twoWeeks(known: (at: number) => Partial<UsageBucketShape>, countedFrom = 0): UsageTimelineShape {
  const firstMs = Date.parse('2026-11-09');
  const at = (place: number) => new Date(firstMs + place * DAY_MS).toISOString();
  const empty = {
    ...{ messages: 0, failed: 0, input_tokens: 0, output_tokens: 0 },
    ...{ cache_read_input_tokens: 0, cache_creation_input_tokens: 0, cost: '0', written_off: '0' },
    ...{ provider_cost: null, margin: null, revenue_without_margin: '0' },
    ...{ first_token_ms_p50: null, first_token_ms_p95: null },
  };
  const data = Array.from({ length: 14 }, (_, place) => ({ at: at(place), ...empty, ...known(place) }));
  return { step: 'day', since: at(0), until: at(14), counted_since: at(countedFrom), data };
}

test('a period and the one before it are one question, the same until the next bucket begins', () => {
  expect(timelineQuery('week', NOW_MS)).toEqual({ step: 'day', since: '2026-11-09T00:00:00.000Z' });
  expect(timelineQuery('hour', NOW_MS)).toEqual({ step: 'minute', since: '2026-11-22T15:46:00.000Z' });
  expect(timelineQuery('hour', NOW_MS + 40_000)).toEqual(timelineQuery('hour', NOW_MS));
  for (const period of Object.keys(periods) as (keyof typeof periods)[])
    expect(periods[period].bucketCount * 2).toBeLessThanOrEqual(400); // more than that is refused
});

test('what is added up by the day begins with the day of the period’s first bucket', () => {
  expect(firstDayOf('week', NOW_MS)).toBe('2026-11-16');
  expect(firstDayOf('day', NOW_MS)).toBe('2026-11-21');
  expect(firstDayOf('hour', Date.parse('2026-11-22T00:10:00Z'))).toBe('2026-11-21');
});

test('a period that nobody knows is the usual one', () => {
  expect([overviewPeriodOf('week'), overviewPeriodOf(undefined), overviewPeriodOf('constructor')]).toEqual([
    'week',
    'day',
    'day',
  ]);
});

describe('of a period', () => {
  test('money is summed to the last digit, and the period before it is left out', () => {
    const { sums } = courseOf(
      twoWeeks(() => ({ cost: '0.000000001', messages: 2 })),
      'week',
    );
    expect(sums).toMatchObject({ cost: '0.000000007', messages: 14, margin: null });
  });

  test('the margin is that of the buckets that have one', () => {
    const { sums } = courseOf(
      twoWeeks((at) => ({ margin: at === 13 ? '-0.5' : null, revenue_without_margin: '0.25' })),
      'week',
    );
    expect(sums).toMatchObject({ margin: '-0.5', withoutMargin: '1.75' });
  });

  test('the share that failed is of the messages of which that is counted', () => {
    const { sums } = courseOf(
      twoWeeks((at) => ({ messages: 10, failed: at < 12 ? null : 5 })),
      'week',
    );
    expect(sums).toMatchObject({ messages: 70, failedShare: 0.5 });
    expect(
      courseOf(
        twoWeeks(() => ({ messages: 10, failed: null })),
        'week',
      ).sums.failedShare,
    ).toBeNull();
  });

  test('the time to the first token is that of the bucket in which the middle message is', () => {
    const { sums } = courseOf(
      twoWeeks((at) => ({ messages: at === 13 ? 100 : 1, first_token_ms_p50: at === 13 ? 500 : 10 })),
      'week',
    );
    expect(sums).toMatchObject({ firstTokenMsP50: 500, firstTokenMsP95: null });
  });

  test('the present bucket, which is not over, is compared with nothing', () => {
    const { changes } = courseOf(
      twoWeeks((at) => ({ messages: at === 13 ? 9_999 : at >= 7 ? 30 : 20 })),
      'week',
    );
    expect(changes).toMatchObject({ messages: 0.5, cost: null });
  });

  test('nothing is compared with what was not counted', () => {
    const some = () => ({ messages: 10, cost: '1' });
    expect(courseOf(twoWeeks(some, 1), 'week')).toMatchObject({ isWhole: true, changes: { messages: null } });
    expect(courseOf(twoWeeks(some, 0), 'week')).toMatchObject({ isWhole: true, changes: { messages: 0, cost: 0 } });
  });

  test('what was not counted is in no figure, and that it is not is told', () => {
    const course = courseOf(
      twoWeeks(() => ({ messages: 10 }), 10),
      'week',
    );
    expect(course).toMatchObject({ isWhole: false, sums: { messages: 40 } });
  });
});
