// The filters of the list of requests, and the box that goes to one request by its id.

import { ActionIcon, Autocomplete, Button, Group, Select, SimpleGrid, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import type { KeyShape, ModelShape, PageShape } from '../../../src/admin-api/shapes.ts';
import type { Filters } from '../../filters.ts';
import { isOfInstallation, useMe } from '../../me.tsx';
import { AccountSelect } from '../../parts/account-select.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useAsk } from '../../queries.ts';
import { words } from '../../words.ts';
import { isoOfLocal, isRequestId, localText, type Period, periodMs, periodOf } from './usage-query.ts';

const { usage: its } = words;
const LIST_MAX = 1_000;

export function UsageFilters({ filters }: { filters: Filters }) {
  const { values, set, clear } = filters;
  const isInstallation = isOfInstallation(useMe());
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: isInstallation ? 6 : 5 }} spacing="sm" mb="md" className="no-print">
      <RequestSearch />
      <PeriodFilter filters={filters} />
      {isInstallation && (
        <AccountSelect
          label={its.account}
          placeholder={words.parts.all}
          clearable
          value={values['account'] ?? null}
          // A key is of one account: of another none would be found.
          onChange={(account) => set({ account, key: null })}
        />
      )}
      <KeyFilter filters={filters} />
      <ModelFilter key={values['model'] ?? ''} filters={filters} />
      <Select
        label={its.outcome}
        placeholder={words.parts.all}
        clearable
        data={Object.entries(words.outcomes).map(([value, label]) => ({ value, label }))}
        value={values['outcome'] ?? null}
        onChange={(outcome) => set({ outcome })}
      />
      {Object.keys(values).length > 0 && (
        <Group align="flex-end">
          <Button variant="subtle" onClick={clear} leftSection={<Icon name="cross" sizePx={16} />}>
            {words.parts.clearFilters}
          </Button>
        </Group>
      )}
    </SimpleGrid>
  );
}

function RequestSearch() {
  const [text, setText] = useState('');
  const [isFaulty, setFaulty] = useState(false);
  const navigate = useNavigate();
  const go = (event: FormEvent) => {
    event.preventDefault();
    const id = text.trim();
    if (id === '') return;
    setFaulty(!isRequestId(id));
    if (isRequestId(id)) void navigate({ to: `/usage/${id}` });
  };
  return (
    <form onSubmit={go}>
      <TextInput
        label={its.search}
        placeholder={its.searchPlaceholder}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setFaulty(false);
        }}
        {...(isFaulty && { error: its.searchFault })}
        rightSection={
          <ActionIcon type="submit" variant="subtle" aria-label={its.searchGo}>
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
        label={its.period}
        data={offered.map((value) => ({ value, label: its.periods[value] }))}
        value={period}
        onChange={choose}
        allowDeselect={false}
      />
      {period === 'custom' && (
        <>
          <TextInput
            type="datetime-local"
            label={its.from}
            value={localText(values['since'])}
            onChange={(event) => set({ period: 'custom', since: isoOfLocal(event.currentTarget.value) })}
          />
          <TextInput
            type="datetime-local"
            label={its.to}
            value={localText(values['until'])}
            onChange={(event) => set({ period: 'custom', until: isoOfLocal(event.currentTarget.value) })}
          />
        </>
      )}
    </>
  );
}

function KeyFilter({ filters: { values, set } }: { filters: Filters }) {
  const { account, key = null } = values;
  const { data } = useAsk<PageShape<KeyShape>>('/keys', { limit: LIST_MAX, account });
  const options = (data?.data ?? []).map(({ id, name, prefix }) => ({ value: id, label: name || prefix }));
  const isListed = key === null || options.some(({ value }) => value === key);
  return (
    <Select
      label={its.key}
      placeholder={words.parts.all}
      clearable
      searchable
      limit={100}
      data={isListed || key === null ? options : [{ value: key, label: key }, ...options]}
      value={key}
      onChange={(chosen) => set({ key: chosen })}
    />
  );
}

/** Also of a model that is sold no more, whose name has to be typed. */
function ModelFilter({ filters: { values, set } }: { filters: Filters }) {
  const chosen = values['model'] ?? '';
  const [text, setText] = useState(chosen);
  useEffect(() => setText(chosen), [chosen]);
  const { data } = useAsk<PageShape<ModelShape>>('/models', { limit: LIST_MAX });
  const apply = (model: string) => {
    if (model.trim() !== chosen) set({ model: model.trim() });
  };
  return (
    <Autocomplete
      label={its.model}
      placeholder={words.parts.all}
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
