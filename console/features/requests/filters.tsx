// The filters of the list of requests, and a search box that opens a request by its id.

import { ActionIcon, Autocomplete, Group, Select, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { countFilters, type Filters } from '../../filters.ts';
import { errorOptions, optionsOf, outcomeLabels } from '../../labels.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { AccountFilter, FilterBar, SelectFilter, TextFilter } from '../../parts/fields.tsx';
import { ActionButton, Icon, pathOf, useGoTo } from '../../parts/link.tsx';
import { RangeFields } from '../../parts/range.tsx';
import { useGet } from '../../queries.ts';
import { isRequestId } from './query.ts';

const LIST_MAX = 1_000;

/** Classes of statuses; any status can be typed. */
const STATUSES = ['2xx', '4xx', '5xx', '429', '499', '502', '504', '529'];
const streamOptions = optionsOf({ true: 'Yes', false: 'No' });

export function UsageFilters({ filters }: { filters: Filters }) {
  const { values, clear } = filters;
  const isInstallation = seesInstallation(useMe());
  return (
    <FilterBar isGrid>
      <RequestSearch />
      <RangeFields isInGrid />
      {/* A key belongs to one account, so another account clears it. */}
      <AccountFilter name="account" w={undefined} also={{ key: null }} />
      <KeyFilter filters={filters} />
      <ModelFilter key={modelOf(values)} filters={filters} />
      <SelectFilter
        name="outcome"
        label="Status"
        w={undefined}
        data={optionsOf({ ...outcomeLabels, not_completed: 'All errors' })}
      />
      <StatusFilter filters={filters} />
      <SelectFilter name="error" label="Error" w={undefined} data={errorOptions} />
      {isInstallation && <ProviderFilter />}
      <TextFilter name="cost_min" label="Min cost (USD)" w={undefined} inputMode="decimal" placeholder="0.01" />
      <TextFilter name="tag" label="Tag" w={undefined} placeholder="team:search" />
      <TextFilter name="session" label="Session" w={undefined} />
      <SelectFilter name="stream" label="Streaming" w={undefined} data={streamOptions} />
      {countFilters(values) > 0 && (
        <Group align="flex-end">
          <ActionButton label="Clear filters" variant="subtle" onClick={clear} icon="cross" />
        </Group>
      )}
    </FilterBar>
  );
}

function StatusFilter({ filters: { values, set } }: { filters: Filters }) {
  const chosen = values['status'] ?? '';
  return (
    <Autocomplete
      label="HTTP status"
      placeholder="All"
      clearable
      data={STATUSES}
      filter={({ options }) => options}
      value={chosen}
      onChange={(status) => set({ status: status.trim().toLowerCase() })}
    />
  );
}

function ProviderFilter() {
  const { data } = useGet('/providers', { query: { limit: LIST_MAX } });
  const names = (data?.data ?? []).map(({ name }) => name);
  return <SelectFilter name="provider" label="Provider" w={undefined} data={names} />;
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

function KeyFilter({ filters: { values, set } }: { filters: Filters }) {
  const { account, key = null } = values;
  // Many keys take long to read, and most visits need none.
  const [isOpened, setOpened] = useState(false);
  const { data, isLoading } = useGet('/keys', {
    query: { limit: LIST_MAX, account },
    isEnabled: isOpened || key !== null,
  });
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
      nothingFoundMessage={isLoading ? 'Loading…' : 'No matching API keys'}
      onDropdownOpen={() => setOpened(true)}
      value={key}
      onChange={(chosen) => set({ key: chosen })}
    />
  );
}

/** The model in the address, or a part of its name. */
function modelOf({ model, model_search }: Readonly<Record<string, string>>): string {
  return model ?? model_search ?? '';
}

/** A listed name finds that model only; any other text is a part of the name, because deleted models are not listed. */
function ModelFilter({ filters: { values, set } }: { filters: Filters }) {
  const chosen = modelOf(values);
  const [text, setText] = useState(chosen);
  useEffect(() => setText(chosen), [chosen]);
  const { data } = useGet('/models', { query: { limit: LIST_MAX } });
  const names = (data?.data ?? []).map(({ name }) => name);
  const apply = (typed: string) => {
    const model = typed.trim();
    if (model === chosen) return;
    set(names.includes(model) ? { model, model_search: null } : { model: null, model_search: model });
  };
  return (
    <Autocomplete
      label="Model"
      placeholder="All"
      title={text}
      clearable
      limit={100}
      data={names}
      value={text}
      onChange={setText}
      onOptionSubmit={apply}
      onClear={() => apply('')}
      onBlur={() => apply(text)}
      onKeyDown={(event) => event.key === 'Enter' && apply(text)}
    />
  );
}
