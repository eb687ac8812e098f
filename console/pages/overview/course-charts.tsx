// The pictures of a period: requests, tokens, money and how soon answers began, over time.

import { Center, SimpleGrid, Text } from '@mantine/core';
import type { UsageBucketShape, UsageTimelineShape } from '../../../src/admin-api/shapes.ts';
import { forPicture } from '../../decimals.ts';
import { formatCount, formatMs, formatShare, formatShort } from '../../figures.ts';
import { isOfInstallation, useMe } from '../../me.tsx';
import { formatMoney } from '../../parts/money.tsx';
import { Section } from '../../parts/section.tsx';
import { type Series, TimeChart, type TimeChartProps } from '../../parts/time-chart.tsx';
import { words } from '../../words.ts';
import type { Course, Sums } from './course.ts';
import { formatAt } from './format-at.ts';

const { charts: its } = words.overview;
const HEIGHT_PX = 220;

interface ChartsProps {
  course: Course;
  step: UsageTimelineShape['step'];
}

interface Chart extends Pick<TimeChartProps, 'kind' | 'isStacked' | 'format'> {
  title: string;
  series: Series[];
  summary: string;
  /** Null where a bucket was not counted, or has none. */
  figures: (bucket: UsageBucketShape) => Record<string, number | null>;
}

export function CourseCharts({ course, step }: ChartsProps) {
  const isInstallation = isOfInstallation(useMe());
  const { sums } = course;
  const charts = [requestsChart(sums), tokensChart(sums), moneyChart(sums, isInstallation), firstTokenChart(sums)];
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
      {charts.map((chart) => (
        <ChartSection key={chart.title} chart={chart} course={course} step={step} />
      ))}
    </SimpleGrid>
  );
}

function ChartSection({ chart, course, step }: ChartsProps & { chart: Chart }) {
  const { title, figures, ...drawn } = chart;
  const countedMs = Date.parse(course.countedSince);
  const points = course.buckets.map((bucket) => ({
    ...(Date.parse(bucket.at) >= countedMs ? figures(bucket) : {}),
    at: formatAt(bucket.at, step),
  }));
  const isEmpty = points.every(({ at: _, ...shown }) => Object.values(shown).every((figure) => !figure));
  return (
    <Section title={title}>
      {isEmpty ? (
        <Center h={HEIGHT_PX}>
          <Text size="sm" c="dimmed">
            {its.nothing}
          </Text>
        </Center>
      ) : (
        <TimeChart {...drawn} points={points} heightPx={HEIGHT_PX} />
      )}
    </Section>
  );
}

function requestsChart({ messages, failedShare }: Sums): Chart {
  return {
    title: its.requests,
    kind: 'bar',
    isStacked: true,
    format: formatCount,
    summary: its.requestsSummary(formatCount(messages), failedShare === null ? '–' : formatShare(failedShare)),
    series: [
      { name: 'completed', label: its.completed, color: 'road.6' },
      { name: 'failed', label: its.notCompleted, color: 'red.6' },
    ],
    figures: ({ messages: all, failed }) => ({ completed: all - (failed ?? 0), failed }),
  };
}

function tokensChart({ input, output }: Sums): Chart {
  return {
    title: its.tokens,
    kind: 'bar',
    isStacked: true,
    format: formatShort,
    summary: its.tokensSummary(formatShort(input), formatShort(output)),
    series: [
      { name: 'input', label: its.input, color: 'blue.6' },
      { name: 'cacheRead', label: its.cacheRead, color: 'cyan.4' },
      { name: 'cacheWritten', label: its.cacheWritten, color: 'grape.5' },
      { name: 'output', label: its.output, color: 'orange.6' },
    ],
    figures: (bucket) => ({
      input: bucket.input_tokens,
      cacheRead: bucket.cache_read_input_tokens,
      cacheWritten: bucket.cache_creation_input_tokens,
      output: bucket.output_tokens,
    }),
  };
}

function moneyChart({ cost, margin }: Sums, isInstallation: boolean): Chart {
  const shared = { title: its.money, format: formatPictured, summary: its.moneySummary(formatMoney(cost)) };
  if (!isInstallation || margin === null)
    return {
      ...shared,
      kind: 'area',
      series: [{ name: 'cost', label: isInstallation ? its.charged : its.cost, color: 'road.6' }],
      figures: (bucket) => ({ cost: forPicture(bucket.cost) }),
    };
  return {
    ...shared,
    kind: 'line',
    series: [
      { name: 'cost', label: its.charged, color: 'road.6' },
      { name: 'providerCost', label: its.providerCost, color: 'orange.6' },
      { name: 'margin', label: its.margin, color: 'blue.6' },
    ],
    figures: (bucket) => ({
      cost: forPicture(bucket.cost),
      providerCost: ofSome(bucket, bucket.provider_cost),
      margin: ofSome(bucket, bucket.margin),
    }),
  };
}

function firstTokenChart({ firstTokenMsP50: half, firstTokenMsP95: most }: Sums): Chart {
  return {
    title: its.firstToken,
    kind: 'line',
    format: formatMs,
    summary: half === null || most === null ? its.nothing : its.firstTokenSummary(formatMs(half), formatMs(most)),
    series: [
      { name: 'half', label: its.half, color: 'road.6' },
      { name: 'most', label: its.most, color: 'orange.6' },
    ],
    figures: ({ first_token_ms_p50, first_token_ms_p95 }) => ({ half: first_token_ms_p50, most: first_token_ms_p95 }),
  };
}

/** Where nothing was sent, nothing was charged; where something was, it may not be known. */
function ofSome({ messages }: UsageBucketShape, usd: string | null): number | null {
  return messages === 0 ? 0 : forPicture(usd);
}

/** What an axis says need not be exact. */
function formatPictured(usd: number): string {
  return formatMoney(usd.toFixed(9));
}
