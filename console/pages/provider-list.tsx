// Providers: from where models come, with what they are opened by name, and how each does.

import { Button, Stack, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ProviderShape } from '../../src/admin-api/shapes.ts';
import { formatCount } from '../figures.ts';
import { useMe } from '../me.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { ProviderHealth } from '../parts/provider-health.tsx';
import { TextLink } from '../parts/text-link.tsx';
import { usePages } from '../queries.ts';
import { words } from '../words.ts';

const HEALTH_EVERY_MS = 10_000;

export function ProviderList() {
  const { role } = useMe();
  const navigate = useNavigate();
  const providers = usePages<ProviderShape>('/providers', { limit: 200 }, { everyMs: HEALTH_EVERY_MS });
  const add = role === 'operator' && (
    <Button component={Link} to="/new-provider" leftSection={<Icon name="plus" />}>
      {words.providers.add}
    </Button>
  );
  return (
    <>
      <PageHead title={words.providers.title} text={words.providers.text} actions={add} />
      <DataTable
        label={words.providers.label}
        rows={providers}
        columns={columns}
        keyOf={({ name }) => name}
        onOpen={({ name }) =>
          void navigate({ to: '/providers/$providerName', params: { providerName: name } as never })
        }
        empty={
          <EmptyState
            icon="plug"
            title={words.providers.empty}
            text={words.providers.emptyText}
            action={add || undefined}
          />
        }
      />
    </>
  );
}

export function kindName(kind: string): string {
  return words.providers.kinds[kind] ?? kind;
}

const columns: Column<ProviderShape>[] = [
  {
    name: 'name',
    label: words.providers.columns.name,
    show: ({ name, kind }) => (
      <Stack gap={0}>
        <TextLink to={`/providers/${name}`} fw={600} style={{ overflowWrap: 'anywhere' }}>
          {name}
        </TextLink>
        <Text size="xs" c="dimmed">
          {kindName(kind)}
        </Text>
      </Stack>
    ),
  },
  {
    name: 'address',
    label: words.providers.columns.address,
    from: 'md',
    show: ({ base_url: address }) => (
      <Text size="sm" style={{ overflowWrap: 'anywhere' }} {...(address === null && { c: 'dimmed' })}>
        {address ?? words.providers.inside}
      </Text>
    ),
  },
  {
    name: 'credentials',
    label: words.providers.columns.credentials,
    from: 'sm',
    show: ({ credentials }) => (
      <Text size="sm" {...(credentials.length === 0 && { c: 'dimmed' })}>
        {credentials.length === 0 ? words.providers.noKey : credentials.map(({ name }) => name).join(', ')}
      </Text>
    ),
  },
  { name: 'health', label: words.providers.columns.health, show: (provider) => <ProviderHealth provider={provider} /> },
  {
    name: 'models',
    label: words.providers.columns.models,
    align: 'right',
    show: ({ name, models }) => (
      <TextLink to="/models" search={{ provider: name }} className="tabular">
        {formatCount(models.length)}
      </TextLink>
    ),
  },
];
