// Daily tokens and cost of one model or account, with totals.

import { Group, SegmentedControl, SimpleGrid, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { UsageBucketShape, UsageTimelineShape } from '../../src/admin-api/shapes.ts';
import type { Query } from '../api.ts';
import { countOf, dayBefore, formatCompact, toChartNumber } from '../figures.ts';
import { chartFormats, formatMoney, sumOf } from '../money.ts';
import { useGet } from '../queries.ts';
import { formatUtcDay } from '../times.ts';
import { splitTokens, tokenKinds } from '../tokens.ts';
import { TextLink } from './link.tsx';
import { Money } from './money.tsx';
import { FailureNotice, Hint, Loading, Section } from './page.tsx';
import { TimeChart } from './time-chart.tsx';

const PERIODS = [7, 30, 90] as const;

interface UseOverTimeProps {
  /** The filter of the usage reports: { model } or { account }. */
  of: Query & Record<string, string>;
}

export function UseOverTime({ of }: UseOverTimeProps) {
  const [days, setDays] = useState<number>(30);
  const since = dayBefore(days);
  const { data, error, refetch } = useGet('/usage/timeline', { query: { ...of, step: 'day', since } });
  return (
    <Section
      title="Usage"
      text={`Last ${days} days, by day (UTC)`}
      aside={
        <SegmentedControl
          size="xs"
          aria-label="Period"
          value={String(days)}
          onChange={(value) => setDays(Number(value))}
          data={PERIODS.map((count) => ({ value: String(count), label: `${count} days` }))}
        />
      }
    >
      <FailureNotice failure={error} onRetry={() => void refetch()} />
      {data === undefined ? error === null && <Loading rowCount={4} /> : <Charts of={of} timeline={data} />}
    </Section>
  );
}

function Charts({ of, timeline }: UseOverTimeProps & { timeline: UsageTimelineShape }) {
  const messages = timeline.data.reduce((sum, bucket) => sum + bucket.messages, 0);
  const cost = sumOf(timeline.data.map((bucket) => bucket.cost));
  const refused = timeline.data.reduce((sum, bucket) => sum + (bucket.refused ?? 0), 0);
  const rejected = refused === 0 ? '' : ` · ${countOf(refused, 'rejected request')}`;
  if (messages === 0) return <Hint>{`No requests in this period${rejected}.`}</Hint>;
  const requests = countOf(messages, 'request');
  const summary = `${requests}, ${formatMoney(cost)}`;
  const points = timeline.data.map(pointOf);
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">
          {requests}, <Money usd={cost} />
          {rejected}
        </Text>
        <Text size="sm">
          <TextLink to="/usage" search={of}>
            View requests
          </TextLink>
        </Text>
      </Group>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Stack gap={4}>
          <Hint size="xs">Tokens</Hint>
          <TimeChart
            kind="bar"
            isStacked
            heightPx={200}
            summary={summary}
            format={formatCompact}
            points={points}
            series={[...tokenKinds]}
          />
        </Stack>
        <Stack gap={4}>
          <Hint size="xs">Cost (USD)</Hint>
          <TimeChart
            kind="bar"
            heightPx={200}
            summary={summary}
            {...chartFormats}
            points={points}
            series={[{ name: 'cost', label: 'Cost', color: 'road.7' }]}
          />
        </Stack>
      </SimpleGrid>
    </Stack>
  );
}

function pointOf(bucket: UsageBucketShape) {
  return {
    at: formatUtcDay(bucket.at),
    ...splitTokens(bucket),
    cost: toChartNumber(bucket.cost),
  };
}
