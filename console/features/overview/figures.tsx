// The figures of a period: tiles with the change from the previous period, and charts.

import { Box, Center, SimpleGrid, VisuallyHidden } from '@mantine/core';
import type { UsageBucketShape, UsageTimelineShape } from '../../../src/admin-api/shapes.ts';
import {
  countOf,
  formatCompact,
  formatCount,
  formatMs,
  formatShare,
  formatShort,
  toChartNumber,
} from '../../figures.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { chartFormats, formatMoney } from '../../money.ts';
import type { Place } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Hint, Section, StatTile } from '../../parts/page.tsx';
import { usePickBuckets } from '../../parts/range.tsx';
import { type Series, TimeChart, type TimeChartProps } from '../../parts/time-chart.tsx';
import { useZone } from '../../parts/times.tsx';
import { requestFigures, requestSeries } from '../../parts/usage-charts.tsx';
import { formatStep, formatTime } from '../../times.ts';
import { splitTokens, sumTokens, tokenKinds, tokensText } from '../../tokens.ts';
import { type PeriodSummary, type Sums, tokensOf } from './period-summary.ts';

export function SummaryTiles({ summary }: { summary: PeriodSummary }) {
  const isInstallation = seesInstallation(useMe());
  const { sums } = summary;
  const link = usageLink(summary);
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
      <StatTile
        label="Requests"
        value={formatShort(sums.messages)}
        link={link}
        note={<Change summary={summary} figure="messages" />}
        chart={<MiniChart summary={summary} label="Requests" figure={({ messages }) => messages} />}
      />
      <ErrorTile summary={summary} />
      <StatTile
        label={isInstallation ? 'Revenue' : 'Cost'}
        value={<Money usd={sums.cost} />}
        link={link}
        note={<Change summary={summary} figure="cost" />}
        chart={<MiniChart summary={summary} label="Cost" figure={({ cost }) => toChartNumber(cost)} />}
      />
      {isInstallation ? <MarginTile summary={summary} /> : <CacheTile summary={summary} />}
      <StatTile
        label="Tokens"
        value={formatShort(tokensOf(sums))}
        link={link}
        note={<Change summary={summary} figure="tokens" text={splitText(sums)} />}
        chart={<MiniChart summary={summary} label="Tokens" figure={bucketTokens} />}
      />
      <StatTile
        label="First token (p50)"
        value={
          <span title="p50 of a sample of streamed requests">
            {sums.firstTokenMsP50 === null ? 'No streams' : formatMs(sums.firstTokenMsP50)}
          </span>
        }
        link={link}
        {...(sums.firstTokenMsP95 !== null && { note: `p95 ${formatMs(sums.firstTokenMsP95)}` })}
        chart={
          <MiniChart summary={summary} label="First token (p50)" figure={({ first_token_ms_p50: half }) => half} />
        }
      />
    </SimpleGrid>
  );
}

const FAILED = { outcome: 'not_completed' };

/** The requests of the period, further narrowed by `search`. */
function usageLink({ range }: PeriodSummary, search: Record<string, string> = {}): Place {
  return { to: '/usage', search: { range: range.text, ...search } };
}

function splitText({ input, output, cacheRead, cacheWritten }: Sums): string {
  return tokensText({ input, cached: cacheRead + cacheWritten, output }, formatCompact);
}

function ErrorTile({ summary }: { summary: PeriodSummary }) {
  const { failedShare, failed, refused } = summary.sums;
  const { to, search } = usageLink(summary, FAILED);
  const isMostlyRefused = (refused ?? 0) > failed;
  return (
    <StatTile
      label="Error rate"
      value={failedShare === null ? 'No requests' : formatShare(failedShare)}
      link={isMostlyRefused ? { to: '/rejected', search: { range: summary.range.text } } : { to, search }}
      note={`${formatShort(failed)} failed${refused === null ? '' : ` · ${formatShort(refused)} rejected`}`}
      chart={
        <MiniChart
          summary={summary}
          label="Error rate"
          color="red.6"
          figure={(bucket) => (bucket.failed ?? 0) + (bucket.refused ?? 0)}
        />
      }
    />
  );
}

function MarginTile({ summary }: { summary: PeriodSummary }) {
  const { margin, withoutMargin } = summary.sums;
  const note =
    withoutMargin === '0'
      ? undefined
      : `Excludes ${formatMoney(withoutMargin)} of revenue whose provider cost is unknown`;
  return (
    <StatTile
      label="Margin"
      value={<Money usd={margin} none="Unknown" {...(margin?.startsWith('-') === true && { c: 'red' })} />}
      link={usageLink(summary)}
      note={margin === null ? 'No route has a cost.' : note}
      chart={<MiniChart summary={summary} label="Margin" figure={(bucket) => toChartNumber(bucket.margin)} />}
    />
  );
}

/** For accounts: cached input costs less. */
function CacheTile({ summary }: { summary: PeriodSummary }) {
  const { input, cacheRead, cacheWritten } = summary.sums;
  const whole = input + cacheRead + cacheWritten;
  return (
    <StatTile
      label="Cache hit rate"
      value={whole === 0 ? 'No input' : formatShare(cacheRead / whole)}
      link={usageLink(summary)}
      note={`${formatShort(cacheRead)} input tokens read from cache`}
    />
  );
}

function bucketTokens(bucket: UsageBucketShape): number {
  return sumTokens(splitTokens(bucket));
}

interface ChangeProps {
  summary: PeriodSummary;
  figure: keyof PeriodSummary['changes'];
  text?: string;
}

/** Has no color, because an increase can be good or bad. Nothing is compared with a range of which messages are unknown. */
function Change({ summary: { changes, incomparable }, figure, text }: ChangeProps) {
  const zone = useZone();
  const change = changes[figure];
  const day = (at: string) => formatTime(at, 'moment', zone);
  const why =
    incomparable === null
      ? undefined
      : `with the previous period, which starts ${day(incomparable.previousSince)}: data starts ${day(incomparable.knownSince)}.`;
  return (
    <div title={change === null ? why && `Not compared ${why}` : 'Compares complete intervals only'}>
      {text !== undefined && <div>{text}</div>}
      {change !== null && <div>{changeWords(change)}</div>}
      {change === null && why !== undefined && (
        <>
          Not compared<VisuallyHidden>{` ${why}`}</VisuallyHidden>
        </>
      )}
    </div>
  );
}

function changeWords(change: number): string {
  if (Math.abs(change) < 0.005) return 'No change vs. previous period';
  const share = formatShare(Math.abs(change));
  return `${change > 0 ? '▲' : '▼'} ${share} vs. previous period`;
}

interface MiniChartProps {
  summary: PeriodSummary;
  label: string;
  color?: string;
  figure: (bucket: UsageBucketShape) => number | null;
}

/** Hidden on phones, where the charts below show the same. */
function MiniChart({ summary: { buckets }, label, color = 'road.6', figure }: MiniChartProps) {
  return (
    <Box mt={4} visibleFrom="sm" aria-hidden="true">
      <TimeChart
        kind="area"
        isBare
        heightPx={28}
        summary={label}
        series={[{ name: 'figure', label, color }]}
        points={buckets.map((bucket) => ({ at: bucket.at, figure: figure(bucket) }))}
      />
    </Box>
  );
}

const HEIGHT_PX = 220;

interface ChartsProps {
  summary: PeriodSummary;
  step: UsageTimelineShape['step'];
}

interface Chart extends Pick<TimeChartProps, 'kind' | 'isStacked' | 'format' | 'formatValue' | 'isOfCounts'> {
  title: string;
  series: Series[];
  summary: string;
  /** Null if a bucket has no data. */
  figures: (bucket: UsageBucketShape) => Record<string, number | null>;
}

export function SummaryCharts({ summary, step }: ChartsProps) {
  const isInstallation = seesInstallation(useMe());
  const { sums } = summary;
  const charts = [requestsChart(sums), tokensChart(sums), moneyChart(sums, isInstallation), firstTokenChart(sums)];
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
      {charts.map((chart) => (
        <ChartSection key={chart.title} chart={chart} summary={summary} step={step} />
      ))}
    </SimpleGrid>
  );
}

function ChartSection({ chart, summary, step }: ChartsProps & { chart: Chart }) {
  const { title, figures, ...drawn } = chart;
  const zone = useZone();
  const pick = usePickBuckets(summary.buckets);
  const countedMs = Date.parse(summary.countedSince);
  const points = summary.buckets.map((bucket) => ({
    ...(Date.parse(bucket.at) >= countedMs ? figures(bucket) : {}),
    at: formatStep(bucket.at, step, zone),
  }));
  const isEmpty = points.every(({ at: _, ...shown }) => Object.values(shown).every((figure) => !figure));
  return (
    <Section title={title}>
      {isEmpty ? (
        <Center h={HEIGHT_PX}>
          <Hint>No requests in this period</Hint>
        </Center>
      ) : (
        <TimeChart {...drawn} points={points} heightPx={HEIGHT_PX} onPick={pick} />
      )}
    </Section>
  );
}

function requestsChart({ messages, failedShare, refused }: Sums): Chart {
  return {
    title: 'Requests',
    kind: 'bar',
    isStacked: true,
    isOfCounts: true,
    format: formatCount,
    summary: `${countOf(messages, 'request')}${refused === null ? '' : `, ${formatCount(refused)} rejected`}${failedShare === null ? '' : `, error rate ${formatShare(failedShare)}`}`,
    series: requestSeries({ failed: 0, refused }),
    figures: requestFigures,
  };
}

function tokensChart(sums: Sums): Chart {
  return {
    title: 'Tokens',
    kind: 'bar',
    isStacked: true,
    isOfCounts: true,
    format: formatCompact,
    summary: splitText(sums),
    series: [...tokenKinds],
    figures: (bucket) => ({ ...splitTokens(bucket) }),
  };
}

function moneyChart({ cost, margin }: Sums, isInstallation: boolean): Chart {
  const shared = { title: 'Spend', ...chartFormats, summary: `Total ${formatMoney(cost)}` };
  if (!isInstallation || margin === null)
    return {
      ...shared,
      kind: 'area',
      series: [{ name: 'cost', label: isInstallation ? 'Revenue' : 'Cost', color: 'road.6' }],
      figures: (bucket) => ({ cost: toChartNumber(bucket.cost) }),
    };
  return {
    ...shared,
    kind: 'line',
    series: [
      { name: 'cost', label: 'Revenue', color: 'road.6' },
      { name: 'providerCost', label: 'Provider cost', color: 'orange.6' },
      { name: 'margin', label: 'Margin', color: 'blue.6' },
    ],
    figures: (bucket) => ({
      cost: toChartNumber(bucket.cost),
      providerCost: ofSome(bucket, bucket.provider_cost),
      margin: ofSome(bucket, bucket.margin),
    }),
  };
}

function firstTokenChart({ firstTokenMsP50: half, firstTokenMsP95: most }: Sums): Chart {
  return {
    title: 'Time to first token',
    kind: 'line',
    format: formatMs,
    summary:
      half === null || most === null ? 'No requests in this period' : `p50 ${formatMs(half)}, p95 ${formatMs(most)}`,
    series: [
      { name: 'half', label: 'p50', color: 'road.6' },
      { name: 'most', label: 'p95', color: 'orange.6' },
    ],
    figures: ({ first_token_ms_p50, first_token_ms_p95 }) => ({ half: first_token_ms_p50, most: first_token_ms_p95 }),
  };
}

/** Zero for a bucket without requests, null if the amount is unknown. */
function ofSome({ messages }: UsageBucketShape, usd: string | null): number | null {
  return messages === 0 ? 0 : toChartNumber(usd);
}
