// The filters of the list of requests, a search box that opens a request by its id, and the totals of the filtered
// requests.

import { ActionIcon, Autocomplete, Card, Group, Select, SimpleGrid, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import type { UsageBucketShape, UsageTotalShape } from '../../../src/admin-api/shapes.ts';
import type { Query } from '../../api.ts';
import { formatCount, formatShort } from '../../figures.ts';
import type { Filters } from '../../filters.ts';
import { optionsOf, outcomeLabels } from '../../labels.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { sumOf } from '../../money.ts';
import { AccountFilter, SelectFilter, TimeFilter } from '../../parts/fields.tsx';
import { ActionButton, Icon, pathOf, useGoTo } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Hint } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { isRequestId, type Period, periodMs, periodOf } from './query.ts';

const periodLabels = {
  all: 'All time',
  hour: 'Last hour',
  day: 'Last 24 hours',
  week: 'Last 7 days',
  month: 'Last 30 days',
  custom: 'Custom range',
};

const LIST_MAX = 1_000;

export function UsageFilters({ filters }: { filters: Filters }) {
  const { values, clear } = filters;
  const isInstallation = seesInstallation(useMe());
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: isInstallation ? 6 : 5 }} spacing="sm" mb="md" className="no-print">
      <RequestSearch />
      <PeriodFilter filters={filters} />
      {/* A key belongs to one account, so another account clears it. */}
      <AccountFilter name="account" w={undefined} also={{ key: null }} />
      <KeyFilter filters={filters} />
      <ModelFilter key={values['model'] ?? ''} filters={filters} />
      <SelectFilter name="outcome" label="Status" w={undefined} data={optionsOf(outcomeLabels)} />
      {Object.keys(values).length > 0 && (
        <Group align="flex-end">
          <ActionButton label="Clear filters" variant="subtle" onClick={clear} icon="cross" />
        </Group>
      )}
    </SimpleGrid>
  );
}

function RequestSearch() {
  const [text, setText] = useState('');
  const [isFaulty, setFaulty] = useState(false);
  const goTo = useGoTo();
  const go = (event: FormEvent) => {
    event.preventDefault();
    const id = text.trim();
    if (id === '') return;
    setFaulty(!isRequestId(id));
    if (isRequestId(id)) void goTo(pathOf.request(id));
  };
  return (
    <form onSubmit={go}>
      <TextInput
        label="Request ID"
        placeholder="req_…"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setFaulty(false);
        }}
        {...(isFaulty && {
          error: 'A request ID is req_ followed by 25 letters or digits. Responses carry it in the request-id header.',
        })}
        rightSection={
          <ActionIcon type="submit" variant="subtle" aria-label="Go to request">
            <Icon name="search" />
          </ActionIcon>
        }
      />
    </form>
  );
}

function PeriodFilter({ filters: { values, set } }: { filters: Filters }) {
  const period = periodOf(values);
  const offered: Period[] = ['all', ...(Object.keys(periodMs) as (keyof typeof periodMs)[]), 'custom'];
  const choose = (chosen: string | null) =>
    set({ period: chosen === 'all' ? null : chosen, ...(chosen !== 'custom' && { since: null, until: null }) });
  return (
    <>
      <Select
        label="Time range"
        data={offered.map((value) => ({ value, label: periodLabels[value] }))}
        value={period}
        onChange={choose}
        allowDeselect={false}
      />
      {period === 'custom' && (
        <>
          <TimeFilter name="since" label="From" also={{ period: 'custom' }} />
          <TimeFilter name="until" label="To" also={{ period: 'custom' }} />
        </>
      )}
    </>
  );
}

function KeyFilter({ filters: { values, set } }: { filters: Filters }) {
  const { account, key = null } = values;
  const { data } = useGet('/keys', { query: { limit: LIST_MAX, account } });
  const options = (data?.data ?? []).map(({ id, name, prefix }) => ({ value: id, label: name || prefix }));
  const isListed = key === null || options.some(({ value }) => value === key);
  return (
    <Select
      label="API key"
      placeholder="All"
      clearable
      searchable
      limit={100}
      data={isListed || key === null ? options : [{ value: key, label: key }, ...options]}
      value={key}
      onChange={(chosen) => set({ key: chosen })}
    />
  );
}

/** Accepts any text, because deleted models are not listed. */
function ModelFilter({ filters: { values, set } }: { filters: Filters }) {
  const chosen = values['model'] ?? '';
  const [text, setText] = useState(chosen);
  useEffect(() => setText(chosen), [chosen]);
  const { data } = useGet('/models', { query: { limit: LIST_MAX } });
  const apply = (model: string) => {
    if (model.trim() !== chosen) set({ model: model.trim() });
  };
  return (
    <Autocomplete
      label="Model"
      placeholder="All"
      clearable
      limit={100}
      data={(data?.data ?? []).map(({ name }) => name)}
      value={text}
      onChange={setText}
      onOptionSubmit={apply}
      onClear={() => apply('')}
      onBlur={() => apply(text)}
      onKeyDown={(event) => event.key === 'Enter' && apply(text)}
    />
  );
}

const REFRESH_MS = 10_000;
const steps: Partial<Record<Period, string>> = { hour: 'minute', day: 'five_minutes' };

type Part = UsageBucketShape | UsageTotalShape;

interface UsageTotalsProps {
  query: Query;
  period: Period;
  isLive: boolean;
}

export function UsageTotals({ query: { outcome, ...query }, period, isLive }: UsageTotalsProps) {
  const step = steps[period];
  const everyMs = isLive ? REFRESH_MS : undefined;
  const isShort = step !== undefined;
  const timeline = useGet('/usage/timeline', { query: { ...query, step }, everyMs, isEnabled: isShort }).data;
  const totals = useGet('/usage/totals', { query: { ...query, limit: 1 }, everyMs, isEnabled: !isShort }).data;
  const parts: readonly Part[] | undefined = isShort ? timeline?.data : totals && [totals.total];
  if (parts === undefined) return null;
  const sum = (figure: (part: Part) => number) => parts.reduce((all, part) => all + figure(part), 0);
  const input = sum((part) => part.input_tokens + part.cache_read_input_tokens + part.cache_creation_input_tokens);
  const notes = [
    ...(outcome === undefined ? [] : ['All statuses']),
    ...(isShort || period === 'all' ? [] : ['Whole days (UTC)']),
  ];
  const isPartial = isShort && timeline !== undefined && timeline.counted_since > timeline.since;
  return (
    <Card p="sm" mb="md" component="section" aria-label="Totals of the filtered requests">
      <Group gap="xl">
        <Figure label="Requests">{formatCount(sum((part) => part.messages))}</Figure>
        <Figure label="Cost">
          <Money usd={sumOf(parts.map(({ cost }) => cost))} isExact />
        </Figure>
        <Figure label="Input tokens">{formatShort(input)}</Figure>
        <Figure label="Output tokens">{formatShort(sum((part) => part.output_tokens))}</Figure>
        <Hint size="xs" component="div">
          {notes.join(' · ')}
          {isPartial && (
            <>
              {'Figures start at'} <When at={timeline.counted_since} />
            </>
          )}
        </Hint>
      </Group>
    </Card>
  );
}

function Figure({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <Hint size="xs">{label}</Hint>
      <Text fw={600} className="tabular" component="div">
        {children}
      </Text>
    </div>
  );
}
