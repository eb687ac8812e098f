// What a key cost and how many messages it sent, over time.

import { Card, Group, SegmentedControl, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import type { UsageBucketShape, UsageTimelineShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { useFilters } from '../../filters.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { formatMoney, nanoOf, usdOf } from '../../parts/money.tsx';
import { TimeChart } from '../../parts/time-chart.tsx';
import { When } from '../../parts/when.tsx';
import { useAsk } from '../../queries.ts';
import { words } from '../../words.ts';

const HOUR_MS = 3_600_000;
const LOOK_MS = 10_000;

type PeriodName = keyof typeof words.keys.usePeriods;
const periods: Readonly<Record<PeriodName, { step: UsageTimelineShape['step']; hours: number }>> = {
  '24h': { step: 'hour', hours: 24 },
  '7d': { step: 'hour', hours: 7 * 24 },
  '30d': { step: 'day', hours: 30 * 24 },
  '90d': { step: 'day', hours: 90 * 24 },
};

export function KeyUse({ keyId }: { keyId: string }) {
  const { values, set } = useFilters();
  const asked = values['period'] ?? '30d';
  const name = asked in periods ? (asked as PeriodName) : '30d';
  const { step, hours } = periods[name];
  // To the hour, so that it is the same question for a while.
  const sinceMs = Math.floor(Date.now() / HOUR_MS - hours + 1) * HOUR_MS;
  const timeline = useAsk<UsageTimelineShape>(
    '/usage/timeline',
    { key: keyId, step, since: new Date(sinceMs).toISOString() },
    { everyMs: LOOK_MS },
  );
  return (
    <Stack gap="sm">
      <Group justify="flex-end">
        <SegmentedControl
          size="xs"
          aria-label={words.keys.usePeriod}
          value={name}
          onChange={(period) => set({ period })}
          data={Object.entries(words.keys.usePeriods).map(([value, label]) => ({ value, label }))}
        />
      </Group>
      {timeline.data === undefined ? (
        timeline.error === null ? (
          <Skeleton h={240} />
        ) : (
          <FailureNotice failure={timeline.error} onRetry={() => void timeline.refetch()} />
        )
      ) : (
        <Charts timeline={timeline.data} period={words.keys.usePeriods[name]} />
      )}
    </Stack>
  );
}

function Charts({ timeline, period }: { timeline: UsageTimelineShape; period: string }) {
  const { series } = words.keys;
  const messages = timeline.data.reduce((sum, bucket) => sum + bucket.messages, 0);
  const failed = timeline.data.reduce((sum, bucket) => sum + (bucket.failed ?? 0), 0);
  const cost = formatMoney(usdOf(timeline.data.reduce((sum, bucket) => sum + nanoOf(bucket.cost), 0n)));
  const points = timeline.data.map((bucket) => pointOf(bucket, timeline.step));
  return (
    <>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <ChartCard title={words.keys.costChart} figure={cost}>
          <TimeChart
            kind="bar"
            points={points}
            series={[{ name: 'cost', label: series.cost, color: 'road.6' }]}
            format={(usd) => formatMoney(usd.toFixed(9))}
            summary={words.keys.costSummary(cost, period)}
            heightPx={200}
          />
        </ChartCard>
        <ChartCard title={words.keys.messagesChart} figure={formatCount(messages)}>
          <TimeChart
            kind="bar"
            isStacked
            points={points}
            series={[
              { name: 'answered', label: series.answered, color: 'road.6' },
              { name: 'failed', label: series.failed, color: 'orange.6' },
            ]}
            format={formatCount}
            summary={words.keys.messagesSummary(messages, failed, period)}
            heightPx={200}
          />
        </ChartCard>
      </SimpleGrid>
      {timeline.counted_since > timeline.since && (
        <Text size="xs" c="dimmed">
          {words.keys.notCounted} <When at={timeline.counted_since} />
        </Text>
      )}
    </>
  );
}

function ChartCard({ title, figure, children }: { title: string; figure: string; children: React.ReactNode }) {
  return (
    <Card withBorder>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Text fw={650} className="tabular">
          {figure}
        </Text>
      </Group>
      {children}
    </Card>
  );
}

const dayLabel = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });
const hourLabel = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' });

/** A picture needs no nanodollars. Days are those of UTC, hours those of whoever looks. */
function pointOf({ at, messages, failed, cost }: UsageBucketShape, step: UsageTimelineShape['step']) {
  const label = (step === 'day' ? dayLabel : hourLabel).format(new Date(at));
  return { at: label, cost: Number(cost), answered: messages - (failed ?? 0), failed: failed ?? 0 };
}
