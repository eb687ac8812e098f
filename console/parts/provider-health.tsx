// How a provider does, in a word: by the last attempts of this server.

import { Group, Text } from '@mantine/core';
import type { ProviderShape } from '../../src/admin-api/shapes.ts';
import { words } from '../words.ts';
import { StatusBadge } from './status-badge.tsx';

type Health = Pick<ProviderShape, 'health' | 'routes'>;

interface ProviderHealthProps {
  provider: Health;
  /** The names there of the models that are meant; absent: all. */
  models?: readonly string[];
}

export function ProviderHealth({ provider, models }: ProviderHealthProps) {
  const restingCount = provider.routes.filter(
    ({ state, model }) => state !== 'ready' && (models === undefined || models.includes(model)),
  ).length;
  return (
    <Group gap={6} wrap="wrap">
      {provider.health === null || isUntried(provider) ? (
        <StatusBadge status="unknown" label={words.providers.notUsed} />
      ) : (
        <StatusBadge
          status={provider.health.up ? 'healthy' : 'failed'}
          label={provider.health.up ? words.providers.up : words.providers.down}
        />
      )}
      {restingCount > 0 && (
        <Text size="xs" c="dimmed">
          {words.providers.openRoutes(restingCount)}
        </Text>
      )}
    </Group>
  );
}

function isUntried({ health }: Health): boolean {
  return health !== null && health.last_success_at === null && health.last_failure_at === null;
}
