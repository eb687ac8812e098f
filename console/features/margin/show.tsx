// The margin of a period: against the period before, why it changed, and by model, provider, group, account, key, user or tag.

import { Group, SimpleGrid, Stack, Text } from '@mantine/core';
import type { MarginChangeShape, MarginGroupShape, MarginShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { useFilters } from '../../filters.ts';
import { groupFilter, groupingNoun, groupName } from '../../groupings.ts';
import { nanoOf, usdOf } from '../../money.ts';
import { useActors, useNames } from '../../names.ts';
import { saveFile } from '../../parts/csv-button.tsx';
import { type Column, moneyColumn, NameLink, NoRows, PlainTable } from '../../parts/data-table.tsx';
import { GroupingSelect } from '../../parts/grouping-select.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Hint, Loading, PageFailure, PageHead, Section, StatTile } from '../../parts/page.tsx';
import { RangeFilter, refreshMs, useRange, useRangeText } from '../../parts/range.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
import { useZone } from '../../parts/times.tsx';
import { UnitLines } from '../../parts/units.tsx';
import { useGet } from '../../queries.ts';
import { describeRange, precedingRange, rangeQuery, startOf } from '../../range.ts';
import { unitsUsed } from '../../units.ts';
import { marginCsv } from './csv.ts';
import {
  effectTexts,
  type FilterName,
  filterLabels,
  filtersOf,
  marginGroupingOf,
  marginGroupings,
  marginPercent,
} from './texts.ts';

const GROUPS_SHOWN = 200;

export function MarginShow() {
  const { values } = useFilters();
  const range = useRange();
  const text = useRangeText();
  const { data, error, refetch, isPlaceholderData } = useGet('/usage/margin', {
    query: {
      ...filtersOf(values),
      ...rangeQuery(range),
      ...previousQuery(precedingRange(range, startOf(Date.now(), 'minute'))),
      ...groupingQuery(values),
      limit: GROUPS_SHOWN,
    },
    everyMs: refreshMs[range.step],
  });
  return (
    <>
      <PageHead
        title="Margin"
        text={
          <>
            {text}
            <br />
            Revenue less provider cost, of requests whose provider cost is known.
          </>
        }
        actions={
          <>
            <RangeFilter />
            <ActionButton
              label="Export CSV"
              icon="download"
              disabled={data === undefined || isPlaceholderData}
              onClick={() => data && saveMargin(data, values)}
            />
            <SavedViews />
          </>
        }
      />
      {data === undefined ? (
        error === null ? (
          <Loading />
        ) : (
          <PageFailure failure={error} onRetry={() => void refetch()} />
        )
      ) : (
        <Stack>
          <ActiveFilters />
          <Tiles margin={data} />
          <Why margin={data} />
          <Groups margin={data} isOfFormerGrouping={isPlaceholderData} />
        </Stack>
      )}
    </>
  );
}

function saveMargin(margin: MarginShape, values: Readonly<Record<string, string>>): void {
  saveFile(`margin-${margin.since.slice(0, 10)}.csv`, [marginCsv(margin, marginGroupingOf(values))]);
}

function previousQuery(before: {
  sinceMs: number;
  untilMs: number;
}): Record<'previous_since' | 'previous_until', string> {
  const { since, until = since } = rangeQuery(before);
  return { previous_since: since, previous_until: until };
}

function groupingQuery(values: Readonly<Record<string, string>>): Record<string, string> {
  const grouping = marginGroupingOf(values);
  return { group_by: grouping, ...(grouping === 'tag' && { tag_name: values['tag_name'] ?? '' }) };
}

/** The filters that rows have set, each with a button that removes it. */
function ActiveFilters() {
  const { values, set } = useFilters();
  const names = useNames([{ account: values['account'] ?? null, key: values['key'] ?? null }]);
  const active = (Object.keys(filterLabels) as FilterName[]).filter((name) => values[name] !== undefined);
  if (active.length === 0) return null;
  const shown = (name: FilterName, value: string) =>
    name === 'account' || name === 'key' ? names[name](value) : value;
  return (
    <Group gap="xs" role="group" aria-label="Filters">
      {active.map((name) => (
        <ActionButton
          key={name}
          label={`${filterLabels[name]}: ${shown(name, values[name] ?? '')} ×`}
          aria-label={`Remove the filter ${filterLabels[name]}`}
          size="compact-sm"
          variant="light"
          onClick={() => set({ [name]: null })}
        />
      ))}
    </Group>
  );
}

function Tiles({ margin: { total, previous, is_previous_complete: isCompared } }: { margin: MarginShape }) {
  const isLoss = total.margin.startsWith('-');
  const before = (usd: string) =>
    isCompared && (
      <div>
        Previous period: <Money usd={usd} />
      </div>
    );
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }}>
      <StatTile
        label="Revenue"
        value={<Money usd={total.revenue} />}
        note={
          <>
            {before(previous.revenue)}
            <NotCosted usd={total.revenue_without_margin} />
          </>
        }
      />
      <StatTile
        label="Provider cost"
        value={<Money usd={total.provider_cost} />}
        note={before(previous.provider_cost)}
      />
      <StatTile
        label="Margin"
        value={<Money usd={total.margin} />}
        note={before(previous.margin)}
        {...(isLoss && { color: 'red' })}
      />
      <StatTile
        label="Margin in percent"
        value={total.margin_percent === null ? 'No revenue' : marginPercent(total.margin_percent)}
        {...(isCompared &&
          previous.margin_percent !== null && { note: `Previous period: ${marginPercent(previous.margin_percent)}` })}
        {...(isLoss && { color: 'red' })}
      />
    </SimpleGrid>
  );
}

function NotCosted({ usd }: { usd: string }) {
  return nanoOf(usd) === 0n ? null : (
    <div>
      Excludes <Money usd={usd} /> whose provider cost is unknown
    </div>
  );
}

function Why({ margin }: { margin: MarginShape }) {
  const { total, previous, changes, is_previous_complete: isCompared } = margin;
  const zone = useZone();
  const before = { sinceMs: Date.parse(margin.previous_since), untilMs: Date.parse(margin.previous_until) + 1 };
  const change = usdOf(nanoOf(total.margin) - nanoOf(previous.margin));
  return (
    <Section
      title="Why the margin changed"
      text={
        isCompared
          ? `Compared with ${describeRange(before, Date.now(), zone)}. The effects add up to the change.`
          : undefined
      }
      aside={isCompared && <Change usd={change} fw={600} />}
      isPadded={false}
    >
      {!isCompared && (
        <Hint px="md" pb="md">
          There is no complete previous period to compare with.
        </Hint>
      )}
      {isCompared && changes.length === 0 && (
        <Hint px="md" pb="md">
          The margin did not change.
        </Hint>
      )}
      {isCompared && changes.length > 0 && (
        <PlainTable
          label="Effects on the margin"
          isFolding
          columns={changeColumns}
          rows={changes}
          keyOf={({ effect }) => effect}
        />
      )}
    </Section>
  );
}

const changeColumns: Column<MarginChangeShape>[] = [
  {
    name: 'effect',
    label: 'Effect',
    show: ({ effect }) => (
      <>
        <Text size="sm" fw={500}>
          {effectTexts[effect].label}
        </Text>
        <Hint size="xs">{effectTexts[effect].text}</Hint>
      </>
    ),
  },
  {
    name: 'parts',
    label: 'Largest parts',
    from: 'sm',
    show: ({ parts }) =>
      parts.length > 0 && (
        <Stack gap={2}>
          {parts.map(({ model, group, provider, amount }) => {
            const names = [model, group, provider].filter((name) => name !== null).map((name) => name || 'unknown');
            return (
              <Group key={names.join(' ')} gap="xs" justify="space-between" wrap="nowrap" maw={420}>
                <Text size="sm" className="wrap">
                  {names.join(' · ')}
                </Text>
                <Change usd={amount} size="sm" />
              </Group>
            );
          })}
        </Stack>
      ),
  },
  { name: 'amount', label: 'Effect on margin', align: 'right', show: ({ amount }) => <Change usd={amount} /> },
];

function Change({ usd, ...text }: { usd: string; fw?: number; size?: 'sm' }) {
  const nano = nanoOf(usd);
  return (
    <Text
      component="span"
      size="sm"
      style={{ whiteSpace: 'nowrap' }}
      {...(nano !== 0n && { c: nano < 0n ? 'red' : 'teal' })}
      {...text}
    >
      {nano > 0n && '+'}
      <Money usd={usd} />
    </Text>
  );
}

interface GroupsProps {
  margin: MarginShape;
  /** The rows have no names in the present grouping. */
  isOfFormerGrouping: boolean;
}

function Groups({ margin, isOfFormerGrouping }: GroupsProps) {
  const { data, groups } = margin;
  const { values } = useFilters();
  const names = useNames(data);
  const personName = useActors(data.map(({ person }) => person));
  const grouping = marginGroupingOf(values);
  const naming = { ...names, person: personName };
  return (
    <Section
      title={`By ${groupingNoun(grouping)}`}
      text={
        groups > data.length
          ? `The ${formatCount(data.length)} with the highest revenue of ${formatCount(groups)}.`
          : undefined
      }
      isPadded={false}
      aside={<GroupingSelect labels={marginGroupings} usual="model" />}
    >
      {isOfFormerGrouping ? (
        <Loading />
      ) : data.length === 0 ? (
        <NoRows
          icon="percent"
          title="No margin"
          text="Requests whose provider cost is known appear here. Enter the cost of each route in its model."
          of="requests"
        />
      ) : (
        <PlainTable
          label="Margins"
          isFolding
          columns={groupColumns((row) => groupName(row, grouping, naming), filterFor(grouping, values), margin)}
          rows={data}
          keyOf={(row) => JSON.stringify(row[grouping])}
        />
      )}
    </Section>
  );
}

/** Of all requests, also those whose provider cost is unknown. */
const unitsColumn: Column<MarginGroupShape> = {
  name: 'units',
  label: 'Units sold',
  align: 'right',
  from: 'sm',
  show: ({ units }) => <UnitLines units={units} hasCosts />,
};

/** The address that shows only a row; null: the API has no filter for it. */
function filterFor(grouping: keyof typeof marginGroupings, values: Readonly<Record<string, string>>) {
  const hasFilter = grouping !== 'provider' && grouping !== 'person';
  return (row: MarginGroupShape): Record<string, string> | null =>
    row[grouping] === null || !hasFilter ? null : { ...values, ...groupFilter(row, grouping, values) };
}

function groupColumns(
  nameOf: (row: MarginGroupShape) => string,
  filterOf: (row: MarginGroupShape) => Record<string, string> | null,
  { is_previous_complete: isCompared, total }: MarginShape,
): Column<MarginGroupShape>[] {
  const hasUnits = unitsUsed(total.units).length > 0;
  const changeOf = ({ margin, previous }: MarginGroupShape) => usdOf(nanoOf(margin) - nanoOf(previous.margin));
  return [
    {
      name: 'name',
      label: 'Name',
      show: (row) => {
        const search = filterOf(row);
        const without = <NotCosted usd={row.revenue_without_margin} />;
        if (search !== null) return <NameLink to="/margin" search={search} name={nameOf(row)} note={without} />;
        return (
          <>
            {nameOf(row)}
            <Hint size="xs" component="div">
              {without}
            </Hint>
          </>
        );
      },
    },
    { name: 'messages', label: 'Requests', align: 'right', from: 'md', show: ({ messages }) => formatCount(messages) },
    ...(hasUnits ? [unitsColumn] : []),
    moneyColumn('revenue', 'Revenue', ({ revenue }) => revenue, { from: 'sm' }),
    moneyColumn('cost', 'Provider cost', ({ provider_cost }) => provider_cost, { from: 'md' }),
    {
      name: 'margin',
      label: 'Margin',
      align: 'right',
      show: ({ margin }) => <Money usd={margin} {...(margin.startsWith('-') && { c: 'red' })} />,
    },
    {
      name: 'percent',
      label: '%',
      align: 'right',
      show: ({ margin_percent: percent }) => (
        <Text component="span" size="sm" className="tabular" {...(percent !== null && percent < 0 && { c: 'red' })}>
          {marginPercent(percent)}
        </Text>
      ),
    },
    ...(isCompared
      ? [
          {
            name: 'change',
            label: 'Change',
            align: 'right',
            from: 'xs',
            show: (row) => <Change usd={changeOf(row)} />,
          } as Column<MarginGroupShape>,
        ]
      : []),
  ];
}
