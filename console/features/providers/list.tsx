// Providers with their credentials, health and models.

import { Stack, Text } from '@mantine/core';
import type { ProviderShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { useMe } from '../../me.tsx';
import { ProviderHealth } from '../../parts/badges.tsx';
import { type Column, DataTable, moneyColumn, NameLink, timeColumn } from '../../parts/data-table.tsx';
import { ButtonLink, pathOf, TextLink } from '../../parts/link.tsx';
import { EmptyState, PageHead } from '../../parts/page.tsx';
import { RangeFilter } from '../../parts/range.tsx';
import { type Costs, useCosts, useList } from '../../queries.ts';

const kindLabels = {
  anthropic: 'Anthropic',
  openai: 'Chat Completions',
  'openai-responses': 'OpenAI',
  gemini: 'Google Gemini',
  bedrock: 'Amazon Bedrock',
  vertex: 'Google Vertex AI',
  foundry: 'Microsoft Foundry',
  sandbox: 'Sandbox',
} as Record<string, string>;

const HEALTH_EVERY_MS = 10_000;

export function ProviderList() {
  const { role } = useMe();
  const providers = useList('/providers', { query: { limit: 200 }, everyMs: HEALTH_EVERY_MS });
  const costs = useCosts('provider');
  const isSandboxOnly = providers.rows.length > 0 && providers.rows.every(({ kind }) => kind === 'sandbox');
  const add = role === 'operator' && <ButtonLink label="Create provider" to="/providers/new" icon="plus" />;
  return (
    <Stack>
      <PageHead
        title="Providers"
        text="Upstream providers and their health."
        actions={
          <>
            <RangeFilter />
            {!isSandboxOnly && add}
          </>
        }
      />
      <DataTable
        label="Providers"
        rows={providers}
        columns={[...columns, costColumn(costs)]}
        keyOf={({ name }) => name}
        linkTo={({ name }) => pathOf.provider(name)}
        empty={
          <EmptyState
            icon="plug"
            title="No providers yet"
            text="Add a provider with its API key, then choose which of its models to offer."
            action={add}
          />
        }
      />
      {isSandboxOnly && add !== false && (
        <EmptyState
          icon="plug"
          title="Connect a provider"
          text="Only the sandbox is configured. Add Anthropic, OpenAI, Gemini or your own server to offer real models."
          action={add}
        />
      )}
    </Stack>
  );
}

export function kindName(kind: string): string {
  return kindLabels[kind] ?? kind;
}

const columns: Column<ProviderShape>[] = [
  {
    name: 'name',
    label: 'Provider',
    show: ({ name, kind }) => <NameLink to={pathOf.provider(name)} name={name} note={kindName(kind)} />,
  },
  {
    name: 'address',
    label: 'Address',
    from: 'md',
    show: ({ base_url: address }) => (
      <Text size="sm" className="wrap" {...(address === null && { c: 'dimmed' })}>
        {address ?? 'Built in'}
      </Text>
    ),
  },
  {
    name: 'credentials',
    label: 'Credentials',
    from: 'sm',
    show: ({ credentials }) => (
      <Text size="sm" {...(credentials.length === 0 && { c: 'dimmed' })}>
        {credentials.length === 0
          ? 'None'
          : credentials.map(({ name, auth }) => (auth ? `${name} (${auth})` : name)).join(', ')}
      </Text>
    ),
  },
  { name: 'health', label: 'Health', show: (provider) => <ProviderHealth provider={provider} /> },
  timeColumn('lastSuccess', 'Last response', ({ health }) => health.last_success_at, { from: 'lg', isRelative: true }),
  {
    name: 'running',
    label: 'Running',
    align: 'right',
    from: 'md',
    show: ({ routes }) => formatCount(routes.reduce((sum, route) => sum + route.in_flight, 0)),
  },
  {
    name: 'models',
    label: 'Models',
    align: 'right',
    show: ({ name, models }) => (
      <TextLink to="/models" search={{ provider: name }} className="tabular">
        {formatCount(models.length)}
      </TextLink>
    ),
  },
];

function costColumn(costs: Costs): Column<ProviderShape> {
  return moneyColumn('cost', costs.label, ({ name }) => costs.of(name), { from: 'sm' });
}
