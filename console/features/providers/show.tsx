// One provider: connection, credentials, health of its models, and a connection test.

import { Group, SimpleGrid, Stack } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { ProviderShape, RouteHealthShape } from '../../../src/admin-api/shapes.ts';
import { formatCount, formatMs, formatShare } from '../../figures.ts';
import { useMe } from '../../me.tsx';
import { ProviderHealth, StatusBadge } from '../../parts/badges.tsx';
import { type Column, NameLink, PlainTable } from '../../parts/data-table.tsx';
import { ActionButton, ButtonLink, pathOf, TextLink, useGoTo } from '../../parts/link.tsx';
import { Facts, FailureNotice, Hint, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { faultWords, RouteBadge, useRouteHealth } from '../../parts/route-health.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import { ProviderEditButton, ProviderTest } from './connection.tsx';
import { authName } from './credential-fields.tsx';
import { fetchLabels } from './further-settings.tsx';
import { kindName } from './list.tsx';

const stateLabels = {
  ready: 'Ready',
  open: 'Circuit open',
  half_open: 'Circuit half-open',
  resting: 'Paused by provider',
};

const HEALTH_EVERY_MS = 5_000;

export function ProviderShow() {
  const { providerName: name } = useParams({ strict: false }) as { providerName: string };
  const { role } = useMe();
  const { data, error, refetch } = useGet('/providers/{name}', { id: name, everyMs: HEALTH_EVERY_MS });
  if (error !== null && data === undefined) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
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
        <RouteHealths provider={data.name} />
        <RouteStates provider={data} />
        {data.models.length === 0 && <Hint>No model has a route to this provider yet.</Hint>}
      </Stack>
    </>
  );
}

function Actions({ provider }: { provider: ProviderShape }) {
  const goTo = useGoTo();
  const apply = useReview({ done: 'Provider deleted.', onDone: () => goTo('/providers') });
  return (
    <>
      <ButtonLink label="Add models" icon="plus" variant="default" to={`${pathOf.provider(provider.name)}/models`} />
      {provider.base_url !== null && <ProviderEditButton provider={provider} />}
      <ActionButton
        label="Delete"
        icon="trash"
        loading={apply.isAsking}
        onClick={() => apply.preview(() => ({ document: {}, remove: [{ kind: 'provider', name: provider.name }] }))}
      />
      <FailureNotice failure={apply.failure} />
      <ReviewDialog apply={apply} />
    </>
  );
}

function Connection({ provider }: { provider: ProviderShape }) {
  const { health, batch_bucket: bucket } = provider;
  return (
    <Section title="Connection">
      <Facts
        facts={[
          { name: 'Type', value: kindName(provider.kind) },
          { name: 'Address', value: provider.base_url ?? 'Built in' },
          provider.residency && { name: 'Data residency', value: provider.residency.join(', ') },
          provider.passthrough && { name: 'Passed on', value: provider.passthrough.join(', ') },
          provider.batches
            ? {
                name: 'Batches',
                value: `Run by the provider${bucket === null ? '' : ` in ${bucket}`}, at ${provider.batch_cost} of its price`,
              }
            : null,
          provider.fetch_urls === 'off' ? null : { name: 'Web addresses', value: fetchLabels[provider.fetch_urls] },
          { name: 'Health', value: <ProviderHealth provider={provider} /> },
          { name: 'Last response', value: <When at={health.last_success_at} isRelative /> },
          { name: 'Last failure', value: <When at={health.last_failure_at} isRelative /> },
        ]}
      />
    </Section>
  );
}

function Credentials({ provider: { credentials } }: { provider: ProviderShape }) {
  const forWhom = ({ account, group }: ProviderShape['credentials'][number]) => {
    if (account !== null) return <TextLink to={pathOf.account(account)}>{account}</TextLink>;
    return group === null ? 'All other accounts' : `Group ${group}`;
  };
  return (
    <Section title="Credentials" text="Keys and secrets are stored encrypted and are never shown.">
      {credentials.length === 0 ? (
        <Hint>None</Hint>
      ) : (
        <Facts
          facts={credentials.map((one) => ({
            name: one.name,
            value: (
              <>
                {authName(one.auth)} · {forWhom(one)}
                {one.failure !== null && <FailedReading failure={one.failure} />}
              </>
            ),
          }))}
        />
      )}
    </Section>
  );
}

function FailedReading({ failure }: { failure: string }) {
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <StatusBadge status="failed" label="Not readable" />
      <span>{failure}</span>
    </Group>
  );
}

/** Routes of all models to the provider. */
function RouteHealths({ provider }: { provider: string }) {
  const { routes } = useRouteHealth({ provider });
  if (routes.length === 0) return null;
  return (
    <Section
      title="Model health"
      text="By the latest attempts of all servers. Rates and errors are of the last 24 hours."
      isPadded={false}
    >
      <PlainTable
        label="Model health"
        isFolding
        rows={routes}
        keyOf={(route) => `${route.model} ${route.upstream_model}`}
        columns={healthColumns}
      />
    </Section>
  );
}

const healthColumns: Column<RouteHealthShape>[] = [
  {
    name: 'model',
    label: 'Model',
    show: (route) => <NameLink to={pathOf.model(route.model)} name={route.model} note={route.upstream_model} />,
  },
  { name: 'state', label: 'Health', show: (route) => <RouteBadge health={route} /> },
  {
    name: 'rate',
    label: 'Success rate',
    align: 'right',
    show: ({ success_rate: rate, attempts }) =>
      rate === null ? '–' : `${formatShare(rate)} of ${formatCount(attempts)}`,
  },
  {
    name: 'times',
    label: 'p50 / p95',
    align: 'right',
    from: 'sm',
    show: ({ p50_ms: p50, p95_ms: p95 }) =>
      p50 === null || p95 === null ? '–' : `${formatMs(p50)} / ${formatMs(p95)}`,
  },
  { name: 'faults', label: 'Errors', from: 'sm', show: ({ faults }) => faultWords(faults) || 'None' },
];

function RouteStates({ provider: { routes } }: { provider: ProviderShape }) {
  if (routes.length === 0)
    return (
      <Section title="Circuits">
        <Hint>This server has used no route since it started.</Hint>
      </Section>
    );
  return (
    <Section title="Circuits" text="Routes that this server has used since it started." isPadded={false}>
      <PlainTable
        label="Circuits"
        isFolding
        rows={routes}
        keyOf={({ model, credential }) => `${model} ${credential}`}
        columns={stateColumns}
      />
    </Section>
  );
}

type RouteState = ProviderShape['routes'][number];

const stateColumns: Column<RouteState>[] = [
  { name: 'model', label: 'Upstream model', show: ({ model }) => <span className="wrap">{model}</span> },
  { name: 'credential', label: 'Credential', from: 'sm', show: ({ credential }) => credential ?? 'None' },
  {
    name: 'state',
    label: 'State',
    show: ({ state, until }) => (
      <>
        <StatusBadge
          status={state === 'ready' ? 'unknown' : state === 'open' ? 'failed' : 'client_gone'}
          label={stateLabels[state]}
        />
        {state === 'open' && until !== null && (
          <Hint size="xs">
            {'until'} <When at={until} isPrecise />
          </Hint>
        )}
      </>
    ),
  },
  {
    name: 'failures',
    label: 'Consecutive failures',
    align: 'right',
    from: 'md',
    show: (route) => formatCount(route.failures_in_a_row),
  },
  { name: 'running', label: 'Running', align: 'right', from: 'md', show: (route) => formatCount(route.in_flight) },
  {
    name: 'speed',
    label: 'First token',
    align: 'right',
    from: 'md',
    show: ({ first_token_ms: ms }) => (ms === null ? '–' : `${formatCount(ms)} ms`),
  },
  {
    name: 'failure',
    label: 'Last failure',
    from: 'sm',
    show: ({ last_failure: failure }) =>
      failure === null ? (
        'None'
      ) : (
        <>
          {failure.fault.replaceAll('_', ' ')} · <When at={failure.at} isRelative />
        </>
      ),
  },
];
