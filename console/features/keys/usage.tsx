// Cost and requests of a key over time.

import { Card, Group, SegmentedControl, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import type { UsageBucketShape, UsageTimelineShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { useFilters } from '../../filters.ts';
import { optionsOf } from '../../labels.ts';
import { chartFormats, formatMoney, sumOf } from '../../money.ts';
import { Money } from '../../parts/money.tsx';
import { FailureNotice, Heading, Hint } from '../../parts/page.tsx';
import { TimeChart } from '../../parts/time-chart.tsx';
import { useZone, When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { formatTime, formatUtcDay } from '../../times.ts';

const periodLabels = { '24h': '24 hours', '7d': '7 days', '30d': '30 days (UTC)', '90d': '90 days (UTC)' };

const HOUR_MS = 3_600_000;
const REFRESH_MS = 10_000;

type PeriodName = keyof typeof periodLabels;
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
  // Rounded to the hour, so that the query can be cached.
  const sinceMs = Math.floor(Date.now() / HOUR_MS - hours + 1) * HOUR_MS;
  const timeline = useGet('/usage/timeline', {
    query: { key: keyId, step, since: new Date(sinceMs).toISOString() },
    everyMs: REFRESH_MS,
  });
  return (
    <Stack gap="sm">
      <Group justify="flex-end">
        <SegmentedControl
          size="xs"
          aria-label="Period"
          value={name}
          onChange={(period) => set({ period })}
          data={optionsOf(periodLabels)}
        />
      </Group>
      {timeline.data === undefined ? (
        timeline.error === null ? (
          <Skeleton h={240} />
        ) : (
          <FailureNotice failure={timeline.error} onRetry={() => void timeline.refetch()} />
        )
      ) : (
        <Charts timeline={timeline.data} period={periodLabels[name]} />
      )}
    </Stack>
  );
}

function Charts({ timeline, period }: { timeline: UsageTimelineShape; period: string }) {
  const messages = timeline.data.reduce((sum, bucket) => sum + bucket.messages, 0);
  const failed = timeline.data.reduce((sum, bucket) => sum + (bucket.failed ?? 0), 0);
  const refused = timeline.data.reduce((sum, bucket) => sum + (bucket.refused ?? 0), 0);
  const cost = sumOf(timeline.data.map((bucket) => bucket.cost));
  const zone = useZone();
  const points = timeline.data.map((bucket) => pointOf(bucket, timeline.step, zone));
  return (
    <>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <ChartCard title="Cost" figure={<Money usd={cost} />}>
          <TimeChart
            kind="bar"
            points={points}
            series={[{ name: 'cost', label: 'Cost', color: 'road.6' }]}
            {...chartFormats}
            summary={`Cost: ${formatMoney(cost)} in ${period}.`}
            heightPx={200}
          />
        </ChartCard>
        <ChartCard
          title="Requests"
          figure={refused === 0 ? formatCount(messages) : `${formatCount(messages)} · ${formatCount(refused)} rejected`}
        >
          <TimeChart
            kind="bar"
            isStacked
            points={points}
            series={[
              { name: 'completed', label: 'Completed', color: 'road.6' },
              { name: 'failed', label: 'Failed', color: 'red.6' },
              { name: 'refused', label: 'Rejected', color: 'yellow.6' },
            ]}
            format={formatCount}
            summary={`Requests: ${messages} in ${period}, ${failed} of them failed; ${refused} more were rejected.`}
            heightPx={200}
          />
        </ChartCard>
      </SimpleGrid>
      {timeline.counted_since > timeline.since && (
        <Hint size="xs">
          {'Data starts at'} <When at={timeline.counted_since} />
        </Hint>
      )}
    </>
  );
}

function ChartCard({ title, figure, children }: { title: string; figure: React.ReactNode; children: React.ReactNode }) {
  return (
    <Card>
      <Group justify="space-between" mb="sm">
        <Heading>{title}</Heading>
        <Text fw={650} className="tabular">
          {figure}
        </Text>
      </Group>
      {children}
    </Card>
  );
}

/** Days are in UTC, as the service counts them. */
function pointOf(bucket: UsageBucketShape, step: UsageTimelineShape['step'], zone: string) {
  const { at, messages, failed, refused, cost } = bucket;
  const label = step === 'day' ? formatUtcDay(at) : formatTime(at, 'hour', zone);
  return { at: label, cost: Number(cost), completed: messages - (failed ?? 0), failed: failed ?? 0, refused };
}
