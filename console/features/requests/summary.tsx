// The sums of the filtered requests: one line of totals, a small histogram, and groups in place of the list.

import { Box, Card, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { UsageSummaryShape, UsageTotalShape } from '../../../src/admin-api/shapes.ts';
import type { Query } from '../../api.ts';
import { formatCount, formatShare, formatShort } from '../../figures.ts';
import type { Filters } from '../../filters.ts';
import { type Grouping, groupFilter, groupingLabels, groupingNoun, groupName } from '../../groupings.ts';
import { useActors, useNames } from '../../names.ts';
import { type Column, moneyColumn, PlainTable } from '../../parts/data-table.tsx';
import { TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { FailureNotice, Hint, Loading } from '../../parts/page.tsx';
import { useRange } from '../../parts/range.tsx';
import { TimeChart, type TimeChartProps } from '../../parts/time-chart.tsx';
import { useZone, When } from '../../parts/times.tsx';
import { UnitLines } from '../../parts/units.tsx';
import { requestFigures, requestSeries } from '../../parts/usage-charts.tsx';
import { useGet } from '../../queries.ts';
import { rangeOfBucket, stepMs, type TimeRange } from '../../range.ts';
import { formatTime, formatUtcDay } from '../../times.ts';
import { splitTokens, tokenKinds } from '../../tokens.ts';
import { quantityText, unitLabels, unitsUsed } from '../../units.ts';

const REFRESH_MS = 10_000;
const GROUPS_MAX = 200;

/** Without the name of a tag, there are no groups by it. */
export function useUsageSummary(query: Query, grouping: Grouping | null, isLive: boolean, tagName = '') {
  const { sort: _, order: __, ...filter } = query;
  const isGrouped = grouping !== null && (grouping !== 'tag' || tagName !== '');
  const ofTag = grouping === 'tag' && { tag_name: tagName };
  const grouped = isGrouped ? { group_by: grouping, limit: GROUPS_MAX, ...ofTag } : {};
  return useGet('/usage/summary', { query: { ...filter, ...grouped }, everyMs: isLive ? REFRESH_MS : undefined });
}

/** The members of a filter by which rejected requests can be narrowed, too. */
const OF_REJECTED = ['account', 'key', 'since', 'until'];

/** The number of rejected requests of the filter; null where they cannot be narrowed so, or until it is known. */
function useRejected(filter: Query, isLive: boolean): number | null {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  const isEnabled = given.every(([name]) => OF_REJECTED.includes(name));
  const query = { ...Object.fromEntries(given), group_by: 'code', limit: 1 };
  const { data } = useGet('/refusals/totals', { query, isEnabled, everyMs: isLive ? REFRESH_MS : undefined });
  return isEnabled ? (data?.total.count ?? null) : null;
}

interface UsageTotalsProps {
  summary: UsageSummaryShape;
  filter: Query;
  isLive: boolean;
  /** Picks buckets of the histogram. */
  onPick?: TimeChartProps['onPick'];
  children: ReactNode;
}

/** `children` stand at the end of the line. */
export function UsageTotals({ summary, filter, isLive, onPick, children }: UsageTotalsProps) {
  const { total, failed } = summary;
  const tokens = splitTokens(total);
  const rejected = useRejected(filter, isLive);
  const all = total.messages + (rejected ?? 0);
  return (
    <Card p="sm" mb="md" component="section" aria-label="Totals of the filtered requests">
      <Group justify="space-between" gap="md">
        <Group gap="lg">
          <Figure label="Requests">{formatCount(total.messages)}</Figure>
          {failed !== null && (
            <Figure label={rejected === null ? 'Failed' : 'Error rate'}>
              {all === 0 ? 'No requests' : formatShare((failed + (rejected ?? 0)) / all)}
            </Figure>
          )}
          {rejected !== null && rejected > 0 && <Figure label="Rejected">{formatCount(rejected)}</Figure>}
          <Figure label="Cost">
            <Money usd={total.cost} />
          </Figure>
          {tokenKinds.map(({ name, label }) => (
            <Figure key={name} label={label}>
              {formatShort(tokens[name])}
            </Figure>
          ))}
          {unitsUsed(total.units).map(({ unit, quantity }) => (
            <Figure key={unit} label={unitLabels[unit]}>
              {quantityText(unit, quantity, formatShort)}
            </Figure>
          ))}
        </Group>
        {children}
      </Group>
      <Histogram summary={summary} onPick={onPick} />
      <Bounds summary={summary} />
    </Card>
  );
}

/** Says what the figures leave out. */
function Bounds({ summary: { is_of_days: isOfDays, counted_since: since } }: { summary: UsageSummaryShape }) {
  if (!isOfDays && since === null) return null;
  return (
    <Hint size="xs" component="div" mt={4}>
      {isOfDays ? (
        'Whole days (UTC)'
      ) : (
        <>
          {'Too many requests match: the figures start at '}
          <When at={since} />
        </>
      )}
    </Hint>
  );
}

function Figure({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Group gap={6} align="baseline">
      <Hint size="xs">{label}</Hint>
      <Text fw={600} className="tabular" component="div">
        {children}
      </Text>
    </Group>
  );
}

const DAY_SECONDS = 86_400;
const HEIGHT_PX = 88;

type HistogramProps = Pick<UsageTotalsProps, 'summary' | 'onPick'>;

function Histogram({ summary: { buckets, step_seconds: step, total, failed }, onPick }: HistogramProps) {
  const zone = useZone();
  if (buckets.length < 2) return null;
  const nameOf = (at: string) => (step >= DAY_SECONDS ? formatUtcDay(at.slice(0, 10)) : formatTime(at, 'short', zone));
  const [first, last] = [buckets[0]?.at ?? '', buckets.at(-1)?.at ?? ''];
  return (
    <Box mt="xs">
      <TimeChart
        kind="bar"
        isStacked
        isSmall
        isOfCounts
        heightPx={HEIGHT_PX}
        format={formatCount}
        onPick={onPick}
        summary={`Requests over time, from ${nameOf(first)} to ${nameOf(last)}: ${formatCount(total.messages)}`}
        series={requestSeries({ failed, refused: null })}
        points={buckets.map((bucket) => ({ at: nameOf(bucket.at), ...requestFigures({ ...bucket, refused: null }) }))}
      />
    </Box>
  );
}

interface UsageGroupsProps {
  grouping: Grouping;
  answer: ReturnType<typeof useUsageSummary>;
  filters: Filters;
}

export function UsageGroups({ grouping, answer, filters }: UsageGroupsProps) {
  const { data, error, refetch, isPlaceholderData } = answer;
  const rows = data?.data ?? [];
  const names = useNames(rows.map(({ account, key }) => ({ account, key })));
  const personName = useActors(rows.map(({ person }) => person));
  const range = useRange();
  const nameOf = (row: UsageTotalShape) => groupName(row, grouping, { ...names, person: personName });
  if (error !== null) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  // The rows of the former grouping have no names in this one.
  if (data === undefined || isPlaceholderData) return <Loading />;
  return (
    <Card p={0}>
      <PlainTable<UsageTotalShape>
        isFolding
        label={`Requests by ${groupingNoun(grouping)}`}
        isCompact={false}
        columns={groupColumns({ grouping, values: filters.values, range, total: data.total }, nameOf)}
        rows={rows}
        keyOf={(row) => row[grouping] ?? ''}
        {...(data.groups > rows.length && {
          note: `The ${formatCount(rows.length)} groups with the highest cost, of ${formatCount(data.groups)}. The total includes all groups.`,
        })}
      />
    </Card>
  );
}

interface GroupsShown {
  grouping: Grouping;
  /** The parameters of the address. */
  values: Filters['values'];
  range: TimeRange;
  total: UsageTotalShape;
}

function groupColumns({ grouping, values, range, total }: GroupsShown, nameOf: (row: UsageTotalShape) => string) {
  const { sort: _, order: __, group_by: ___, tag_name: ____, ...others } = values;
  const count = (name: string, label: string, of: (row: UsageTotalShape) => number): Column<UsageTotalShape> => ({
    name,
    label,
    align: 'right',
    show: (row) => <span className="tabular">{formatCount(of(row))}</span>,
    total: <span className="tabular">{formatCount(of(total))}</span>,
    ...(name !== 'messages' && { from: 'sm' as const }),
  });
  /** The list of the group's requests. */
  const searchOf = (row: UsageTotalShape): Record<string, string> =>
    grouping === 'day'
      ? { ...others, range: rangeOfBucket(range, row.day ?? '', stepMs.day) }
      : { ...others, ...groupFilter(row, grouping, values) };
  const columns: Column<UsageTotalShape>[] = [
    {
      name: grouping,
      label: grouping === 'day' ? 'Day (UTC)' : groupingLabels[grouping],
      show: (row) =>
        row[grouping] === null ? (
          nameOf(row)
        ) : (
          <TextLink to={grouping === 'session' ? '/session' : '/usage'} search={searchOf(row)} className="wrap">
            {nameOf(row)}
          </TextLink>
        ),
      total: 'Total',
    },
    count('messages', 'Requests', (row) => row.messages),
    ...tokenKinds.map(({ name, label }) => count(name, label, (row) => splitTokens(row)[name])),
    ...(unitsUsed(total.units).length === 0 ? [] : [unitsColumn(total)]),
    {
      ...moneyColumn<UsageTotalShape>('cost', 'Cost', (row) => row.cost),
      total: <Money usd={total.cost} />,
    },
  ];
  return columns;
}

function unitsColumn(total: UsageTotalShape): Column<UsageTotalShape> {
  const show = ({ units }: UsageTotalShape) => <UnitLines units={units} />;
  return { name: 'units', label: 'Units', align: 'right', from: 'sm', show, total: show(total) };
}
