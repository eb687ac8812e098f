// What costs most of the period: models, keys and accounts, each a link to its requests; and how the providers do.

import { Box, Group, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import type { UsageTotalShape } from '../../../src/admin-api/shapes.ts';
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

interface Totals {
  data: UsageTotalShape[];
  groups: number;
}

type Grouping = 'model' | 'key' | 'account';

export function TopLists({ sinceDay, period }: { sinceDay: string; period: OverviewPeriod }) {
  const isInstallation = isOfInstallation(useMe());
  const shared = { sinceDay, period };
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, xl: isInstallation ? 4 : 2 }} spacing="md">
      <TopList groupBy="model" title={its.models} {...shared} />
      <TopList groupBy="key" title={its.keys} {...shared} />
      {isInstallation && <TopList groupBy="account" title={its.accounts} {...shared} />}
      {isInstallation && <ProviderList />}
    </SimpleGrid>
  );
}

interface TopListProps {
  groupBy: Grouping;
  title: string;
  sinceDay: string;
  period: OverviewPeriod;
}

function TopList({ groupBy, title, sinceDay, period }: TopListProps) {
  const query = { group_by: groupBy, limit: SHOWN_MAX, since: sinceDay };
  const { everyMs } = periods[period];
  const { data, error, refetch } = useAsk<Totals>('/usage/totals', query, { everyMs });
  return (
    <Section title={title} text={its.text(sinceDay)}>
      {error !== null && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Waiting rowCount={SHOWN_MAX} />}
      {data?.data.length === 0 && (
        <Text size="sm" c="dimmed">
          {its.nothing}
        </Text>
      )}
      {data !== undefined && data.data.length > 0 && <Rows totals={data} groupBy={groupBy} sinceDay={sinceDay} />}
    </Section>
  );
}

function Rows({ totals, groupBy, sinceDay }: { totals: Totals; groupBy: Grouping; sinceDay: string }) {
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
