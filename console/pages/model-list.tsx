// What is sold: every model with its prices, and for who runs the installation over which routes, and where prices are
// not those of the price list. Holders see what they pay.

import { Button, Group, Select, Stack, Tabs, Text, TextInput } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { GroupShape, ModelShape, ProviderShape } from '../../src/admin-api/shapes.ts';
import { useFilters } from '../filters.ts';
import { isOfInstallation, useMe } from '../me.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { ProviderHealth } from '../parts/provider-health.tsx';
import { Rate, rateOfGroup } from '../parts/rate.tsx';
import { usePages } from '../queries.ts';
import { words } from '../words.ts';
import { ModelComparison, useComparison } from './catalogue/model-comparison.tsx';

const CATALOGUE_ROWS = { limit: 1000 };
const HEALTH_EVERY_MS = 15_000;

export function ModelList() {
  const me = useMe();
  const isInstallation = isOfInstallation(me);
  const { values, set } = useFilters();
  const differences = useComparison(isInstallation).data?.differences.length ?? 0;
  return (
    <>
      <PageHead
        title={words.models.title}
        text={isInstallation ? words.models.text : words.models.textHolder}
        actions={me.role === 'operator' && <AddButton />}
      />
      {isInstallation ? (
        <Tabs
          value={values['view'] === 'compared' ? 'compared' : 'models'}
          onChange={(view) => set({ view: view === 'compared' ? view : null })}
          keepMounted={false}
        >
          <Tabs.List mb="md">
            <Tabs.Tab value="models">{words.models.listed}</Tabs.Tab>
            <Tabs.Tab value="compared">{words.models.compared(differences)}</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="models">
            <InstallationModels />
          </Tabs.Panel>
          <Tabs.Panel value="compared">
            <ModelComparison />
          </Tabs.Panel>
        </Tabs>
      ) : (
        <HolderModels />
      )}
    </>
  );
}

function AddButton() {
  return (
    <Button component={Link} to="/new-model" leftSection={<Icon name="plus" />}>
      {words.models.add}
    </Button>
  );
}

function InstallationModels() {
  const { values, set, clear } = useFilters();
  const models = usePages<ModelShape>('/models', CATALOGUE_ROWS);
  const providers = usePages<ProviderShape>('/providers', CATALOGUE_ROWS, { everyMs: HEALTH_EVERY_MS });
  const groups = usePages<GroupShape>('/groups', CATALOGUE_ROWS);
  const shown = models.rows.filter((model) => fits(model, values));
  const byName = new Map(providers.rows.map((provider) => [provider.name, provider]));
  return (
    <Stack>
      <Group align="flex-end">
        <Search />
        <Select
          label={words.models.provider}
          data={providers.rows.map(({ name }) => name)}
          value={values['provider'] ?? null}
          onChange={(provider) => set({ provider })}
          clearable
          searchable
          w={180}
        />
        <Select
          label={words.models.group}
          data={groups.rows.map(({ name }) => name)}
          value={values['group'] ?? null}
          onChange={(group) => set({ group })}
          clearable
          searchable
          w={180}
        />
      </Group>
      <ModelTable
        models={{ ...models, rows: shown }}
        columns={[...priceColumns((rate) => rate), routesColumn(byName), groupsColumn]}
        empty={models.rows.length === 0 ? <NoModels /> : <NothingFound onClear={clear} />}
      />
    </Stack>
  );
}

function HolderModels() {
  const me = useMe();
  const { values, clear } = useFilters();
  const models = usePages<ModelShape>('/models', CATALOGUE_ROWS);
  const groups = usePages<GroupShape>('/groups', CATALOGUE_ROWS);
  const multipliers = new Map(groups.rows.map(({ name, multiplier }) => [name, multiplier]));
  const groupOf = (model: ModelShape) => me.account?.groups.find((group) => model.groups.includes(group));
  const paid = (rate: string, model: ModelShape) => rateOfGroup(rate, multipliers.get(groupOf(model) ?? '') ?? '1');
  return (
    <Stack>
      <Group>
        <Search />
      </Group>
      <ModelTable
        models={{ ...models, rows: models.rows.filter((model) => fits(model, values)) }}
        columns={[
          ...priceColumns(paid),
          limitsColumn,
          { ...groupsColumn, show: (model) => groupOf(model) },
          copyColumn,
        ]}
        empty={
          models.rows.length === 0 ? (
            <EmptyState icon="cube" title={words.models.empty} text={words.models.emptyHolder} />
          ) : (
            <NothingFound onClear={clear} />
          )
        }
      />
    </Stack>
  );
}

function fits(model: ModelShape, { search = '', provider, group }: Record<string, string>): boolean {
  const wanted = search.trim().toLowerCase();
  return (
    [model.name, model.display_name, ...model.aliases].some((name) => name.toLowerCase().includes(wanted)) &&
    (provider === undefined || model.routes.some((route) => route.provider === provider)) &&
    (group === undefined || model.groups.includes(group))
  );
}

function Search() {
  const { values, set } = useFilters();
  return (
    <TextInput
      type="search"
      label={words.models.search}
      leftSection={<Icon name="search" />}
      value={values['search'] ?? ''}
      onChange={({ currentTarget }) => set({ search: currentTarget.value })}
      w={260}
    />
  );
}

interface ModelTableProps {
  models: ReturnType<typeof usePages<ModelShape>>;
  columns: readonly Column<ModelShape>[];
  empty: React.ReactNode;
}

function ModelTable({ models, columns, empty }: ModelTableProps) {
  const navigate = useNavigate();
  return (
    <DataTable
      label={words.models.label}
      rows={models}
      columns={[nameColumn, ...columns]}
      keyOf={({ name }) => name}
      empty={empty}
      onOpen={({ name }) => void navigate({ to: '/models/$modelName', params: { modelName: name } as never })}
    />
  );
}

const nameColumn: Column<ModelShape> = {
  name: 'name',
  label: words.models.columns.name,
  show: (model) => (
    <Stack gap={0}>
      <Text
        component={Link}
        to="/models/$modelName"
        params={{ modelName: model.name } as never}
        fw={600}
        size="sm"
        style={{ overflowWrap: 'anywhere' }}
      >
        {model.name}
      </Text>
      <Text size="xs" c="dimmed">
        {[
          ...(model.display_name === model.name ? [] : [model.display_name]),
          ...(model.aliases.length === 0 ? [] : [words.models.aliases(model.aliases.length)]),
        ].join(' · ')}
      </Text>
    </Stack>
  ),
};

function priceColumns(shown: (rate: string, model: ModelShape) => string): Column<ModelShape>[] {
  const column = (name: 'input' | 'output' | 'cache_read', label: string, from?: 'sm'): Column<ModelShape> => ({
    name,
    label,
    align: 'right',
    ...(from !== undefined && { from }),
    show: (model) => <Rate usd={shown(model.price[name], model)} />,
  });
  const { input, output, cacheRead } = words.models.columns;
  return [column('input', input), column('output', output), column('cache_read', cacheRead, 'sm')];
}

function routesColumn(providers: ReadonlyMap<string, ProviderShape>): Column<ModelShape> {
  return {
    name: 'routes',
    label: words.models.columns.routes,
    from: 'md',
    show: ({ routes }) => (
      <Stack gap={2}>
        {[...new Set(routes.map(({ provider }) => provider))].map((name) => (
          <Group key={name} gap={6}>
            <Text size="sm">{name}</Text>
            {providers.has(name) && (
              <ProviderHealth
                provider={providers.get(name) as ProviderShape}
                models={routes.filter(({ provider }) => provider === name).map(({ model }) => model)}
              />
            )}
          </Group>
        ))}
      </Stack>
    ),
  };
}

const groupsColumn: Column<ModelShape> = {
  name: 'groups',
  label: words.models.columns.groups,
  from: 'md',
  show: ({ groups }) => (
    <Text size="sm" {...(groups.length === 0 && { c: 'dimmed' })}>
      {groups.length === 0 ? words.models.notSold : groups.join(', ')}
    </Text>
  ),
};

const limitsColumn: Column<ModelShape> = {
  name: 'limits',
  label: words.models.columns.limits,
  from: 'md',
  align: 'right',
  show: ({ max_input_tokens: input, max_output_tokens: output }) => (
    <Text size="sm" className="tabular">
      {input === null && output === null
        ? words.parts.unlimited
        : [input, output].map((count) => count?.toLocaleString('en-US') ?? words.parts.unlimited).join(' / ')}
    </Text>
  ),
};

const copyColumn: Column<ModelShape> = {
  name: 'copy',
  label: words.models.columns.copy,
  from: 'sm',
  align: 'right',
  show: ({ name }) => <CopyButton text={name} />,
};

function NoModels() {
  const { role } = useMe();
  return (
    <EmptyState
      icon="cube"
      title={words.models.empty}
      text={words.models.emptyText}
      action={
        role === 'operator' && (
          <Button component={Link} to="/new-provider">
            {words.providers.add}
          </Button>
        )
      }
    />
  );
}

function NothingFound({ onClear }: { onClear: () => void }) {
  return (
    <EmptyState
      icon="search"
      title={words.models.emptyFound}
      text={words.models.emptyFoundText}
      action={
        <Button variant="default" onClick={onClear}>
          {words.parts.clearFilters}
        </Button>
      }
    />
  );
}
