// Badges: status, outcome of a request, and health of a provider. Color is never the only signal.

import { Badge, Group } from '@mantine/core';
import type { ProviderShape, UsageShape } from '../../src/admin-api/shapes.ts';
import { countOf } from '../figures.ts';
import { outcomeLabels, statusLabels } from '../labels.ts';
import { Hint } from './page.tsx';

const colors: Readonly<Record<string, string>> = {
  enabled: 'teal',
  completed: 'teal',
  healthy: 'teal',
  delivered: 'teal',
  paid: 'teal',
  invited: 'blue',
  pending: 'blue',
  running: 'blue',
  disabled: 'gray',
  revoked: 'gray',
  expired: 'gray',
  ended: 'gray',
  canceling: 'yellow',
  partially_refunded: 'yellow',
  client_gone: 'yellow',
  quota_cut: 'orange',
  service_cut: 'orange',
  disputed: 'red',
  upstream_cut: 'red',
  failed: 'red',
};

export function StatusBadge({ status, label = statusLabels[status] }: { status: string; label?: string }) {
  return (
    <Badge color={colors[status] ?? 'gray'} fw={600}>
      {label}
    </Badge>
  );
}

export function OutcomeBadge({ outcome }: { outcome: UsageShape['outcome'] }) {
  return <StatusBadge status={outcome} label={outcomeLabels[outcome]} />;
}

/** The health of routes and providers, by the attempts of all servers. */
const healthLooks = {
  not_used: { status: 'unknown', label: 'Not used' },
  healthy: { status: 'healthy', label: 'Healthy' },
  degraded: { status: 'service_cut', label: 'Degraded' },
  down: { status: 'failed', label: 'Down' },
} as const;

export function HealthBadge({ state }: { state: keyof typeof healthLooks }) {
  return <StatusBadge {...healthLooks[state]} />;
}

/** The health of a provider, by that of its routes. */
export function ProviderHealth({ provider: { health } }: { provider: Pick<ProviderShape, 'health'> }) {
  const { state, routes_down: down, routes_degraded: degraded } = health;
  const parts = [
    ...(down === 0 ? [] : [`${countOf(down, 'route')} down`]),
    ...(degraded === 0 ? [] : [`${countOf(degraded, 'route')} degraded`]),
  ];
  return (
    <Group gap={6} wrap="wrap">
      <HealthBadge state={state} />
      {parts.length > 0 && <Hint size="xs">{parts.join(', ')}</Hint>}
    </Group>
  );
}
