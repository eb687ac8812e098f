// The first page: figures of a time range, top lists and recent requests. Before the first request, a guide to send one.

import { Alert, Skeleton, Stack } from '@mantine/core';
import type { UsageTimelineShape } from '../../../src/admin-api/shapes.ts';
import { OwnBudget } from '../../parts/budget.tsx';
import { FailureNotice, Loading, PageHead } from '../../parts/page.tsx';
import { RangeFilter, refreshMs, useRange, useRangeText } from '../../parts/range.tsx';
import { useZone } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { comparedRanges, rangeQuery, stepMs, type TimeRange } from '../../range.ts';
import { formatStep } from '../../times.ts';
import { RecentRequests, useRecentRequests } from '../requests/recent.tsx';
import { AttentionList } from './attention.tsx';
import { SummaryCharts, SummaryTiles } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import { summarizePeriod } from './period-summary.ts';
import { TopLists } from './top-lists.tsx';

export function OverviewShow() {
  const { data, error, refetch } = useRecentRequests();
  const hasUsage = data !== undefined && data.data.length > 0;
  const text = useRangeText();
  return (
    <>
      <PageHead title="Overview" {...(hasUsage && { text })} actions={hasUsage && <RangeFilter />} />
      {data === undefined && error === null && <Loading />}
      {data === undefined && error !== null && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {data !== undefined && (hasUsage ? <Traffic /> : <Beginning />)}
    </>
  );
}

/** Before the first accepted request: also while all requests are refused. */
function Beginning() {
  return (
    <Stack gap="md">
      <AttentionList />
      <FirstSteps />
    </Stack>
  );
}

function Traffic() {
  const range = useRange();
  return (
    <Stack gap="md">
      <AttentionList />
      <OwnBudget isOptional />
      <Figures range={range} />
      <TopLists range={range} />
      <RecentRequests isOfRange />
    </Stack>
  );
}

function Figures({ range }: { range: TimeRange }) {
  const zone = useZone();
  const { step } = range;
  const nowMs = Date.now();
  const query = { ...rangeQuery(range), step };
  const answer = useGet('/usage/timeline', { query, everyMs: refreshMs[step] });
  const before = comparedRanges(range, nowMs)?.before ?? null;
  const previous = useGet('/usage/summary', {
    query: before === null ? {} : rangeQuery(before),
    isEnabled: before !== null,
  });
  const { data, error, refetch } = answer;
  // The data of the previous range stays visible while the next one loads, but must not be read as the next one.
  if (data === undefined || (answer.isPlaceholderData && !isNear(data, range, nowMs)))
    return error === null ? <Skeleton h={640} /> : <FailureNotice failure={error} onRetry={() => void refetch()} />;
  const isPreviousKnown = before !== null && previous.data !== undefined && !previous.isPlaceholderData;
  const summary = summarizePeriod(data, range, isPreviousKnown ? previous.data : null, nowMs);
  return (
    <>
      {error !== null && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {!summary.isComplete && (
        <Alert color="yellow">
          {`Figures start at ${formatStep(summary.countedSince, data.step, zone, true)}: earlier requests are no longer stored, or there are too many to count.`}
        </Alert>
      )}
      <SummaryTiles summary={summary} />
      <SummaryCharts summary={summary} step={data.step} />
    </>
  );
}

/** Whether the timeline is one of nearly the same times, such as that of a minute ago. */
function isNear({ since, until, step }: UsageTimelineShape, range: TimeRange, nowMs: number): boolean {
  const isClose = (at: string, ms: number) => Math.abs(Date.parse(at) - ms) <= 2 * stepMs[range.step];
  return step === range.step && isClose(since, range.sinceMs) && isClose(until, range.untilMs ?? nowMs);
}
