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
  disabled: 'gray',
  revoked: 'gray',
  expired: 'gray',
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

type Health = Pick<ProviderShape, 'health' | 'routes'>;

/** The health of a provider, by its last attempts on this server. Routes have a health of their own. */
export function ProviderHealth({ provider }: { provider: Health }) {
  const restingCount = provider.routes.filter(({ state }) => state !== 'ready').length;
  return (
    <Group gap={6} wrap="wrap">
      {provider.health === null || isUntried(provider) ? (
        <StatusBadge status="unknown" label="Not used" />
      ) : (
        <StatusBadge {...lookOf(provider.health, restingCount > 0)} />
      )}
      {restingCount > 0 && <Hint size="xs">{`${countOf(restingCount, 'route')} paused`}</Hint>}
    </Group>
  );
}

/** Times in ISO 8601 are in the order of their texts. */
function lookOf(
  { up, last_success_at: answeredAt, last_failure_at: failedAt }: NonNullable<Health['health']>,
  isAnyPaused: boolean,
) {
  if (!up) return { status: 'failed', label: 'Down' };
  const hasFailedLast = failedAt !== null && (answeredAt === null || failedAt > answeredAt);
  if (isAnyPaused || hasFailedLast) return { status: 'service_cut', label: 'Degraded' };
  return { status: 'healthy', label: 'Healthy' };
}

function isUntried({ health }: Health): boolean {
  return health !== null && health.last_success_at === null && health.last_failure_at === null;
}
