// The first page: figures of a period, top lists and recent requests. Before the first request, a guide to send one.

import { Alert, SegmentedControl, Skeleton, Stack } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useFilters } from '../../filters.ts';
import { OwnBudget } from '../../parts/budget.tsx';
import { FailureNotice, Loading, PageHead } from '../../parts/page.tsx';
import { useZone } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { RecentRequests, useRecentRequests } from '../requests/recent.tsx';
import { AttentionList } from './attention.tsx';
import { formatAt, SummaryCharts, SummaryTiles } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import {
  type OverviewPeriod,
  overviewPeriodOf,
  periods,
  startOfPeriod,
  summarizePeriod,
  timelineQuery,
} from './period-summary.ts';
import { TopLists } from './top-lists.tsx';

const periodTexts = {
  hour: 'Last hour',
  day: 'Last 24 hours',
  week: 'Last 7 days (UTC)',
  month: 'Last 30 days (UTC)',
  quarter: 'Last 90 days (UTC)',
};

const periodLabels = { hour: '1 hour', day: '24 hours', week: '7 days', month: '30 days', quarter: '90 days' };

export function OverviewShow() {
  const { values, set } = useFilters();
  const period = overviewPeriodOf(values['period']);
  const { data, error, refetch } = useRecentRequests();
  const hasUsage = data !== undefined && data.data.length > 0;
  return (
    <>
      <PageHead
        title="Overview"
        {...(hasUsage && { text: <PeriodText period={period} /> })}
        actions={hasUsage && <PeriodChooser period={period} onChoose={(chosen) => set({ period: chosen })} />}
      />
      {data === undefined && error === null && <Loading />}
      {data === undefined && error !== null && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {data !== undefined && (hasUsage ? <Traffic period={period} /> : <Beginning />)}
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

function PeriodText({ period }: { period: OverviewPeriod }) {
  const since = startOfPeriod(period, useNow(periods[period].stepMs));
  const zone = useZone();
  return <>{`${periodTexts[period]}, since ${formatAt(since, periods[period].step, zone, true)}`}</>;
}

function PeriodChooser({ period, onChoose }: { period: OverviewPeriod; onChoose: (period: string) => void }) {
  const data = Object.keys(periods).map((value) => ({ value, label: periodLabels[value as OverviewPeriod] }));
  return <SegmentedControl aria-label="Period" size="xs" value={period} onChange={onChoose} data={data} />;
}

function Traffic({ period }: { period: OverviewPeriod }) {
  const nowMs = useNow(periods[period].stepMs);
  const since = startOfPeriod(period, nowMs);
  return (
    <Stack gap="md">
      <AttentionList />
      <OwnBudget isOptional />
      <Figures period={period} nowMs={nowMs} />
      <TopLists since={since} period={period} />
      <RecentRequests of={{ since }} />
    </Stack>
  );
}

function Figures({ period, nowMs }: { period: OverviewPeriod; nowMs: number }) {
  const zone = useZone();
  const { everyMs } = periods[period];
  const answer = useGet('/usage/timeline', { query: timelineQuery(period, nowMs), everyMs });
  const { data, error, refetch } = answer;
  // The data of the previous period stays visible while the next one loads, but must not be read as the next one. An answer may have
  // fewer buckets: the browser's clock may be ahead of the server's.
  const { step, bucketCount } = periods[period];
  const isOther = answer.isPlaceholderData && (data?.step !== step || data.data.length < 2 * bucketCount);
  if (data === undefined || isOther)
    return error === null ? <Skeleton h={640} /> : <FailureNotice failure={error} onRetry={() => void refetch()} />;
  const summary = summarizePeriod(data, period);
  return (
    <>
      {error !== null && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {!summary.isComplete && (
        <Alert color="yellow">
          {`Data starts at ${formatAt(summary.countedSince, data.step, zone, true)}: earlier requests are no longer stored, or there are too many to count.`}
        </Alert>
      )}
      <SummaryTiles summary={summary} />
      <SummaryCharts summary={summary} step={data.step} />
    </>
  );
}

const LOOKED_EVERY_MS = 5_000;

function useNow(stepMs: number): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), LOOKED_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return Math.floor(nowMs / stepMs) * stepMs;
}
