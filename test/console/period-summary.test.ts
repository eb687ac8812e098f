// Summarizing a timeline: exact sums, comparisons of complete buckets, and no figures from incomplete data.

import { describe, expect, test } from 'bun:test';
import { summarizePeriod } from '../../console/features/overview/period-summary.ts';
import { rangeOf } from '../../console/range.ts';
import type { UsageBucketShape, UsageTimelineShape } from '../../src/admin-api/shapes.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse('2026-11-22T17:45:12.345Z');

/** A week of daily buckets up to today; `known` sets the figures of each day. */
function week(known: (at: number) => Partial<UsageBucketShape>, countedFrom = 0): UsageTimelineShape {
  const firstMs = Date.parse('2026-11-16');
  const at = (place: number) => new Date(firstMs + place * DAY_MS).toISOString();
  const empty = {
    ...{ messages: 0, failed: 0, refused: 0, input_tokens: 0, output_tokens: 0 },
    ...{ cache_read_input_tokens: 0, cache_creation_input_tokens: 0, units: {}, cost: '0', written_off: '0' },
    ...{ provider_cost: null, margin: null, revenue_without_margin: '0' },
    ...{ first_token_ms_p50: null, first_token_ms_p95: null },
  };
  const data = Array.from({ length: 7 }, (_, place) => ({ at: at(place), ...empty, ...known(place) }));
  return { step: 'day', since: at(0), until: at(7), counted_since: at(countedFrom), data };
}

type Previous = Parameters<typeof summarizePeriod>[2];

const RANGE = rangeOf('7d', NOW_MS);
const total = { messages: 120, cost: '0', input_tokens: 0, output_tokens: 0 };
const noTokens = { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
/** The sums of the six days before. */
const sixDays = (more: object = {}) =>
  ({
    known_since: '2026-11-09T00:00:00.000Z',
    counted_since: null,
    total: { ...total, ...noTokens },
    ...more,
  }) as Previous;

function summarize(timeline: UsageTimelineShape, previous: Previous = null) {
  return summarizePeriod(timeline, RANGE, previous, NOW_MS);
}

describe('a period summary', () => {
  test('counts refused requests in its error rate: 54 of 57 requests', () => {
    const { sums } = summarize(week((at) => (at === 5 ? { messages: 3, refused: 54 } : {})));
    expect(sums).toMatchObject({ messages: 3, failed: 0, refused: 54, failedShare: 54 / 57 });
    const unknown = summarize(week(() => ({ messages: 1, failed: 1, refused: null })));
    expect(unknown.sums).toMatchObject({ refused: null, failedShare: 1 });
  });

  test('cost is summed exactly', () => {
    const { sums } = summarize(week(() => ({ cost: '0.000000001', messages: 2 })));
    expect(sums).toMatchObject({ cost: '0.000000007', messages: 14, margin: null });
  });

  test('the margin is the sum of the known margins', () => {
    const { sums } = summarize(week((at) => ({ margin: at === 6 ? '-0.5' : null, revenue_without_margin: '0.25' })));
    expect(sums).toMatchObject({ margin: '-0.5', withoutMargin: '1.75' });
  });

  test('the error rate covers only messages with a recorded outcome', () => {
    const { sums } = summarize(week((at) => ({ messages: 10, failed: at < 5 ? null : 5 })));
    expect(sums).toMatchObject({ messages: 70, failedShare: 0.5 });
    expect(summarize(week(() => ({ messages: 10, failed: null }))).sums.failedShare).toBeNull();
  });

  test('the time to first token is the median weighted by messages', () => {
    const { sums } = summarize(
      week((at) => ({ messages: at === 6 ? 100 : 1, first_token_ms_p50: at === 6 ? 500 : 10 })),
    );
    expect(sums).toMatchObject({ firstTokenMsP50: 500, firstTokenMsP95: null });
  });

  test('the current bucket, which is incomplete, is not compared', () => {
    const timeline = week((at) => ({ messages: at === 6 ? 9_999 : 30 }));
    expect(summarize(timeline, sixDays()).changes).toMatchObject({ messages: 0.5, cost: null });
    expect(summarize(timeline).changes).toMatchObject({ messages: null });
  });

  test('nothing is compared with a period of which messages are unknown, and the summary says since when they are known', () => {
    const timeline = week(() => ({ messages: 10, cost: '1' }));
    const known = (more: object) => summarize(timeline, sixDays(more));
    const since = '2026-11-12T09:00:00.000Z';
    for (const more of [{ known_since: since }, { counted_since: since }])
      expect(known(more)).toMatchObject({
        changes: { messages: null, tokens: null, cost: null },
        incomparable: { knownSince: since, previousSince: '2026-11-09T00:00:00.000Z' },
      });
    expect(known({})).toMatchObject({ changes: { messages: -0.5 }, incomparable: null });
    expect(
      summarize(
        week(() => ({ messages: 10 }), 1),
        sixDays(),
      ),
    ).toMatchObject({ changes: { messages: null } });
  });

  test('incomplete buckets are excluded, and the summary says so', () => {
    const summary = summarize(week(() => ({ messages: 10 }), 3));
    expect(summary).toMatchObject({ isComplete: false, sums: { messages: 40 } });
  });
});
