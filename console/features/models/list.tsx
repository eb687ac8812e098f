// Models with prices; for operators and viewers also routes and price updates.

import { Group, Stack, Tabs, Text } from '@mantine/core';
import { useState } from 'react';
import type { ModelShape } from '../../../src/admin-api/shapes.ts';
import { countOf } from '../../figures.ts';
import { countFilters, type Sorting, useFilters, useSorting } from '../../filters.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { nanoOf, rateOfGroup } from '../../money.ts';
import { CopyButton } from '../../parts/code-block.tsx';
import { type Column, DataTable, moneyColumn, NameLink, NoMatches, rateColumn } from '../../parts/data-table.tsx';
import { FilterBar, FoundFilter, SearchFilter } from '../../parts/fields.tsx';
import { foundGroups, foundProviders } from '../../parts/found.ts';
import { ActionButton, ButtonLink, pathOf } from '../../parts/link.tsx';
import { EmptyState, Hint, PageHead } from '../../parts/page.tsx';
import { RangeFilter } from '../../parts/range.tsx';
import { RouteBadge, useRouteHealth } from '../../parts/route-health.tsx';
import { type Costs, type Rows, useCosts, useList } from '../../queries.ts';
import { isSandbox, isSandboxError } from '../keys/values.ts';
import { capabilitiesColumn } from './capabilities.tsx';
import { ModelComparison, useComparison } from './comparison.tsx';
import { hasTokenPrice } from './price-parts.ts';

const ALL_ROWS = { limit: 1000 };

export function ModelList() {
  const me = useMe();
  const isInstallation = seesInstallation(me);
  const { values, set } = useFilters();
  const differences = useComparison(isInstallation).data?.differences.length ?? 0;
  return (
    <>
      <PageHead
        title="Models"
        text={
          isInstallation
            ? 'Models that clients can use, with their prices and routes. Prices are in USD per million tokens.'
            : 'Models that your keys can use, and what you pay in USD per million tokens.'
        }
        actions={
          <>
            <RangeFilter />
            {me.role === 'operator' && <AddButton />}
          </>
        }
      />
      {isInstallation ? (
        <Tabs
          value={values['view'] === 'compared' ? 'compared' : 'models'}
          onChange={(view) => set({ view: view === 'compared' ? view : null })}
          keepMounted={false}
        >
          <Tabs.List mb="md">
            <Tabs.Tab value="models">Models</Tabs.Tab>
            <Tabs.Tab value="compared">{`Price updates (${differences})`}</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="models">
            <InstallationModels />
          </Tabs.Panel>
          <Tabs.Panel value="compared">
            <ModelComparison />
          </Tabs.Panel>
        </Tabs>
      ) : (
        <AccountModels />
      )}
    </>
  );
}

function AddButton() {
  return <ButtonLink label="Create model" to="/models/new" icon="plus" />;
}

function InstallationModels() {
  const { values, clear } = useFilters();
  const models = useList('/models', { query: { ...ALL_ROWS, search: values['search'], groups: values['group'] } });
  const { find } = useRouteHealth();
  const { provider } = values;
  const shown = models.rows.filter(
    ({ routes }) => provider === undefined || routes.some((route) => route.provider === provider),
  );
  return (
    <Stack>
      <FilterBar mb={0}>
        <SearchFilter name="search" label="Name or alias" />
        <FoundFilter name="provider" label="Provider" found={foundProviders} />
        <FoundFilter name="group" label="Group" found={foundGroups} />
      </FilterBar>
      <ModelTable
        models={{ ...models, rows: shown }}
        columns={[...priceColumns(asListed), capabilitiesColumn(asListed), routesColumn(find), groupsColumn]}
        empty={countFilters(values) === 0 ? <NoModels /> : <NothingFound onClear={clear} />}
        onlySandbox={<NoModels />}
      />
    </Stack>
  );
}

function AccountModels() {
  const me = useMe();
  const { values, clear } = useFilters();
  const models = useList('/models', { query: { ...ALL_ROWS, search: values['search'] } });
  const groups = useList('/groups', { query: ALL_ROWS });
  const multipliers = new Map(groups.rows.map(({ name, multiplier }) => [name, multiplier]));
  const groupOf = (model: ModelShape) => me.account?.groups.find((group) => model.groups.includes(group));
  const paid = (rate: string, model: ModelShape) => rateOfGroup(rate, multipliers.get(groupOf(model) ?? '') ?? '1');
  return (
    <Stack>
      <FilterBar mb={0}>
        <SearchFilter name="search" label="Name or alias" />
      </FilterBar>
      <ModelTable
        models={models}
        columns={[
          ...priceColumns(paid),
          capabilitiesColumn(paid),
          ...(me.hidden.includes('group') ? [] : [{ ...groupsColumn, show: (model: ModelShape) => groupOf(model) }]),
          copyColumn,
        ]}
        empty={
          countFilters(values) === 0 ? (
            <EmptyState
              icon="cube"
              title="No models yet"
              text="Your account has access to no models. Ask an operator to add a group."
            />
          ) : (
            <NothingFound onClear={clear} />
          )
        }
      />
    </Stack>
  );
}

interface ModelTableProps {
  models: Rows<ModelShape>;
  columns: readonly Column<ModelShape>[];
  empty: React.ReactNode;
  /** Shown if all models are sandbox models. */
  onlySandbox?: React.ReactNode;
}

/** Lists sandbox models separately; they are collapsed if there are others. */
function ModelTable({ models, columns, empty, onlySandbox }: ModelTableProps) {
  const { values } = useFilters();
  const costs = useCosts('model');
  const cost = moneyColumn<ModelShape>('cost', costs.label, ({ name }) => costs.of(name), {
    from: 'sm',
    sort: { by: 'cost', first: 'desc' },
  });
  const sorting = useSorting('name', 'asc');
  const sort = (rows: ModelShape[]) => sortedModels(rows, costs, sorting);
  const [chosen, setOpen] = useState<boolean | null>(null);
  const real = models.rows.filter(({ name }) => !isSandbox(name));
  const isError = ({ name }: ModelShape) => Number(isSandboxError(name));
  const sandbox = models.rows
    .filter(({ name }) => isSandbox(name))
    .toSorted((one, other) => isError(one) - isError(other));
  const isFiltered = ['search', 'provider', 'group'].some((name) => values[name] !== undefined);
  const isOpen = chosen ?? (isFiltered || real.length === 0);
  const table = (label: string, rows: ModelShape[]) => (
    <DataTable
      label={label}
      rows={{ ...models, rows: sort(rows) }}
      sorting={sorting}
      columns={[nameColumn, ...columns, cost]}
      keyOf={({ name }) => name}
      empty={empty}
      linkTo={({ name }) => pathOf.model(name)}
    />
  );
  return (
    <>
      {real.length > 0 || sandbox.length === 0 ? table('Models', real) : !isFiltered && onlySandbox}
      {sandbox.length > 0 && (
        <Stack gap="xs">
          <Group gap="sm">
            <ActionButton
              label={`Sandbox models (${sandbox.length})`}
              variant="subtle"
              size="compact-sm"
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
              icon={isOpen ? 'up' : 'down'}
            />
            <Hint size="xs">Simulated responses and errors for testing applications. They need no provider.</Hint>
          </Group>
          {isOpen && table('Sandbox models', sandbox)}
        </Stack>
      )}
    </>
  );
}

/** All models are fetched at once, in the order of their names. */
function sortedModels(rows: ModelShape[], costs: Costs, { by, order }: Sorting): ModelShape[] {
  const inOrder =
    by === 'cost' ? rows.toSorted((one, other) => compareUsd(costs.of(one.name), costs.of(other.name))) : rows;
  return order === 'desc' ? inOrder.toReversed() : inOrder;
}

/** An unknown amount comes first. */
function compareUsd(one: string | null, other: string | null): number {
  const difference = nanoOf(one ?? '-1') - nanoOf(other ?? '-1');
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

const nameColumn: Column<ModelShape> = {
  name: 'name',
  label: 'Model',
  sort: { by: 'name', first: 'asc' },
  show: (model) => (
    <NameLink
      to={pathOf.model(model.name)}
      name={model.name}
      note={[
        ...(model.display_name === model.name ? [] : [model.display_name]),
        ...(model.aliases.length === 0 ? [] : [countOf(model.aliases.length, 'alias')]),
      ].join(' · ')}
    />
  ),
};

const asListed = (rate: string) => rate;

function priceColumns(shown: (rate: string, model: ModelShape) => string): Column<ModelShape>[] {
  const column = (name: 'input' | 'output' | 'cache_read', label: string, from?: 'sm') =>
    rateColumn<ModelShape>(
      name,
      label,
      (model) => (hasTokenPrice(model.price) ? shown(model.price[name], model) : null),
      {
        ...(from !== undefined && { from }),
      },
    );
  return [column('input', 'Input'), column('output', 'Output'), column('cache_read', 'Cache read', 'sm')];
}

function routesColumn(find: ReturnType<typeof useRouteHealth>['find']): Column<ModelShape> {
  return {
    name: 'routes',
    label: 'Routes',
    from: 'md',
    show: ({ name: model, routes }) => {
      const places = new Map(routes.map((route) => [`${route.provider}\n${route.model}`, route]));
      return (
        <Stack gap={2}>
          {[...places].map(([place, { provider, model: upstream_model }]) => (
            <Group key={place} gap={6}>
              <Text size="sm">{provider}</Text>
              <RouteBadge health={find({ model, provider, upstream_model })} />
            </Group>
          ))}
        </Stack>
      );
    },
  };
}

const groupsColumn: Column<ModelShape> = {
  name: 'groups',
  label: 'Groups',
  from: 'md',
  show: ({ groups }) => (
    <Text size="sm" {...(groups.length === 0 && { c: 'dimmed' })}>
      {groups.length === 0 ? 'No group' : groups.join(', ')}
    </Text>
  ),
};

const copyColumn: Column<ModelShape> = {
  name: 'copy',
  label: 'Name',
  from: 'sm',
  align: 'right',
  show: ({ name }) => <CopyButton text={name} />,
};

function NoModels() {
  const { role } = useMe();
  return (
    <EmptyState
      icon="cube"
      title="No models yet"
      text="Add a provider, then choose its models from the price list."
      action={role === 'operator' && <ButtonLink label="Create provider" to="/providers/new" />}
    />
  );
}

function NothingFound({ onClear }: { onClear: () => void }) {
  return <NoMatches title="No matching models" text="Change the name, the provider or the group." onClear={onClear} />;
}
