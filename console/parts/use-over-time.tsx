// What was used and paid day by day, of one model or one account: two pictures, with their sums.

import { Group, SegmentedControl, SimpleGrid, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { UsageBucketShape, UsageTimelineShape } from '../../src/admin-api/shapes.ts';
import type { Query } from '../api.ts';
import { forPicture } from '../decimals.ts';
import { formatCount, formatShort } from '../figures.ts';
import { useAsk } from '../queries.ts';
import { words } from '../words.ts';
import { FailureNotice } from './failure-notice.tsx';
import { formatMoney, nanoOf, usdOf } from './money.tsx';
import { Section } from './section.tsx';
import { TextLink } from './text-link.tsx';
import { TimeChart } from './time-chart.tsx';
import { Waiting } from './waiting.tsx';

const PERIODS = [7, 30, 90] as const;
const DAY_MS = 86_400_000;
const dayName = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });

interface UseOverTimeProps {
  /** What of, as words: the name of the model or account. */
  name: string;
  /** Which, as the reports are asked: { model }, { account }. */
  of: Query & Record<string, string>;
}

export function UseOverTime({ name, of }: UseOverTimeProps) {
  const [days, setDays] = useState<number>(30);
  const since = new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  const { data, error, refetch } = useAsk<UsageTimelineShape>('/usage/timeline', { ...of, step: 'day', since });
  return (
    <Section
      title={words.useOverTime.title}
      text={words.useOverTime.text(days)}
      aside={
        <SegmentedControl
          size="xs"
          aria-label={words.useOverTime.period}
          value={String(days)}
          onChange={(value) => setDays(Number(value))}
          data={PERIODS.map((count) => ({ value: String(count), label: words.useOverTime.days(count) }))}
        />
      }
    >
      <FailureNotice failure={error} onRetry={() => void refetch()} />
      {data === undefined ? (
        error === null && <Waiting rowCount={4} />
      ) : (
        <Pictures name={name} of={of} timeline={data} />
      )}
    </Section>
  );
}

function Pictures({ name, of, timeline }: UseOverTimeProps & { timeline: UsageTimelineShape }) {
  const messages = timeline.data.reduce((sum, bucket) => sum + bucket.messages, 0);
  const cost = usdOf(timeline.data.reduce((sum, bucket) => sum + nanoOf(bucket.cost), 0n));
  if (messages === 0)
    return (
      <Text size="sm" c="dimmed">
        {words.useOverTime.none}
      </Text>
    );
  const summary = words.useOverTime.summary(name, formatCount(messages), formatMoney(cost));
  const { series } = words.useOverTime;
  const points = timeline.data.map(pointOf);
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">{summary}</Text>
        <Text size="sm">
          <TextLink to="/usage" search={of}>
            {words.useOverTime.toUsage}
          </TextLink>
        </Text>
      </Group>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Stack gap={4}>
          <Text size="xs" c="dimmed">
            {words.useOverTime.tokens}
          </Text>
          <TimeChart
            kind="bar"
            isStacked
            heightPx={200}
            summary={summary}
            format={formatShort}
            points={points}
            series={[
              { name: 'input', label: series.input, color: 'road.7' },
              { name: 'cache', label: series.cache, color: 'gray.5' },
              { name: 'output', label: series.output, color: 'orange.6' },
            ]}
          />
        </Stack>
        <Stack gap={4}>
          <Text size="xs" c="dimmed">
            {words.useOverTime.cost}
          </Text>
          <TimeChart
            kind="bar"
            heightPx={200}
            summary={summary}
            format={shownCost}
            points={points}
            series={[{ name: 'cost', label: series.cost, color: 'road.7' }]}
          />
        </Stack>
      </SimpleGrid>
    </Stack>
  );
}

/** The axis has fractions of its own making. */
function shownCost(value: number): string {
  return formatMoney(value.toFixed(9));
}

function pointOf(bucket: UsageBucketShape) {
  return {
    at: dayName.format(new Date(bucket.at)),
    input: bucket.input_tokens,
    cache: bucket.cache_read_input_tokens + bucket.cache_creation_input_tokens,
    output: bucket.output_tokens,
    cost: forPicture(bucket.cost),
  };
}
