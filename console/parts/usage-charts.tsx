// Requests, tokens and cost of one model or account over the time range, with totals.

import { Group, SimpleGrid, Stack, Text } from '@mantine/core';
import type { UsageBucketShape, UsageTimelineShape } from '../../src/admin-api/shapes.ts';
import type { Query } from '../api.ts';
import { countOf, formatCompact, formatCount, toChartNumber } from '../figures.ts';
import { chartFormats, formatMoney, sumOf } from '../money.ts';
import { useGet } from '../queries.ts';
import { rangeQuery, type Step } from '../range.ts';
import { formatStep } from '../times.ts';
import { splitTokens, tokenKinds } from '../tokens.ts';
import { unitsText } from '../units.ts';
import { TextLink } from './link.tsx';
import { Money } from './money.tsx';
import { FailureNotice, Hint, Loading, Section } from './page.tsx';
import { RangeFilter, usePickBuckets, useRange, useRangeText } from './range.tsx';
import { type Series, TimeChart } from './time-chart.tsx';
import { useZone } from './times.tsx';

interface UseOverTimeProps {
  /** The filter of the usage reports: { model } or { account }. */
  of: Query & Record<string, string>;
}

export function UseOverTime({ of }: UseOverTimeProps) {
  const range = useRange();
  const { step } = range;
  const query = { ...of, ...rangeQuery(range) };
  const { data, error, refetch } = useGet('/usage/timeline', { query: { ...query, step } });
  const totals = useGet('/usage/totals', { query: { ...query, limit: 1 } });
  const units = unitsText(totals.data?.total.units ?? null);
  return (
    <Section title="Usage" text={useRangeText()} aside={<RangeFilter />}>
      <FailureNotice failure={error} onRetry={() => void refetch()} />
      {data === undefined ? (
        error === null && <Loading rowCount={4} />
      ) : (
        <Charts of={of} timeline={data} units={units === '' ? '' : ` · ${units}`} />
      )}
    </Section>
  );
}

function Charts({ of, timeline, units }: UseOverTimeProps & { timeline: UsageTimelineShape; units: string }) {
  const messages = timeline.data.reduce((sum, bucket) => sum + bucket.messages, 0);
  const cost = sumOf(timeline.data.map((bucket) => bucket.cost));
  const refused = timeline.data.reduce((sum, bucket) => sum + (bucket.refused ?? 0), 0);
  const isCounted = timeline.data.some((bucket) => bucket.refused !== null);
  const further = `${refused === 0 ? '' : ` · ${countOf(refused, 'rejected request')}`}${units}`;
  const requests = countOf(messages, 'request');
  const summary = `${requests}, ${formatMoney(cost)}`;
  const zone = useZone();
  const pick = usePickBuckets(timeline.data, of);
  if (messages + refused === 0) return <Hint>No requests in this period.</Hint>;
  const points = timeline.data.map((bucket) => pointOf(bucket, timeline.step, zone));
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">
          {requests}, <Money usd={cost} />
          {further}
        </Text>
        <Text size="sm">
          <TextLink to="/usage" search={of}>
            View requests
          </TextLink>
        </Text>
      </Group>
      <SimpleGrid cols={{ base: 1, md: 2, lg: 3 }}>
        <Stack gap={4}>
          <Hint size="xs">Requests</Hint>
          <TimeChart
            kind="bar"
            isStacked
            isOfCounts
            onPick={pick}
            heightPx={200}
            summary={`${requests}${further}`}
            format={formatCount}
            points={points}
            series={requestSeries({ failed: 0, refused: isCounted ? refused : null })}
          />
        </Stack>
        <Stack gap={4}>
          <Hint size="xs">Tokens</Hint>
          <TimeChart
            kind="bar"
            isStacked
            isOfCounts
            onPick={pick}
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
            onPick={pick}
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

type Requests = Pick<UsageBucketShape, 'failed' | 'refused'>;

/** The bars of requests. A count that is null has none. */
export function requestSeries({ failed, refused }: Requests): Series[] {
  return [
    { name: 'completed', label: failed === null ? 'Requests' : 'Completed', color: 'road.6' },
    ...(failed === null ? [] : [{ name: 'failed', label: 'Failed', color: 'red.6' }]),
    ...(refused === null ? [] : [{ name: 'refused', label: 'Rejected', color: 'yellow.6' }]),
  ];
}

export function requestFigures({ messages, failed, refused }: Requests & Pick<UsageBucketShape, 'messages'>) {
  return { completed: messages - (failed ?? 0), failed, refused };
}

function pointOf(bucket: UsageBucketShape, step: Step, zone: string) {
  return {
    at: formatStep(bucket.at, step, zone),
    ...requestFigures(bucket),
    ...splitTokens(bucket),
    cost: toChartNumber(bucket.cost),
  };
}
