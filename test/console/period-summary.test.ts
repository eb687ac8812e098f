// Summarizing a timeline: exact sums, comparisons of complete buckets, and no figures from incomplete data.

import { describe, expect, test } from 'bun:test';
import {
  overviewPeriodOf,
  periods,
  startOfPeriod,
  summarizePeriod,
  timelineQuery,
} from '../../console/features/overview/period-summary.ts';
import type { UsageBucketShape, UsageTimelineShape } from '../../src/admin-api/shapes.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse('2026-11-22T17:45:12.345Z');

/** Two weeks of daily buckets up to today; `known` sets the figures of each day. */
function fortnight(known: (at: number) => Partial<UsageBucketShape>, countedFrom = 0): UsageTimelineShape {
  const firstMs = Date.parse('2026-11-09');
  const at = (place: number) => new Date(firstMs + place * DAY_MS).toISOString();
  const empty = {
    ...{ messages: 0, failed: 0, refused: 0, input_tokens: 0, output_tokens: 0 },
    ...{ cache_read_input_tokens: 0, cache_creation_input_tokens: 0, cost: '0', written_off: '0' },
    ...{ provider_cost: null, margin: null, revenue_without_margin: '0' },
    ...{ first_token_ms_p50: null, first_token_ms_p95: null },
  };
  const data = Array.from({ length: 14 }, (_, place) => ({ at: at(place), ...empty, ...known(place) }));
  return { step: 'day', since: at(0), until: at(14), counted_since: at(countedFrom), data };
}

test('a period and the one before it share one query, which is stable within a bucket', () => {
  expect(timelineQuery('week', NOW_MS)).toEqual({ step: 'day', since: '2026-11-09T00:00:00.000Z' });
  expect(timelineQuery('hour', NOW_MS)).toEqual({ step: 'minute', since: '2026-11-22T15:46:00.000Z' });
  expect(timelineQuery('hour', NOW_MS + 40_000)).toEqual(timelineQuery('hour', NOW_MS));
  for (const period of Object.keys(periods) as (keyof typeof periods)[])
    expect(periods[period].bucketCount * 2).toBeLessThanOrEqual(400); // more than that is refused
});

test('a period starts with its first bucket', () => {
  expect(startOfPeriod('week', NOW_MS)).toBe('2026-11-16T00:00:00.000Z');
  expect(startOfPeriod('day', NOW_MS)).toBe('2026-11-21T18:00:00.000Z');
  expect(startOfPeriod('hour', Date.parse('2026-11-22T00:10:30Z'))).toBe('2026-11-21T23:11:00.000Z');
});

test('an unknown period falls back to the default', () => {
  expect([overviewPeriodOf('week'), overviewPeriodOf(undefined), overviewPeriodOf('constructor')]).toEqual([
    'week',
    'day',
    'day',
  ]);
});

describe('a period summary', () => {
  test('counts refused requests in its error rate: 54 of 57 requests', () => {
    const { sums } = summarizePeriod(
      fortnight((at) => (at === 12 ? { messages: 3, refused: 54 } : {})),
      'week',
    );
    expect(sums).toMatchObject({ messages: 3, failed: 0, refused: 54, failedShare: 54 / 57 });
    const unknown = summarizePeriod(
      fortnight(() => ({ messages: 1, failed: 1, refused: null })),
      'week',
    );
    expect(unknown.sums).toMatchObject({ refused: null, failedShare: 1 });
  });

  test('has sums and no comparison if a browser whose clock is ahead got fewer buckets', () => {
    const whole = fortnight(() => ({ messages: 2 }));
    for (const count of [13, 8, 7, 3, 0]) {
      const { sums, changes } = summarizePeriod({ ...whole, data: whole.data.slice(14 - count) }, 'week');
      expect(sums.messages).toBe(2 * Math.min(count, 7));
      expect(changes).toEqual({ messages: null, tokens: null, cost: null });
    }
  });

  test('cost is summed exactly and excludes the previous period', () => {
    const { sums } = summarizePeriod(
      fortnight(() => ({ cost: '0.000000001', messages: 2 })),
      'week',
    );
    expect(sums).toMatchObject({ cost: '0.000000007', messages: 14, margin: null });
  });

  test('the margin is the sum of the known margins', () => {
    const { sums } = summarizePeriod(
      fortnight((at) => ({ margin: at === 13 ? '-0.5' : null, revenue_without_margin: '0.25' })),
      'week',
    );
    expect(sums).toMatchObject({ margin: '-0.5', withoutMargin: '1.75' });
  });

  test('the error rate covers only messages with a recorded outcome', () => {
    const { sums } = summarizePeriod(
      fortnight((at) => ({ messages: 10, failed: at < 12 ? null : 5 })),
      'week',
    );
    expect(sums).toMatchObject({ messages: 70, failedShare: 0.5 });
    expect(
      summarizePeriod(
        fortnight(() => ({ messages: 10, failed: null })),
        'week',
      ).sums.failedShare,
    ).toBeNull();
  });

  test('the time to first token is the median weighted by messages', () => {
    const { sums } = summarizePeriod(
      fortnight((at) => ({ messages: at === 13 ? 100 : 1, first_token_ms_p50: at === 13 ? 500 : 10 })),
      'week',
    );
    expect(sums).toMatchObject({ firstTokenMsP50: 500, firstTokenMsP95: null });
  });

  test('the current bucket, which is incomplete, is not compared', () => {
    const { changes } = summarizePeriod(
      fortnight((at) => ({ messages: at === 13 ? 9_999 : at >= 7 ? 30 : 20 })),
      'week',
    );
    expect(changes).toMatchObject({ messages: 0.5, cost: null });
  });

  test('nothing is compared with incomplete data', () => {
    const some = () => ({ messages: 10, cost: '1' });
    expect(summarizePeriod(fortnight(some, 1), 'week')).toMatchObject({
      isComplete: true,
      changes: { messages: null },
    });
    expect(summarizePeriod(fortnight(some, 0), 'week')).toMatchObject({
      isComplete: true,
      changes: { messages: 0, cost: 0 },
    });
  });

  test('incomplete buckets are excluded, and the summary says so', () => {
    const summary = summarizePeriod(
      fortnight(() => ({ messages: 10 }), 10),
      'week',
    );
    expect(summary).toMatchObject({ isComplete: false, sums: { messages: 40 } });
  });
});
