// The models, keys and accounts with the highest cost in a period, and the health of the providers.

import { Box, Group, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import type { UsageTopShape } from '../../../src/admin-api/shapes.ts';
import { countOf, formatCount, formatShort } from '../../figures.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { nanoOf } from '../../money.ts';
import { useNames } from '../../names.ts';
import { ProviderHealth } from '../../parts/badges.tsx';
import { TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { FailureNotice, Hint, Loading, Section } from '../../parts/page.tsx';
import { refreshMs } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { rangeQuery, type TimeRange } from '../../range.ts';
import { unitsText, unitsUsed } from '../../units.ts';

const SHOWN_MAX = 5;

type Grouping = 'model' | 'key' | 'account';

export function TopLists({ range }: { range: TimeRange }) {
  const isInstallation = seesInstallation(useMe());
  const top = useGet('/usage/top', {
    query: { limit: SHOWN_MAX, ...rangeQuery(range) },
    everyMs: refreshMs[range.step],
  });
  const shared = {
    countedSince: top.data?.counted_since ?? null,
    failure: top.error,
    onRetry: () => void top.refetch(),
  };
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, xl: isInstallation ? 4 : 2 }} spacing="md">
      <TopList groupBy="model" title="Top models" totals={top.data?.models} {...shared} />
      <TopList groupBy="key" title="Top API keys" totals={top.data?.keys} {...shared} />
      {isInstallation && <TopList groupBy="account" title="Top accounts" totals={top.data?.accounts} {...shared} />}
      {isInstallation && <ProviderList />}
    </SimpleGrid>
  );
}

interface TopListProps {
  groupBy: Grouping;
  title: string;
  /** Undefined while loading. */
  totals: UsageTopShape['models'] | undefined;
  /** Later than the start of the period if earlier requests are not counted. */
  countedSince: string | null;
  failure: Error | null;
  onRetry: () => void;
}

function TopList({ groupBy, title, totals, countedSince, failure, onRetry }: TopListProps) {
  return (
    <Section
      title={title}
      text={
        countedSince === null ? (
          'By cost'
        ) : (
          <>
            By cost, counted since <When at={countedSince} />
          </>
        )
      }
    >
      <FailureNotice failure={failure} onRetry={onRetry} />
      {failure === null && totals === undefined && <Loading rowCount={SHOWN_MAX} />}
      {totals?.data.length === 0 && <Hint>No usage in this period.</Hint>}
      {totals !== undefined && totals.data.length > 0 && <Rows totals={totals} groupBy={groupBy} />}
    </Section>
  );
}

function Rows({ totals, groupBy }: { totals: UsageTopShape['models']; groupBy: Grouping }) {
  const names = useNames(totals.data);
  const most = nanoOf(totals.data[0]?.cost ?? '0');
  const nameOf = (id: string) => (groupBy === 'model' ? id : names[groupBy](id));
  return (
    <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
      {totals.data.map((row) => {
        const id = row[groupBy] ?? '';
        const search = { [groupBy]: id };
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
              <Hint size="xs" className="tabular">
                {countOf(row.messages, 'request', formatShort)}
              </Hint>
            </Group>
            {unitsUsed(row.units).length > 0 && <Hint size="xs">{unitsText(row.units)}</Hint>}
          </Box>
        );
      })}
      {totals.groups > totals.data.length && (
        <Text component="li" size="xs" c="dimmed">
          {`${formatCount(totals.groups - totals.data.length)} more`}
        </Text>
      )}
    </Stack>
  );
}

/** The percentage of the highest cost. */
function shareOf(cost: string, most: bigint): number {
  return most <= 0n ? 0 : Number((nanoOf(cost) * 1_000n) / most) / 10;
}

const PROVIDERS_MAX = 12;
const REFRESH_MS = 10_000;

function ProviderList() {
  const query = { limit: PROVIDERS_MAX };
  const { data, error, refetch } = useGet('/providers', { query, everyMs: REFRESH_MS });
  return (
    <Section
      title="Provider health"
      text="Now"
      aside={
        <Text size="sm">
          <TextLink to="/providers">View providers</TextLink>
        </Text>
      }
    >
      {error !== null && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Loading rowCount={3} />}
      {data?.data.length === 0 && <Hint>No providers yet.</Hint>}
      <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {data?.data.map((provider) => (
          <Group component="li" key={provider.name} justify="space-between" gap="xs">
            <Text size="sm" truncate maw={200} title={provider.name}>
              {provider.name}
            </Text>
            <ProviderHealth provider={provider} />
          </Group>
        ))}
      </Stack>
    </Section>
  );
}
