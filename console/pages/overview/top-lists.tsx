// What costs most of the period: models, keys and accounts, each a link to its requests; and how the providers do.

import { Box, Group, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import type { UsageTopShape } from '../../../src/admin-api/shapes.ts';
import { formatCount, formatShort } from '../../figures.ts';
import { isOfInstallation, useMe } from '../../me.tsx';
import { useNames } from '../../names.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { Money, nanoOf } from '../../parts/money.tsx';
import { Section } from '../../parts/section.tsx';
import { TextLink } from '../../parts/text-link.tsx';
import { Waiting } from '../../parts/waiting.tsx';
import { useAsk } from '../../queries.ts';
import { words } from '../../words.ts';
import { type OverviewPeriod, periods } from './course.ts';
import { ProviderList } from './provider-list.tsx';

const { top: its } = words.overview;
const SHOWN_MAX = 5;

type Grouping = 'model' | 'key' | 'account';

export function TopLists({ sinceDay, period }: { sinceDay: string; period: OverviewPeriod }) {
  const isInstallation = isOfInstallation(useMe());
  const { everyMs } = periods[period];
  const top = useAsk<UsageTopShape>('/usage/top', { limit: SHOWN_MAX, since: sinceDay }, { everyMs });
  const shared = { sinceDay, failure: top.error, onRetry: () => void top.refetch() };
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, xl: isInstallation ? 4 : 2 }} spacing="md">
      <TopList groupBy="model" title={its.models} totals={top.data?.models} {...shared} />
      <TopList groupBy="key" title={its.keys} totals={top.data?.keys} {...shared} />
      {isInstallation && <TopList groupBy="account" title={its.accounts} totals={top.data?.accounts} {...shared} />}
      {isInstallation && <ProviderList />}
    </SimpleGrid>
  );
}

interface TopListProps {
  groupBy: Grouping;
  title: string;
  /** Undefined: not there yet. */
  totals: UsageTopShape['models'] | undefined;
  sinceDay: string;
  failure: Error | null;
  onRetry: () => void;
}

function TopList({ groupBy, title, totals, sinceDay, failure, onRetry }: TopListProps) {
  return (
    <Section title={title} text={its.text(sinceDay)}>
      <FailureNotice failure={failure} onRetry={onRetry} />
      {failure === null && totals === undefined && <Waiting rowCount={SHOWN_MAX} />}
      {totals?.data.length === 0 && (
        <Text size="sm" c="dimmed">
          {its.nothing}
        </Text>
      )}
      {totals !== undefined && totals.data.length > 0 && <Rows totals={totals} groupBy={groupBy} sinceDay={sinceDay} />}
    </Section>
  );
}

function Rows({ totals, groupBy, sinceDay }: { totals: UsageTopShape['models']; groupBy: Grouping; sinceDay: string }) {
  const names = useNames(totals.data);
  const most = nanoOf(totals.data[0]?.cost ?? '0');
  const nameOf = (id: string) => (groupBy === 'model' ? id : names[groupBy](id));
  return (
    <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
      {totals.data.map((row) => {
        const id = row[groupBy] ?? '';
        const search = { [groupBy]: id, period: 'custom', since: `${sinceDay}T00:00:00.000Z` };
        return (
          <Box component="li" key={id}>
            <Group justify="space-between" gap="xs" wrap="nowrap" align="baseline">
              <Text size="sm" truncate title={nameOf(id)}>
                <TextLink to="/usage" search={search}>
                  {nameOf(id)}
                </TextLink>
              </Text>
              <Text size="sm" fw={600} component="span">
                <Money usd={row.cost} />
              </Text>
            </Group>
            <Group gap="xs" wrap="nowrap">
              <Progress value={shareOf(row.cost, most)} size="sm" style={{ flex: 1 }} aria-hidden="true" />
              <Text size="xs" c="dimmed" className="tabular">
                {its.messages(formatShort(row.messages))}
              </Text>
            </Group>
          </Box>
        );
      })}
      {totals.groups > totals.data.length && (
        <Text component="li" size="xs" c="dimmed">
          {its.others(formatCount(totals.groups - totals.data.length))}
        </Text>
      )}
    </Stack>
  );
}

/** In percent of the one that cost most. */
function shareOf(cost: string, most: bigint): number {
  return most <= 0n ? 0 : Number((nanoOf(cost) * 1_000n) / most) / 10;
}
