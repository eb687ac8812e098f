// Cost and requests of a key over time.

import { Card, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import type { UsageBucketShape, UsageTimelineShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { chartFormats, formatMoney, sumOf } from '../../money.ts';
import { Money } from '../../parts/money.tsx';
import { FailureNotice, Heading, Hint } from '../../parts/page.tsx';
import { RangeFilter, usePickBuckets, useRange, useRangeText } from '../../parts/range.tsx';
import { TimeChart } from '../../parts/time-chart.tsx';
import { useZone, When } from '../../parts/times.tsx';
import { requestFigures, requestSeries } from '../../parts/usage-charts.tsx';
import { useGet } from '../../queries.ts';
import { rangeQuery, type Step } from '../../range.ts';
import { formatStep } from '../../times.ts';
import { unitsText } from '../../units.ts';

const REFRESH_MS = 10_000;

export function KeyUse({ keyId }: { keyId: string }) {
  const range = useRange();
  const query = { key: keyId, ...rangeQuery(range) };
  const timeline = useGet('/usage/timeline', { query: { ...query, step: range.step }, everyMs: REFRESH_MS });
  const totals = useGet('/usage/totals', { query: { ...query, limit: 1 }, everyMs: REFRESH_MS }).data;
  const units = unitsText(totals?.total.units ?? null);
  const text = useRangeText();
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Hint>{text}</Hint>
        <RangeFilter />
      </Group>
      {timeline.data === undefined ? (
        timeline.error === null ? (
          <Skeleton h={240} />
        ) : (
          <FailureNotice failure={timeline.error} onRetry={() => void timeline.refetch()} />
        )
      ) : (
        <Charts keyId={keyId} timeline={timeline.data} period={text} />
      )}
      {units !== '' && <Text size="sm">{units}</Text>}
    </Stack>
  );
}

interface ChartsProps {
  keyId: string;
  timeline: UsageTimelineShape;
  period: string;
}

function Charts({ keyId, timeline, period }: ChartsProps) {
  const pick = usePickBuckets(timeline.data, { key: keyId });
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
            onPick={pick}
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
            onPick={pick}
            series={requestSeries({ failed, refused })}
            format={formatCount}
            isOfCounts
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

function pointOf(bucket: UsageBucketShape, step: Step, zone: string) {
  return { ...requestFigures(bucket), at: formatStep(bucket.at, step, zone), cost: Number(bucket.cost) };
}
