// How the providers do, in a word each. For operators and viewers.

import { Group, Stack, Text } from '@mantine/core';
import type { PageShape, ProviderShape } from '../../../src/admin-api/shapes.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { ProviderHealth } from '../../parts/provider-health.tsx';
import { Section } from '../../parts/section.tsx';
import { TextLink } from '../../parts/text-link.tsx';
import { Waiting } from '../../parts/waiting.tsx';
import { useAsk } from '../../queries.ts';
import { words } from '../../words.ts';

const { health: its } = words.overview;
const SHOWN_MAX = 12;
const ASKED_EVERY_MS = 10_000;

export function ProviderList() {
  const query = { limit: SHOWN_MAX };
  const { data, error, refetch } = useAsk<PageShape<ProviderShape>>('/providers', query, { everyMs: ASKED_EVERY_MS });
  return (
    <Section
      title={its.title}
      aside={
        <Text size="sm">
          <TextLink to="/providers">{its.all}</TextLink>
        </Text>
      }
    >
      {error !== null && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Waiting rowCount={3} />}
      {data?.data.length === 0 && (
        <Text size="sm" c="dimmed">
          {its.nothing}
        </Text>
      )}
      <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {data?.data.map((provider) => (
          <Group component="li" key={provider.name} justify="space-between" gap="xs">
            <Text size="sm" truncate maw={200} title={provider.name}>
              {provider.name}
            </Text>
            <ProviderHealth provider={provider} />
          </Group>
        ))}
      </Stack>
    </Section>
  );
}
