// The first page: how the traffic goes, and what needs somebody. Before the first request, how to send it.

import { Alert, SegmentedControl, Skeleton, Stack } from '@mantine/core';
import type { UsageTimelineShape } from '../../src/admin-api/shapes.ts';
import { useFilters } from '../filters.ts';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { useAsk } from '../queries.ts';
import { words } from '../words.ts';
import { AttentionList } from './overview/attention-list.tsx';
import {
  courseOf,
  firstDayOf,
  type OverviewPeriod,
  overviewPeriodOf,
  periods,
  timelineQuery,
} from './overview/course.ts';
import { CourseCharts } from './overview/course-charts.tsx';
import { CourseTiles } from './overview/course-tiles.tsx';
import { FirstSteps } from './overview/first-steps.tsx';
import { formatAt } from './overview/format-at.ts';
import { LiveRequests } from './overview/live-requests.tsx';
import { TopLists } from './overview/top-lists.tsx';
import { useLastRequests } from './overview/use-last-requests.ts';
import { usePresent } from './overview/use-present.ts';

const { overview: its } = words;

export function OverviewShow() {
  const { values, set } = useFilters();
  const period = overviewPeriodOf(values['period']);
  const { data, error, refetch } = useLastRequests();
  const hasUsage = data !== undefined && data.data.length > 0;
  return (
    <>
      <PageHead
        title={words.nav.overview}
        {...(hasUsage && { text: its.inPeriod[period] })}
        actions={hasUsage && <PeriodChooser period={period} onChoose={(chosen) => set({ period: chosen })} />}
      />
      {data === undefined && error === null && <Waiting />}
      {data === undefined && error !== null && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {data !== undefined && (hasUsage ? <Traffic period={period} /> : <FirstSteps />)}
    </>
  );
}

function PeriodChooser({ period, onChoose }: { period: OverviewPeriod; onChoose: (period: string) => void }) {
  const data = Object.keys(periods).map((value) => ({ value, label: its.periods[value as OverviewPeriod] }));
  return <SegmentedControl aria-label={its.period} size="xs" value={period} onChange={onChoose} data={data} />;
}

function Traffic({ period }: { period: OverviewPeriod }) {
  const nowMs = usePresent(periods[period].stepMs);
  return (
    <Stack gap="md">
      <AttentionList />
      <Figures period={period} nowMs={nowMs} />
      <TopLists sinceDay={firstDayOf(period, nowMs)} period={period} />
      <LiveRequests />
    </Stack>
  );
}

function Figures({ period, nowMs }: { period: OverviewPeriod; nowMs: number }) {
  const { everyMs } = periods[period];
  const answer = useAsk<UsageTimelineShape>('/usage/timeline', timelineQuery(period, nowMs), { everyMs });
  const { data, error, refetch } = answer;
  // While another period is fetched the one before stays, and is not taken for a longer one.
  const { step, bucketCount } = periods[period];
  if (data === undefined || data.step !== step || data.data.length < 2 * bucketCount)
    return error === null ? <Skeleton h={640} /> : <FailureNotice failure={error} onRetry={() => void refetch()} />;
  const course = courseOf(data, period);
  return (
    <>
      {error !== null && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {!course.isWhole && (
        <Alert color="yellow" variant="light" p="sm">
          {its.countedSince(formatAt(course.countedSince, data.step, true))}
        </Alert>
      )}
      <CourseTiles course={course} />
      <CourseCharts course={course} step={data.step} />
    </>
  );
}
