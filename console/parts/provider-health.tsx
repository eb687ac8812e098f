// How a provider does, in a word: by the last attempts of this server.

import { Group, Text } from '@mantine/core';
import type { ProviderShape } from '../../src/admin-api/shapes.ts';
import { words } from '../words.ts';
import { StatusBadge } from './status-badge.tsx';

type Health = Pick<ProviderShape, 'health' | 'routes'>;

export function ProviderHealth({ provider }: { provider: Health }) {
  const restingCount = provider.routes.filter(({ state }) => state !== 'ready').length;
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
