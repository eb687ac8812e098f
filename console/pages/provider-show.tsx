// One provider: how it is reached, with which keys by name, how its models do, and a test of each key.

import { Button, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ProviderShape } from '../../src/admin-api/shapes.ts';
import { formatCount } from '../figures.ts';
import { useMe } from '../me.tsx';
import { ApplyDialogue, useApply } from '../parts/apply-dialogue.tsx';
import { Facts } from '../parts/facts.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageFailure } from '../parts/page-failure.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { ProviderHealth } from '../parts/provider-health.tsx';
import { Section } from '../parts/section.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { TextLink } from '../parts/text-link.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { When } from '../parts/when.tsx';
import { useAsk } from '../queries.ts';
import { words } from '../words.ts';
import { ProviderEditButton } from './catalogue/provider-edit.tsx';
import { ProviderTest } from './catalogue/provider-test.tsx';
import { kindName } from './provider-list.tsx';

const HEALTH_EVERY_MS = 5_000;

export function ProviderShow() {
  const { providerName: name } = useParams({ strict: false }) as { providerName: string };
  const { role } = useMe();
  const { data, error, refetch } = useAsk<ProviderShape>(
    `/providers/${encodeURIComponent(name)}`,
    {},
    { everyMs: HEALTH_EVERY_MS },
  );
  if (error !== null && data === undefined) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  return (
    <>
      <PageHead
        title={data.name}
        text={kindName(data.kind)}
        actions={role === 'operator' && <Actions provider={data} />}
      />
      <Stack>
        {role === 'operator' && <ProviderTest name={data.name} />}
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Connection provider={data} />
          <Credentials provider={data} />
        </SimpleGrid>
        <RouteStates provider={data} />
        <Models provider={data} />
      </Stack>
    </>
  );
}

function Actions({ provider }: { provider: ProviderShape }) {
  const navigate = useNavigate();
  const apply = useApply({ done: words.providers.removed, onDone: () => navigate({ to: '/providers' }) });
  return (
    <>
      {provider.base_url !== null && <ProviderEditButton provider={provider} />}
      <Button
        variant="default"
        leftSection={<Icon name="trash" />}
        loading={apply.isAsking}
        onClick={() => apply.preview(() => ({ document: {}, remove: [{ kind: 'provider', name: provider.name }] }))}
      >
        {words.providers.remove}
      </Button>
      <FailureNotice failure={apply.failure} />
      <ApplyDialogue apply={apply} />
    </>
  );
}

function Connection({ provider }: { provider: ProviderShape }) {
  const { health } = provider;
  return (
    <Section title={words.providers.facts}>
      <Facts
        facts={[
          { name: words.providers.kind, value: kindName(provider.kind) },
          { name: words.providers.address, value: provider.base_url ?? words.providers.inside },
          { name: words.providers.columns.health, value: <ProviderHealth provider={provider} /> },
          health && { name: words.providers.lastSuccess, value: <When at={health.last_success_at} isRelative /> },
          health && { name: words.providers.lastFailure, value: <When at={health.last_failure_at} isRelative /> },
        ]}
      />
    </Section>
  );
}

function Credentials({ provider: { credentials } }: { provider: ProviderShape }) {
  const forWhom = ({ account, group }: ProviderShape['credentials'][number]) => {
    if (account !== null) return <TextLink to={`/accounts/${account}`}>{account}</TextLink>;
    return group === null ? words.providers.everyone : words.providers.forGroup(group);
  };
  return (
    <Section title={words.providers.credentials} text={words.providers.credentialsText}>
      {credentials.length === 0 ? (
        <Text size="sm" c="dimmed">
          {words.providers.noKey}
        </Text>
      ) : (
        <Facts facts={credentials.map((one) => ({ name: one.name, value: forWhom(one) }))} />
      )}
    </Section>
  );
}

function RouteStates({ provider: { routes } }: { provider: ProviderShape }) {
  const { route } = words.providers;
  if (routes.length === 0)
    return (
      <Section title={words.providers.routes}>
        <Text size="sm" c="dimmed">
          {words.providers.routesNone}
        </Text>
      </Section>
    );
  return (
    <Section title={words.providers.routes} text={words.providers.routesText} isPadded={false}>
      <Table.ScrollContainer minWidth={0}>
        <Table fz="sm" horizontalSpacing="md" aria-label={words.providers.routes}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{route.model}</Table.Th>
              <Table.Th visibleFrom="sm">{route.credential}</Table.Th>
              <Table.Th>{route.state}</Table.Th>
              <Table.Th ta="right" visibleFrom="md">
                {route.failures}
              </Table.Th>
              <Table.Th ta="right" visibleFrom="md">
                {route.running}
              </Table.Th>
              <Table.Th visibleFrom="sm">{route.last}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {routes.map((state) => (
              <StateRow key={`${state.model} ${state.credential}`} state={state} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  );
}

function StateRow({ state }: { state: ProviderShape['routes'][number] }) {
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{state.model}</Table.Td>
      <Table.Td visibleFrom="sm">{state.credential ?? words.parts.none}</Table.Td>
      <Table.Td>
        <StatusBadge
          status={state.state === 'ready' ? 'healthy' : state.state === 'open' ? 'failed' : 'client_gone'}
          label={words.providers.states[state.state]}
        />
        {state.until !== null && (
          <Text size="xs" c="dimmed">
            {words.providers.until} <When at={state.until} isPrecise />
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="md" className="tabular">
        {formatCount(state.failures_in_a_row)}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="md" className="tabular">
        {formatCount(state.in_flight)}
      </Table.Td>
      <Table.Td visibleFrom="sm">
        {state.last_failure === null ? (
          words.parts.none
        ) : (
          <>
            {state.last_failure.fault} · <When at={state.last_failure.at} isRelative />
          </>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function Models({ provider: { models } }: { provider: ProviderShape }) {
  return (
    <Section title={words.providers.models}>
      {models.length === 0 && (
        <Text size="sm" c="dimmed">
          {words.providers.noModels}
        </Text>
      )}
      <Text size="sm" style={{ overflowWrap: 'anywhere' }} component="div">
        {models.map((name, at) => (
          <span key={name}>
            {at > 0 && ', '}
            <TextLink to={`/models/${encodeURIComponent(name)}`}>{name}</TextLink>
          </span>
        ))}
      </Text>
    </Section>
  );
}
